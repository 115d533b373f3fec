//! Addresses in a text: the one reader of them. What a host leaves out of a model's words and what a page may make a link of
//! are decided here, so that no other reading of the same text (Markdown's, a browser's) finds one more.

use std::collections::BTreeSet;
use std::ops::Range;

use linkify::{LinkFinder, LinkKind};
use url::Url;

/// What a link that writes a letter begins with: pages follow it, and its subject may carry anything off.
pub const MAIL: &str = "mailto:";
/// Longest piece of a text, in bytes, in which addresses are looked for.
const LONGEST: usize = 2_048;
/// Most bytes of a text in which they are looked for, and most that are listed: a result may be a megabyte.
const READ_MAX: usize = 256 * 1024;
const LISTED_MAX: usize = 200;

/// The addresses of texts that a page may link, as the URL standard writes each (`URL.href` in a browser): those of https and
/// http, and letters (`mailto:`). At most 200.
pub fn listed<'t>(texts: impl IntoIterator<Item = &'t str>) -> BTreeSet<String> {
    let found = texts.into_iter().flat_map(|text| {
        let read = text.get(..text.floor_char_boundary(READ_MAX)).unwrap_or_default();
        within(read)
    });
    let urls = found.filter_map(|link| Url::parse(link).ok());
    let urls = urls.filter(|url| matches!(url.scheme(), "https" | "http" | "mailto"));
    urls.map(String::from).take(LISTED_MAX).collect()
}

/// Addresses as they stand in a text. It is read piece by piece, as no address has a blank, a quotation mark or an angle bracket
/// in it: a text may be made to be looked through for ever.
pub fn within(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text.split(|c: char| c.is_whitespace() || c.is_control() || "\"<>".contains(c));
    let pieces = pieces.filter(|piece| piece.len() <= LONGEST);
    pieces.flat_map(|piece| {
        let spans = spans(piece).into_iter();
        spans.map(|span| piece.get(span).unwrap_or_default())
    })
}

/// Finds addresses without a scheme as well: who shows a text may still make links of them.
fn finder() -> LinkFinder {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]).url_must_have_scheme(false);
    finder
}

/// Where addresses stand in a text, in bytes. A name with a dot alone, such as Node.js, is none, unless two slashes are before it.
#[must_use]
pub fn spans(text: &str) -> Vec<Range<usize>> {
    let finder = finder();
    let is_address = |link: &str| {
        let www = link.get(..4);
        link.contains('/') || www.is_some_and(|start| start.eq_ignore_ascii_case("www."))
    };
    let found = finder.links(text).filter(|link| is_address(link.as_str()));
    let mut spans: Vec<Range<usize>> = found.map(|link| link.start()..link.end()).collect();
    for (slashes, _) in text.match_indices("//") {
        let start = slashes + 2;
        let within = spans.iter().any(|span| span.contains(&slashes));
        let behind = text.get(start..).unwrap_or_default();
        let link = finder
            .links(behind)
            .next()
            .filter(|link| link.start() == 0 && !within);
        spans.extend(link.map(|link| start..start + link.end()));
    }
    for (start, _) in text.to_ascii_lowercase().match_indices(MAIL) {
        let is_end = |c: char| c.is_whitespace() || matches!(c, ')' | ']' | '>' | '"');
        let rest = text.get(start..).unwrap_or_default();
        let span = start..start + rest.find(is_end).unwrap_or(rest.len());
        spans.retain(|other| !span.contains(&other.start));
        spans.push(span);
    }
    spans.sort_by_key(|span| span.start);
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_a_lax_reader_takes_for_an_address_is_not_listed() {
        let lax = [
            "[click](https:/evil.example/?q=1003)",
            "[click](HTTPS:/evil.example/?q=1003)",
            r"[click](https:\\\\evil.example\\x)",
            "![pic](https:/evil.example/p.png)",
            "<desk.1003@evil.example>",
            "desk.order.1003@evil.example",
            "[click](javascript:alert(1))",
            "[click](data:text/html,x)",
            "[click][1]\n\n[1]: evil.example",
        ];
        assert_eq!(listed(lax), BTreeSet::new());
    }

    #[test]
    fn addresses_are_listed_as_a_browser_writes_them() {
        let found = listed([
            "See [a](https://Hotel.example/r?b=1_2), https://hotel.example. Or mailto:ada@hotel.example",
        ]);
        let expect = [
            "https://hotel.example/",
            "https://hotel.example/r?b=1_2",
            "mailto:ada@hotel.example",
        ];
        assert_eq!(found, expect.map(str::to_owned).into());
    }

    #[test]
    fn a_text_of_addresses_alone_is_listed_within_bounds() {
        let many: String = (0..5_000)
            .map(|number| format!("https://h.example/{number} "))
            .collect();
        assert_eq!(listed([many.as_str()]).len(), LISTED_MAX);
        assert!(listed([format!("https://h.example/{}", "a".repeat(READ_MAX)).as_str()]).is_empty());
    }
}
