//! Shapes of text that people and strangers send, and a check that reading one takes time by its length alone: for the tests of
//! every room that reads words. Whoever reads holds up others, so that work which grows with the square of a text's length is an
//! attack that anybody can make.

use std::time::Duration;

use domain::READ_MAX;
use rustix::time::{ClockId, clock_gettime};

/// What is repeated until a text is as long as it is to be.
const REPEATED: [&str; 51] = [
    "a",
    "abcdefghijklmnopqrstuvwxyz",
    "A",
    "1",
    "1234567890",
    "ß",
    "é",
    "e\u{301}",
    "\u{301}",
    "ﬁ",
    "İ",
    "の",
    "東京",
    "天気は",
    "レポート",
    "погода ",
    "שלום and مرحبا ",
    "\u{202e}txet\u{202c} ",
    "donaudampfschifffahrtsgesellschaft",
    "Wetterbericht für Köln und ",
    "a. ",
    "a, ",
    "a? ",
    "a b ",
    ". ",
    ", ",
    " ",
    "\n",
    "\t",
    "and ",
    "and then ",
    "Oslo and ",
    "Oslo, ",
    "in Oslo in ",
    "no, ",
    "no, sorry, I mean ",
    "yes ",
    "not ",
    "\"",
    "\"a\" ",
    "(",
    "()",
    "[a](",
    "1/2 ",
    "2026-11-26 ",
    "26 November to 3 December, ",
    "from 9:30 to 11 am on Friday ",
    "orders 1001-1019, ",
    "👩‍👩‍👧‍👦",
    "https://a.example/b?c=d&e=%20#f ",
    "ada@example.com ",
];

/// Longest text that is measured at twice its length: below what is cut.
const HALF: usize = READ_MAX / 2 - 100;
/// Twice as much work for twice as much text, and some for the noise of the clock.
const GROWTH: f64 = 2.2;
/// What takes less than this in a build for tests holds up nobody, however it grows up to where a text is cut; and clocks of
/// processors may tell no more than milliseconds.
const FLOOR: Duration = Duration::from_millis(10);
/// How many times a text is read at a go, for the smallest time.
const ROUNDS: usize = 5;
/// How many goes there are: what shares a core's units with this thread makes it slower by half, and goes by.
const GOES: usize = 3;
/// What is waited between two goes.
const PAUSE: Duration = Duration::from_millis(200);
/// A text as long as one that stalled others.
const LONG: usize = 40_000;
/// What such a text may take beyond what is read of it: it is still looked through once or twice.
const LOOKED_THROUGH: Duration = Duration::from_millis(40);

/// Holds that reading a text takes no more than 2.2 times as long as reading half of it, by processor time of this thread, and that
/// one which is longer than what is read takes hardly longer than that.
///
/// # Panics
/// Where it takes longer, for whichever shapes of text.
pub fn assert_linear(read: impl Fn(&str)) {
    // What is made with the first text is no part of reading the next.
    read("Will it rain in Oslo tomorrow? And where is my order 1001?");
    read("Wird es morgen in Oslo regnen?");
    let slow: Vec<String> = shapes().filter_map(|shape| slowness(&shape, &read)).collect();
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

/// A text of so many letters of each shape.
pub fn texts(letters: usize) -> impl Iterator<Item = String> {
    shapes().map(move |shape| (shape.of)(letters))
}

/// Texts of any length, each by its name.
struct Shape {
    name: String,
    of: Box<dyn Fn(usize) -> String>,
}

fn shapes() -> impl Iterator<Item = Shape> {
    let repeated = REPEATED.into_iter().map(|unit| Shape {
        name: format!("{unit:?} repeated"),
        of: Box::new(|length| unit.chars().cycle().take(length).collect()),
    });
    let numbered = |name: &str, word: fn(usize) -> String| Shape {
        name: name.to_owned(),
        of: Box::new(move |length| {
            (0..)
                .flat_map(|at| word(at).chars().collect::<Vec<_>>())
                .take(length)
                .collect()
        }),
    };
    let distinct = [
        numbered("words, no two alike", |at| format!("{} ", spelled(at))),
        numbered("names, no two alike", |at| format!("Z{} and ", spelled(at))),
        numbered("numbers, no two alike", |at| format!("{} ", 1_000 + at)),
        numbered("clauses, no two alike", |at| {
            format!("{} the {}. ", spelled(at), spelled(at + 7))
        }),
        numbered("words, each longer than the one before", |at| {
            format!("{} ", "x".repeat(at))
        }),
        numbered("brackets within brackets", |at| format!("({} ", spelled(at))),
    ];
    repeated.chain(distinct)
}

/// A word that no other number has.
fn spelled(number: usize) -> String {
    let letters = (b'a'..=b'z').map(char::from).collect::<Vec<_>>();
    let letter = |place: u32| letters.get(number / 26_usize.pow(place) % 26);
    (0..3).filter_map(letter).collect()
}

/// What is slow about a shape; `None` where nothing is.
fn slowness(shape: &Shape, read: &impl Fn(&str)) -> Option<String> {
    let [half, whole, most, long] = [HALF, 2 * HALF, READ_MAX, LONG].map(|length| (shape.of)(length));
    let grows = |half: Duration, whole: Duration| whole > FLOOR && whole > half.mul_f64(GROWTH);
    let exceeds = |most: Duration, long: Duration| long > most.mul_f64(GROWTH) + LOOKED_THROUGH;
    let (fast, slow) = smallest((&half, &whole), read, grows);
    let (all, more) = smallest((&most, &long), read, exceeds);
    let name = &shape.name;
    match (grows(fast, slow), exceeds(all, more)) {
        (true, _) => Some(format!(
            "{name}: {HALF} characters {fast:?}, twice as many {slow:?}"
        )),
        (_, true) => Some(format!(
            "{name}: {READ_MAX} characters {all:?}, {LONG} of them {more:?}"
        )),
        _ => None,
    }
}

/// The smallest times of reading two texts; as often as they are too far apart.
fn smallest(
    (one, other): (&str, &str),
    read: &impl Fn(&str),
    is_too_far: impl Fn(Duration, Duration) -> bool,
) -> (Duration, Duration) {
    let mut least = (Duration::MAX, Duration::MAX);
    for round in 0..GOES * ROUNDS {
        if round > 0 && round % ROUNDS == 0 {
            std::thread::sleep(PAUSE);
        }
        least = (least.0.min(taken(one, read)), least.1.min(taken(other, read)));
        if !is_too_far(least.0, least.1) {
            break;
        }
    }
    least
}

/// What this thread takes of a processor to read a text.
fn taken(text: &str, read: &impl Fn(&str)) -> Duration {
    let begun = spent();
    read(text);
    spent().saturating_sub(begun)
}

fn spent() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is slow about one of the shapes, each looked at once: a machine that stands still while the shorter text is read makes
    /// the longer one look no slower.
    fn slow(read: impl Fn(&str)) -> String {
        let told = shapes().find_map(|shape| slowness(&shape, &read));
        told.unwrap_or_default()
    }

    fn look_for_each_of(text: &[char], most: usize) {
        let others = || text.iter().take(most);
        let found = text
            .iter()
            .map(|one| others().filter(|other| *other == one).count());
        assert!(found.sum::<usize>() > 0);
    }

    #[test]
    fn a_reader_that_goes_through_its_text_once_is_linear() {
        assert_linear(|text| assert!(text.chars().count() > 0));
    }

    #[test]
    fn a_reader_that_goes_through_its_text_for_each_letter_is_not() {
        let told = slow(|text| look_for_each_of(&text.chars().take(READ_MAX).collect::<Vec<_>>(), READ_MAX));
        assert!(told.contains("twice as many"), "{told}");
    }

    #[test]
    fn a_reader_that_does_not_stop_is_not() {
        let told = slow(|text| look_for_each_of(&text.chars().collect::<Vec<_>>(), 200));
        assert!(told.contains("of them"), "{told}");
    }
}
