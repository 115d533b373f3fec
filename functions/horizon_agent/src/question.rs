//! What somebody asks about orders, read out of plain words or data.

use std::collections::HashSet;

use domain::{Message, PartContent, Role};
use serde_json::Value;

use crate::card;

/// Most orders of one question.
pub(crate) const MAX_ORDERS: usize = 20;
/// The last page that is turned to; each is read past those before it.
const MAX_PAGE: u32 = 500;

/// Which orders somebody asks about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Question {
    /// These numbers.
    Numbers(Vec<String>),
    /// The asker's own, twenty at a time.
    Mine {
        /// Which twenty, from 1.
        page: u32,
    },
    /// The asker's newest.
    Latest,
    /// It does not say.
    Unclear,
}

impl Question {
    /// The question of a conversation: the last of the user's messages that says which orders.
    pub(crate) fn of(history: &[Message]) -> Self {
        history
            .iter()
            .rev()
            .filter(|message| message.role == Role::User)
            .map(Self::of_message)
            .find(|question| *question != Self::Unclear)
            .unwrap_or(Self::Unclear)
    }

    fn of_message(message: &Message) -> Self {
        let numbers: Vec<String> = message
            .parts
            .iter()
            .flat_map(|part| match &part.content {
                PartContent::Data(data) => of_data(data),
                _ => Vec::new(),
            })
            .collect();
        match (numbers.is_empty(), Self::read(&message.text_to_read())) {
            (false, Self::Numbers(more)) => Self::numbers(numbers.into_iter().chain(more)),
            (false, _) => Self::numbers(numbers),
            (true, read) => read,
        }
    }

    /// Reads one text.
    pub(crate) fn read(text: &str) -> Self {
        let mut words = words(text);
        let page = take_page(&mut words);
        let mut numbers = Vec::new();
        for (index, word) in words.iter().enumerate() {
            let before = index
                .checked_sub(1)
                .and_then(|at| words.get(at))
                .map(String::as_str);
            numbers.extend(of_word(word, before));
        }
        if !numbers.is_empty() {
            return Self::numbers(numbers);
        }
        let says = |any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
        let orders = says(&[
            "order",
            "orders",
            "ordered",
            "package",
            "packages",
            "parcel",
            "parcels",
            "delivery",
            "deliveries",
            "shipment",
            "shipments",
            "purchase",
            "purchases",
        ]);
        let latest = says(&["latest", "last", "newest", "recent", "lately"]);
        let whose = says(&["my", "mine", "i", "our", "we"]);
        match (orders, latest, whose) {
            (true, true, _) | (_, true, true) => Self::Latest,
            (true, false, true) => Self::Mine { page },
            (true, false, false) if says(&["all", "list", "show", "any", "page"]) => Self::Mine { page },
            _ => Self::Unclear,
        }
    }

    fn numbers(numbers: impl IntoIterator<Item = String>) -> Self {
        let mut known = HashSet::new();
        let mut unique: Vec<String> = numbers.into_iter().collect();
        unique.retain(|number| known.insert(number.clone()));
        Self::Numbers(unique)
    }
}

/// What somebody wants done with orders that nobody can do here; the word as the card's tags have it.
pub(crate) fn cannot(history: &[Message]) -> Option<&'static str> {
    let last = history.iter().rev().find(|message| message.role == Role::User)?;
    let said = words(&last.text_to_read());
    card::CANNOT
        .into_iter()
        .find(|cannot| cannot.split(' ').all(|part| said.iter().any(|word| word == part)))
}

/// Takes `page 2` out of the words; 1 where no page is named.
fn take_page(words: &mut Vec<String>) -> u32 {
    let named = words.windows(2).position(|pair| match pair {
        [word, number] => word == "page" && number.parse::<u32>().is_ok(),
        _ => false,
    });
    let Some(at) = named else { return 1 };
    let number = words.remove(at + 1).parse().unwrap_or(1);
    u32::clamp(number, 1, MAX_PAGE)
}

/// Words in lower case, with the marks that stand within an order's number.
fn words(text: &str) -> Vec<String> {
    text.replace(['–', '—'], "-")
        .replace('#', " # ")
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '#' | '_')))
        .map(|word| word.trim_matches(['-', '_']).to_lowercase())
        .filter(|word| !word.is_empty())
        .collect()
}

/// The numbers that a word is. A bare number of one or two digits is a count, unless something says that it is not.
fn of_word(word: &str, before: Option<&str>) -> Vec<String> {
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !word.is_ascii() || word.len() > 32 || digits(word) == 0 {
        return Vec::new();
    }
    let named = matches!(
        before,
        Some("order" | "orders" | "number" | "numbers" | "no" | "nr" | "#" | "id")
    );
    let year = word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    if plain(word) && year && matches!(before, Some("in" | "since" | "during" | "year")) {
        return Vec::new();
    }
    let segments: Vec<&str> = word.split('-').collect();
    match segments.as_slice() {
        // A date.
        [year, month, day] if year.len() == 4 && [year, month, day].iter().all(|part| plain(part)) => {
            Vec::new()
        }
        [from, to] if plain(from) && plain(to) && from.len() >= 3 => span(from, to),
        _ if digits(word) >= 3 || (named && plain(word)) => vec![word.to_uppercase()],
        _ => Vec::new(),
    }
}

/// `1001-1003`, where it is short enough to be one; an order's number otherwise.
fn span(from: &str, to: &str) -> Vec<String> {
    match (from.parse::<u64>(), to.parse::<u64>()) {
        (Ok(first), Ok(last))
            if from.len() == to.len() && first < last && last - first < MAX_ORDERS as u64 =>
        {
            (first..=last)
                .map(|number| format!("{number:0width$}", width = from.len()))
                .collect()
        }
        _ => vec![format!("{from}-{to}")],
    }
}

/// `{"order": 1001}`, `{"orders": ["1001"]}` and the like.
fn of_data(data: &Value) -> Vec<String> {
    const NAMES: [&str; 8] = [
        "order",
        "orders",
        "orderId",
        "order_id",
        "orderIds",
        "order_ids",
        "number",
        "numbers",
    ];
    let number = |value: &Value| match value {
        Value::String(text) if text.len() <= 32 && !text.trim().is_empty() => {
            Some(text.trim().to_uppercase())
        }
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    NAMES
        .iter()
        .filter_map(|name| data.get(name))
        .flat_map(|value| match value {
            Value::Array(values) => values.iter().filter_map(number).collect(),
            value => number(value).into_iter().collect::<Vec<_>>(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use domain::{MessageId, Part, READ_MAX};
    use serde_json::json;

    use super::*;

    #[test]
    fn questions_in_their_forms() {
        let numbers = |list: &[&str]| Question::Numbers(list.iter().map(|text| (*text).to_owned()).collect());
        for (text, expected) in [
            ("Where is my order 1001?", numbers(&["1001"])),
            ("status of orders 1001 and 1002", numbers(&["1001", "1002"])),
            ("1001", numbers(&["1001"])),
            ("#1001, #1002 and order no. 7", numbers(&["1001", "1002", "7"])),
            ("order #1001 and order 1001 again", numbers(&["1001"])),
            ("orders 1001-1003", numbers(&["1001", "1002", "1003"])),
            ("orders 0998–1001", numbers(&["0998", "0999", "1000", "1001"])),
            ("Is A-1001 on its way?", numbers(&["A-1001"])),
            ("is it 1001-999999?", numbers(&["1001-999999"])),
            ("my last 3 orders", Question::Latest),
            ("my orders since 2026", Question::Mine { page: 1 }),
            ("what did I order before 2026-11-20", Question::Mine { page: 1 }),
            ("my orders", Question::Mine { page: 1 }),
            ("Show all orders", Question::Mine { page: 1 }),
            ("where is my parcel", Question::Mine { page: 1 }),
            ("page 2 of my orders", Question::Mine { page: 2 }),
            ("orders, page 3", Question::Mine { page: 3 }),
            ("my orders, page 0", Question::Mine { page: 1 }),
            ("latest order", Question::Latest),
            ("When does my most recent one arrive?", Question::Latest),
            ("What is the status of an order?", Question::Unclear),
            ("hello", Question::Unclear),
            ("at 10am", Question::Unclear),
            ("", Question::Unclear),
            ("١٠٠١", Question::Unclear),
        ] {
            assert_eq!(Question::read(text), expected, "{text}");
        }
    }

    #[test]
    fn the_last_message_that_says_which_orders_counts() {
        let said = |parts| Message::user(MessageId::derived("m"), parts);
        let text = |text: &str| said(vec![Part::text(text)]);
        let history = [
            text("Where is my order 1001?"),
            text("and 1002?"),
            Message::agent_text(MessageId::derived("a"), "1003"),
            text("thanks"),
        ];
        assert_eq!(Question::of(&history), Question::Numbers(vec!["1002".into()]));
        let data = [said(vec![Part::data(
            json!({ "orders": ["a-1", 1002, null, {}], "order": "" }),
        )])];
        assert_eq!(
            Question::of(&data),
            Question::Numbers(vec!["A-1".into(), "1002".into()])
        );
        assert_eq!(Question::of(&[]), Question::Unclear);
    }

    #[test]
    fn what_a_question_takes_goes_by_its_length() {
        let said = |part| [Message::user(MessageId::derived("m"), vec![part])];
        words_testing::assert_linear(|text| {
            let words = said(Part::text(text));
            _ = (Question::of(&words), cannot(&words));
        });
        let numbers = |text: &str| -> Vec<usize> { (0..text.len().min(READ_MAX)).collect() };
        words_testing::assert_linear(|text| {
            _ = Question::of(&said(Part::data(json!({ "orders": numbers(text) }))))
        });
    }
}
