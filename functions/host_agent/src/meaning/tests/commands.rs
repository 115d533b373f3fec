//! What is done by a command or a word of a closed list, whoever hears the rest.

use super::*;

#[test]
fn a_command_is_about_the_tasks_that_have_its_words() {
    let here = [
        report(1, "a report on bees"),
        report(2, "a report on the rails of Norway"),
        task(3, "rain in Oslo?", "Weather", Some((TaskState::Failed, "No."))),
    ];
    let of = |numbers: &[usize]| numbers.iter().map(|at| &here[*at]).collect::<Vec<_>>();
    for (text, meant) in [
        ("/cancel bees", Meaning::Cancel(of(&[0]), None)),
        ("/cancel all", Meaning::Cancel(of(&[0, 1]), None)),
        ("/cancel", Meaning::Which(Deed::Cancel, of(&[0, 1]), None)),
        ("stop", Meaning::Which(Deed::Cancel, of(&[0, 1]), None)),
        ("/cancel report", Meaning::Which(Deed::Cancel, of(&[0, 1]), None)),
        ("/cancel whales", Meaning::Nothing(Nothing::ToCancel, None)),
        ("/status rails", Meaning::Status(of(&[1]))),
        ("/status oslo", Meaning::Status(of(&[2]))),
        ("/status", Meaning::Open(of(&[0, 1]))),
        ("how is my task doing", Meaning::Status(of(&[0, 1]))),
        ("What can you do?", Meaning::Talk(Talk::Help)),
        ("/retry", Meaning::Retry(&here[2])),
        ("try again, please", Meaning::Retry(&here[2])),
        ("/retry bees", Meaning::Nothing(Nothing::ToRetry, None)),
    ] {
        means(&here, text, |known| *known == meant);
    }
    let id = here[0].id;
    means(&here, &format!("/cancel {id}"), |known| {
        *known == Meaning::Cancel(of(&[0]), None)
    });
    means(&here, &format!("/cancel {ID}"), |known| {
        matches!(known, Meaning::Nothing(Nothing::Known(_), None))
    });
}

#[test]
fn what_runs_in_another_chat_ends_only_once_that_was_asked() {
    let there = [report(1, "a report on bees")];
    let asked = Meaning::Which(Deed::Cancel, there.iter().collect(), None);
    for text in ["/cancel", "cancel", "/cancel bees"] {
        means_beside(&[], &there, None, text, |meant| *meant == asked);
    }
    let question = Question::about(Deed::Cancel, &[&there[0]]);
    let ended = Meaning::Cancel(there.iter().collect(), None);
    means_beside(&[], &there, Some(question), "yes", |meant| *meant == ended);
}

#[test]
fn what_is_said_in_words_of_ones_own_ends_nothing_without_an_engine() {
    let here = [report(1, "a report on bees"), order(2, "Where is my order 1001?")];
    for text in [
        "cancel the report",
        "forget it",
        "how is it going?",
        "I'd rather not",
        "hello",
    ] {
        means(&here, text, |meant| {
            matches!(meant, Meaning::Request { .. } | Meaning::Decline(_))
        });
    }
}
