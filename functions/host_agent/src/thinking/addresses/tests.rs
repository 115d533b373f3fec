//! Which addresses of a model's answer are shown, whole and while it grows.

use proptest::prelude::*;

use super::*;

fn known(text: &str) -> Addresses {
    let mut known = Addresses::default();
    known.learn(text);
    known
}

#[test]
fn only_what_stands_in_a_source_is_shown_letter_by_letter() {
    let known = known("See https://good.example/a?b=1, (http://other.example/x_(y)) and www.third.example.");
    for (text, shown) in [
        (
            "Look: https://good.example/a?b=1.",
            "Look: https://good.example/a?b=1.",
        ),
        (
            "[here](https://good.example/a?b=1)",
            "[here](https://good.example/a?b=1)",
        ),
        ("good.example/a?b=1 too", "good.example/a?b=1 too"),
        ("http://other.example/x_(y)", "http://other.example/x_(y)"),
        ("www.third.example", "www.third.example"),
        ("https://good.example/a?b=2", LEFT_OUT),
        ("https://good.example/a", LEFT_OUT),
        ("https://good.example/a?b=1&c=secret", LEFT_OUT),
        ("https://good.example.evil.example/a?b=1", LEFT_OUT),
        ("HTTPS://GOOD.example/a?b=1", LEFT_OUT),
        (
            "![p](https://evil.example/?q=dentist)",
            "![p]([address left out])",
        ),
        ("![p](//evil.example/?q=dentist)", "![p](//[address left out])"),
        ("<https://evil.example/x>", "<[address left out]>"),
        ("evil.example/dentist", LEFT_OUT),
        ("www.evil.example", LEFT_OUT),
        ("見てhttps://evil.example/x", "見て[address left out]"),
        (
            "[x](mailto:eve@evil.example?body=dentist)",
            "[x]([address left out])",
        ),
        ("<MAILTO:eve@evil.example>", "<[address left out]>"),
        // No addresses.
        (
            "Node.js, 3.5 km/h and/or e.g. main.rs",
            "Node.js, 3.5 km/h and/or e.g. main.rs",
        ),
        ("write to a@b.example", "write to a@b.example"),
    ] {
        assert_eq!(known.kept(text), shown, "{text}");
    }
}

#[test]
fn a_giant_result_is_looked_through_in_its_time_and_what_it_names_is_known() {
    let begun = std::time::Instant::now();
    for word in [
        "a.b//c@d",
        "http://",
        "a@",
        "https://a.example/(",
        "x.y/",
        "((",
        "é.",
    ] {
        known(&word.repeat(1_000_000 / word.len()));
    }
    // Hours where the rest is looked through from each place.
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    let places: Vec<String> = (0..1_000)
        .map(|n| format!(r#"{{"url":"https://stay.example/{n}"}}"#))
        .collect();
    let compact = format!("[{}]", places.join(","));
    let shown = "See https://stay.example/7 and <https://stay.example/999>.";
    assert_eq!(known(&compact).kept(shown), shown);
}

/// Its words, as they are shown while they come in these pieces.
fn grown(addresses: &Addresses, pieces: &[&str]) -> String {
    let mut growing = GrowingText::new(addresses);
    pieces.iter().map(|piece| growing.grow(piece)).collect()
}

#[test]
fn an_address_that_is_not_whole_is_held_back() {
    let known = known("https://good.example/a");
    for (pieces, shown) in [
        (&["It is at ht", "tps://go"][..], "It is at "),
        (
            &["It is at ht", "tps://good.example/a", "bc now"][..],
            "It is at [address left out] now",
        ),
        (
            &["It is at https://good.example/a", " now "][..],
            "It is at https://good.example/a now ",
        ),
        (
            &["at https://bü", "cher.example/x y"][..],
            "at [address left out] y",
        ),
        (&["It rains", "."][..], "It rains."),
        // Nothing more is shown before the answer is there.
        (&["It rains.", "example/x and more"][..], "It rains."),
        (&["今日は", "晴れ"][..], "今日は晴れ"),
    ] {
        assert_eq!(grown(&known, pieces), shown, "{pieces:?}");
    }
}

proptest! {
    #[test]
    fn a_draft_never_shows_an_address_that_the_answer_does_not(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                " ", "ht", "tps://", "mail", "to:", "eve@", "good.example", "/a", "evil.example", "?q=1", "ü", "見", "(", ")", ".", "www.", "\n", "word",
            ]),
            0..24,
        )
    ) {
        let known = known("https://good.example/a");
        let draft = grown(&known, &pieces);
        prop_assert_eq!(known.kept(&draft), draft);
    }
}
