//! Negotiation of media types: whether content fits what somebody accepts.
//!
//! Lists are compared kindly, because a refusal for a spelling helps nobody: parameters do not count, `*` stands for
//! anything, whoever takes `text/plain` can read every text (RFC 2046, 4.1.4), and whoever takes `application/json`
//! every JSON (RFC 6839, 3.1).

/// True where content of that media type is one of those that are listed. An empty list takes everything.
#[must_use]
pub fn takes<S: AsRef<str>>(listed: &[S], media_type: &str) -> bool {
    listed.is_empty() || listed.iter().any(|range| fits(range.as_ref(), media_type))
}

/// True where a listed range stands for every media type.
#[must_use]
pub fn is_anything(range: &str) -> bool {
    halves(range).0 == "*"
}

/// True where the two lists have something in common. An empty list is everything.
#[must_use]
pub fn meet<S: AsRef<str>, T: AsRef<str>>(some: &[S], others: &[T]) -> bool {
    let both_ways = |one: &str, other: &str| fits(one, other) || fits(other, one);
    some.is_empty()
        || others.is_empty()
        || some
            .iter()
            .any(|one| others.iter().any(|other| both_ways(one.as_ref(), other.as_ref())))
}

/// Whether content of that media type is of that range.
fn fits(range: &str, media_type: &str) -> bool {
    let (range_type, range_subtype) = halves(range);
    let (main, subtype) = halves(media_type);
    if range_type == "*" {
        return true;
    }
    let json = (main == "application") && (subtype == "json" || subtype.ends_with("+json"));
    range_type == main
        && (range_subtype == "*"
            || range_subtype == subtype
            || (range_type == "text" && range_subtype == "plain")
            || (range_type == "application" && range_subtype == "json" && json))
}

/// Type and subtype, parameters left out. The lone words that early cards had (`text`) are taken for what they mean.
fn halves(told: &str) -> (String, String) {
    let essence = told.split(';').next().unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    match essence.split_once('/') {
        Some((main, subtype)) => (main.trim().to_owned(), subtype.trim().to_owned()),
        None if essence == "text" => ("text".to_owned(), "plain".to_owned()),
        None => (essence, "*".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_takes_what_it_says_and_what_can_be_read_by_it() {
        for (listed, media_type, taken) in [
            (&["text/plain"][..], "text/plain", true),
            (&["text/plain"], "Text/Plain; charset=utf-8", true),
            (&["text/plain;charset=utf-8"], "text/plain", true),
            (&["text/plain"], "text/markdown", true),
            (&["text"], "text/plain", true),
            (&["text/plain"], "image/png", false),
            (&["text/markdown"], "text/html", false),
            (&["application/json"], "application/vnd.a+json", true),
            (&["application/json"], "application/jsonx", false),
            (&["application/json"], "application/octet-stream", false),
            (&["image/*"], "image/png", true),
            (&["image/*"], "video/mp4", false),
            (&["text/plain", "*/*"], "application/x-anything", true),
            (&["*"], "a/b", true),
            (&[], "a/b", true),
            (&["text/plain"], "rubbish", false),
            (&["text/plain"], "/", false),
            (&["text/plain"], "\u{0}/;", false),
        ] {
            assert_eq!(takes(listed, media_type), taken, "{listed:?} {media_type}");
        }
    }

    #[test]
    fn lists_meet_in_either_direction() {
        for (some, others, met) in [
            (
                &["text/plain", "application/json"][..],
                &["text/markdown"][..],
                true,
            ),
            (&["text/markdown"], &["text/plain"], true),
            (&["image/png"], &["image/*"], true),
            (&["image/*"], &["image/png"], true),
            (&["image/png"], &["text/plain", "application/json"], false),
            (&["application/x-unknown"], &["text/plain"], false),
            (&[], &["text/plain"], true),
            (&["image/png"], &[], true),
        ] {
            assert_eq!(meet(some, others), met, "{some:?} {others:?}");
        }
    }
}
