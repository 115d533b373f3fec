//! Each move from each stage, and any sequence of them.

use domain::MessageId;
use proptest::prelude::*;

use super::*;
use crate::stage::InvalidMove::{self, *};
use crate::stage::UsedProof;

/// More proofs than are remembered.
const PROOFS: usize = 17;

type Moved = Result<Consent, InvalidMove>;

/// What a move makes of each stage, in the order of [`all`].
fn check(make: impl Fn(Consent) -> Moved, expect: [Result<&'static str, InvalidMove>; 6]) {
    for (consent, expect) in all().into_iter().zip(expect) {
        let from = kind(&consent);
        assert_eq!(
            make(consent).as_ref().map(kind).map_err(|error| *error),
            expect,
            "{from}"
        );
    }
}

fn message(number: usize) -> MessageId {
    MessageId::parse(&format!("m-{number}")).unwrap()
}

#[test]
fn a_link_can_be_followed_until_it_is_answered_or_its_time_is_over() {
    let now = |consent: Consent| consent.start(leaving("t"), at(200));
    check(
        now,
        [
            Ok("started"),
            Ok("started"),
            Ok("started"),
            Err(Done),
            Err(Denied),
            Err(Ended),
        ],
    );
    let late = |consent: Consent| consent.start(leaving("t"), at(600));
    check(
        late,
        [
            Err(RanOut),
            Err(RanOut),
            Err(RanOut),
            Err(Done),
            Err(Denied),
            Err(Ended),
        ],
    );
}

#[test]
fn a_proof_of_a_browser_counts_once_and_never_for_what_is_over() {
    let proof = |mark: &str, until| UsedProof {
        mark: mark.to_owned(),
        until: at(until),
    };
    let now = |consent: Consent| consent.start_proved(leaving("t"), proof("p", 260), at(200));
    check(
        now,
        [
            Ok("started"),
            Ok("started"),
            Ok("started"),
            Err(Done),
            Err(Denied),
            Err(Ended),
        ],
    );
    for consent in all().into_iter().take(3) {
        let used = now(consent).unwrap();
        let stored = serde_json::to_value(&used).unwrap();
        let read: Consent = serde_json::from_value(stored).unwrap();
        assert_eq!(read, used, "what was used is stored");
        // At the same moment, later, and after a start without one.
        for mut again in [read.clone(), read.start(leaving("u"), at(210)).unwrap()] {
            for moment in [200, 259] {
                let refused = again
                    .clone()
                    .start_proved(leaving("v"), proof("p", 260), at(moment));
                assert_eq!(refused, Err(ProofUsed));
            }
            again = again
                .start_proved(leaving("v"), proof("q", 270), at(211))
                .unwrap();
            assert_eq!(again.used_proofs.len(), 2);
            // It has ended by itself by then: nobody would take it for good.
            let late = again
                .start_proved(leaving("w"), proof("r", 330), at(280))
                .unwrap();
            assert_eq!(late.used_proofs.len(), 1);
        }
    }
    let many = (0..PROOFS).try_fold(open(), |consent, number| {
        consent.start_proved(leaving("t"), proof(&number.to_string(), 260), at(200))
    });
    assert_eq!(many, Err(ProofUsed), "no record grows without end");
}

#[test]
fn only_the_answer_to_the_newest_state_is_held_for_a_code() {
    let hold =
        |state: &'static str| move |consent: Consent| consent.hold(state, "h".into(), "g".into(), at(900));
    let never = [
        Err(NotStarted),
        Err(OtherAnswer),
        Err(OtherAnswer),
        Err(Done),
        Err(Denied),
        Err(Ended),
    ];
    check(hold("other"), never);
    let mut once = never;
    once[1] = Ok("awaiting");
    check(hold("s"), once);
    assert_eq!(
        awaiting_code().expires_at,
        at(300),
        "the code's time, no longer the link's"
    );
}

#[test]
fn a_grant_counts_also_after_the_links_end_but_never_after_a_refusal() {
    check(
        Consent::give,
        [
            Err(NotStarted),
            Ok("done"),
            Ok("done"),
            Ok("done"),
            Err(Denied),
            Ok("done"),
        ],
    );
}

#[test]
fn a_refusal_counts_also_after_the_links_end_but_never_after_a_grant() {
    check(
        Consent::deny,
        [
            Err(NotStarted),
            Ok("denied"),
            Ok("denied"),
            Err(Done),
            Ok("denied"),
            Ok("denied"),
        ],
    );
}

#[test]
fn whatever_was_not_given_can_be_withdrawn() {
    check(
        Consent::withdraw,
        [
            Ok("denied"),
            Ok("denied"),
            Ok("denied"),
            Err(Done),
            Ok("denied"),
            Ok("denied"),
        ],
    );
    let withdrawn = awaiting_code().withdraw().unwrap();
    let stored = serde_json::to_string(&withdrawn).unwrap();
    assert!(!stored.contains("v1.k.grant"), "what was held is gone: {stored}");
}

#[test]
fn only_time_ends_a_link_that_nobody_answered() {
    let end = |second| move |consent: Consent| consent.end(at(second));
    check(
        end(299),
        [
            Err(StillGood),
            Err(StillGood),
            Err(StillGood),
            Err(Done),
            Err(Denied),
            Ok("ended"),
        ],
    );
    check(
        end(300),
        [
            Err(StillGood),
            Err(StillGood),
            Ok("ended"),
            Err(Done),
            Err(Denied),
            Ok("ended"),
        ],
    );
    check(
        end(600),
        [
            Ok("ended"),
            Ok("ended"),
            Ok("ended"),
            Err(Done),
            Err(Denied),
            Ok("ended"),
        ],
    );
}

#[test]
fn the_fifth_wrong_code_ends_the_link_each_message_counting_once() {
    let wrong = |consent: Consent| consent.count_wrong_code(message(1), at(2));
    check(
        wrong,
        [
            Err(NoCode),
            Err(NoCode),
            Ok("awaiting"),
            Err(Done),
            Err(Denied),
            Err(Ended),
        ],
    );
    let late = |consent: Consent| consent.count_wrong_code(message(1), at(300));
    assert_eq!(late(awaiting_code()), Err(RanOut));

    let mut consent = awaiting_code();
    for number in [1, 2, 2, 3] {
        consent = consent.count_wrong_code(message(number), at(2)).unwrap();
    }
    // Starting anew brings another code, but no more tries.
    consent = consent.start(leaving("t"), at(3)).unwrap();
    consent = consent.hold("t", "other".into(), "g".into(), at(300)).unwrap();
    consent = consent.count_wrong_code(message(4), at(4)).unwrap();
    assert_eq!((kind(&consent), consent.wrong_codes()), ("awaiting", 4));
    consent = consent.count_wrong_code(message(5), at(5)).unwrap();
    assert_eq!((kind(&consent), consent.wrong_codes()), ("ended", 5));
}

#[derive(Debug, Clone)]
enum Move {
    Start(u8),
    Hold(u8),
    Give,
    Deny,
    End,
    Wrong(usize),
}

fn moves() -> impl Strategy<Value = Vec<(Move, i64)>> {
    let one = prop_oneof![
        (0..3_u8).prop_map(Move::Start),
        (0..3_u8).prop_map(Move::Hold),
        Just(Move::Give),
        Just(Move::Deny),
        Just(Move::End),
        (0..8_usize).prop_map(Move::Wrong),
    ];
    prop::collection::vec((one, 0..60_i64), 1..40)
}

proptest! {
    #[test]
    fn no_sequence_of_moves_reaches_an_impossible_state(moves in moves()) {
        let (mut consent, mut second) = (open(), 0);
        let mut answered = None::<&str>;
        for (step, wait) in moves {
            second += wait;
            let now = at(second);
            let before = consent.clone();
            let moved = match step {
                Move::Start(state) => before.clone().start(leaving(&state.to_string()), now),
                Move::Hold(state) => before.clone().hold(&state.to_string(), "h".into(), "g".into(), at(second + 60)),
                Move::Give => before.clone().give(),
                Move::Deny => before.clone().deny(),
                Move::End => before.clone().end(now),
                Move::Wrong(number) => before.clone().count_wrong_code(message(number), now),
            };
            let Ok(next) = moved else { continue };
            // An answer is final, and there is none before anybody was asked.
            if let Some(answer) = answered {
                prop_assert_eq!(kind(&next), answer);
            }
            if matches!(kind(&next), "done" | "denied") {
                prop_assert_ne!(kind(&before), "open");
                answered = Some(kind(&next));
            }
            // Codes exist only by an answer that was awaited, and what has ended is not started again.
            if kind(&next) == "awaiting" {
                prop_assert!(matches!(kind(&before), "started" | "awaiting"));
                prop_assert!(next.wrong_codes() < 5);
            }
            if kind(&before) == "ended" {
                prop_assert!(matches!(kind(&next), "ended" | "done" | "denied"));
            }
            prop_assert!(next.wrong_codes() <= 5);
            prop_assert_eq!((&next.id, &next.request, next.created_at), (&before.id, &before.request, before.created_at));
            let stored = serde_json::to_string(&next).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Consent>(&stored).unwrap(), &next);
            consent = next;
        }
    }
}
