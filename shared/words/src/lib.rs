//! What people's words say of days, spans, stays, guests, prices, times, numbers and places. Pure: no calendar day, no map.
//!
//! Two readers stand here. An agent that answers takes a question apart: [`text::split`], then [`days::take`], then
//! [`places::find`], each of which leaves out what it does not understand. Who only passes on what was said
//! needs the phrases as they are written: [`phrases`].
//!
//! ```
//! use words::{When, days, places, text};
//!
//! let mut words = text::split("The weather in Oslo and Bergen tomorrow?", 2_000);
//! assert_eq!(days::take(&mut words, None).days, [When::In(1)]);
//! let places: Vec<String> = places::find(&words).into_iter().map(|place| place.text).collect();
//! assert_eq!(places, ["Oslo", "Bergen"]);
//! ```

mod abroad;
pub mod areas;
mod clock;
mod corrected;
mod currency;
mod dates;
pub mod days;
pub mod hours;
pub mod language;
pub mod length;
mod lists;
mod not_done;
mod order;
pub mod people;
pub mod phrases;
pub mod places;
pub mod price;
pub mod related;
pub mod stay;
pub mod text;
mod told;
mod when;
mod yes_no;

pub use abroad::{Glossary, when_in_english};
pub use clock::Time;
pub use corrected::corrected;
pub use currency::{Currency, currencies};
pub use days::Days;
pub use hours::Hours;
pub use not_done::{CALLED_OFF, NOT_AGREED, NOT_AGREED_IN_TIME, NOT_ANSWERED, not_done};
pub use order::DateOrder;
pub use places::Named;
pub use told::{told, told_of};
pub use when::{MAX_DAYS, When};
pub use yes_no::{asks_yes_no, yes_or_no};

/// Parts of a sentence as a list: "Oslo, Bergen and Tromsø", where `last` is "and".
#[must_use]
pub fn listed(parts: &[impl AsRef<str>], last: &str) -> String {
    match parts {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [init @ .., end] => {
            let init: Vec<&str> = init.iter().map(AsRef::as_ref).collect();
            format!("{} {last} {}", init.join(", "), end.as_ref())
        }
    }
}

/// Lines as one text. A list of lines that begin with `- ` ends with a blank line, so that what follows is no part of it.
#[must_use]
pub fn in_lines(lines: &[impl AsRef<str>]) -> String {
    let is_item = |line: &str| line.starts_with("- ");
    let mut text = String::new();
    let mut in_list = false;
    for line in lines.iter().map(AsRef::as_ref) {
        if !text.is_empty() {
            text.push_str(if in_list && !is_item(line) { "\n\n" } else { "\n" });
        }
        text.push_str(line);
        in_list = line.lines().last().is_some_and(is_item);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_reads_as_people_write_it() {
        for (parts, expect) in [
            (&[][..], ""),
            (&["Oslo"], "Oslo"),
            (&["Oslo", "Bergen"], "Oslo and Bergen"),
            (&["Oslo", "Bergen", "Tromsø"], "Oslo, Bergen and Tromsø"),
        ] {
            assert_eq!(listed(parts, "and"), expect);
        }
    }
    #[test]
    fn what_follows_a_list_is_no_part_of_it() {
        assert_eq!(
            in_lines(&["Oslo:", "- a", "- b", "Bergen:", "- c"]),
            "Oslo:\n- a\n- b\n\nBergen:\n- c"
        );
        assert_eq!(in_lines(&["one", "two"]), "one\ntwo");
        assert_eq!(in_lines(&[] as &[&str]), "");
    }
}
