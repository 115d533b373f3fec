//! What messages mean as the engine of sentences hears them.

use super::*;

#[track_caller]
fn means_heard(here: &[Task], heard: &Heard, text: &str, check: impl Fn(&Meaning<'_>) -> bool) {
    let chat = Chat {
        here,
        asked: None,
        elsewhere: Some(&[]),
        since: at(1_000),
    };
    let meant = chat.meaning(text, Some(heard));
    assert!(check(&meant), "{text}: {}", meant.word());
}

fn over(number: u8, asked: &str) -> Task {
    task(number, asked, "Weather", Some((TaskState::Completed, "Dry.")))
}

#[test]
fn the_task_that_is_meant_ends_and_one_that_is_over_cannot() {
    let here = [
        over(1, "rain in Oslo?"),
        report(2, "a report on bees"),
        report(3, "a report on rails"),
    ];
    let stop = |of: &Task| Heard::doing(Act::Cancel, "lass das mit den Bienen", &[of.id]);
    let canceled = |meant: &Meaning<'_>| matches!(meant, Meaning::Cancel(of, None) if of[..] == [&here[1]]);
    means_heard(&here, &stop(&here[1]), "lass das mit den Bienen", canceled);
    let nothing = |meant: &Meaning<'_>| *meant == Meaning::Nothing(Nothing::ToCancel, None);
    means_heard(&here, &stop(&here[0]), "lass das mit dem Regen", nothing);
    // Of several nobody knows which.
    let which =
        |meant: &Meaning<'_>| matches!(meant, Meaning::Which(Deed::Cancel, of, None) if of.len() == 2);
    means_heard(&here, &Heard::doing(Act::Cancel, "genug", &[]), "genug", which);
}

#[test]
fn what_sounds_like_a_yes_authorises_nothing() {
    let here = [order(1, "Where is my order 1001?")];
    let agrees = Heard::doing(Act::Approve, "sounds good to me", &[]);
    let asked = |meant: &Meaning<'_>| matches!(meant, Meaning::Agreeing(_));
    means_heard(&here, &agrees, "sounds good to me", asked);
}

#[test]
fn done_after_a_consent_is_answered_by_what_became_of_it() {
    let mut granted = over(1, "Where is my order 1001?");
    granted.jobs[0].protection = Some(Protection {
        provider: "idp".to_owned(),
        scopes: Vec::new(),
        consent: None,
        granted_at: Some(at(1)),
    });
    let here = [granted];
    let done = Heard::doing(Act::Done, "bin angemeldet", &[]);
    let told = |meant: &Meaning<'_>| matches!(meant, Meaning::Status(of) if of[..] == [&here[0]]);
    means_heard(&here, &done, "bin angemeldet", told);
    means_heard(&here, &done, "done", told);
}

#[test]
fn what_reads_as_an_answer_goes_to_the_one_that_asked() {
    let here = [springfield(1), over(2, "rain in Oslo?")];
    let answers = Heard::doing(Act::Answer, "la de Illinois", &[]);
    let answered = |meant: &Meaning<'_>| matches!(meant, Meaning::Answer(task) if task.id == here[0].id);
    means_heard(&here, &answers, "la de Illinois", answered);
    // Of two that asked nobody knows which is meant, unless one of them did so last.
    let here = [springfield(1), greets(2), over(3, "rain in Oslo?")];
    let which = |meant: &Meaning<'_>| matches!(meant, Meaning::WhichWord(of) if of.len() == 2);
    means_heard(&here, &answers, "cuatro", which);
}

#[test]
fn what_failed_is_tried_again_and_of_several_it_is_asked_which() {
    let failed = |number: u8, asked: &str| task(number, asked, "Weather", Some((TaskState::Failed, "No.")));
    let again = Heard::doing(Act::Retry, "versuch es noch mal", &[]);
    let one = [failed(1, "rain in Oslo?")];
    let retried = |meant: &Meaning<'_>| matches!(meant, Meaning::Retry(task) if task.id == one[0].id);
    means_heard(&one, &again, "versuch es noch mal", retried);
    let two = [failed(1, "rain in Oslo?"), failed(2, "snow in Bergen?")];
    let which = |meant: &Meaning<'_>| matches!(meant, Meaning::Which(Deed::Retry, of, None) if of.len() == 2);
    means_heard(&two, &again, "versuch es noch mal", which);
}

#[test]
fn whoever_names_a_task_by_its_id_asks_about_that() {
    let here = [over(1, "rain in Oslo?"), report(2, "a report on bees")];
    let asks = |id: TaskId| format!("How is my task {id} doing?");
    let text = asks(here[0].id);
    let told = |meant: &Meaning<'_>| matches!(meant, Meaning::Status(of) if of[..] == [&here[0]]);
    means_heard(
        &here,
        &Heard::doing(Act::Request, &text, &[here[1].id]),
        &text,
        told,
    );
    // Another id is an order's, or whatever an agent has.
    let text = asks(TaskId::parse(ID).unwrap());
    let request = |meant: &Meaning<'_>| matches!(meant, Meaning::Request { .. });
    means_heard(&here, &Heard::doing(Act::Request, &text, &[]), &text, request);
}

/// "Which one?", asked about these.
fn answered(here: &[Task], elsewhere: &[Task], heard: &Heard, check: impl Fn(&Meaning<'_>) -> bool) {
    let all: Vec<&Task> = here.iter().chain(elsewhere).collect();
    let chat = Chat {
        here,
        asked: Some(Question::about(Deed::Cancel, &all)),
        elsewhere: Some(elsewhere),
        since: at(1_000),
    };
    let meant = chat.meaning("das mit den Bienen", Some(heard));
    assert!(check(&meant), "{}", meant.word());
}

#[test]
fn a_likeness_picks_a_task_of_the_chat_and_authorises_nothing_elsewhere() {
    let (bees, rails) = (report(1, "a report on bees"), report(2, "a report on rails"));
    let like = |act: Act| Heard::doing(act, "das mit den Bienen", &[bees.id]);
    let here = [bees.clone(), rails.clone()];
    let ended = |meant: &Meaning<'_>| matches!(meant, Meaning::Cancel(of, None) if of[..] == [&here[0]]);
    answered(&here, &[], &like(Act::Answer), ended);
    // News that are asked for, and another request, end nothing.
    for other in [Act::Status, Act::Request] {
        answered(&here, &[], &like(other), |meant| {
            !matches!(meant, Meaning::Cancel(..))
        });
    }
    let there = [bees.clone(), rails];
    let asked = |meant: &Meaning<'_>| matches!(meant, Meaning::Which(Deed::Cancel, of, None) if of[..] == [&there[0]]);
    answered(&[], &there, &like(Act::Answer), asked);
}

#[test]
fn what_names_something_else_ends_nothing_unasked() {
    let (choice, other) = (report(1, "a report on bees"), report(2, "a report on tides"));
    let text = "cancel the one about the tides";
    let heard = Heard::doing(Act::Cancel, text, &[]);
    let (here, there) = ([choice], [other]);
    let chat = |elsewhere| Chat {
        here: &here,
        asked: None,
        elsewhere,
        since: at(1_000),
    };
    assert_eq!(chat(None).meaning(text, Some(&heard)), Meaning::LookElsewhere);
    // It is like none there either: the only one that runs here is asked about.
    let asked = Meaning::Which(Deed::Cancel, vec![&here[0]], None);
    assert_eq!(chat(Some(&there[..])).meaning(text, Some(&heard)), asked);
}

/// "Shall I cancel it?", asked about one: a closed yes alone says so.
#[test]
fn what_is_heard_agrees_to_nothing_that_the_host_asked() {
    let here = [report(1, "a report on bees")];
    let chat = Chat {
        here: &here,
        asked: Some(Question::about(Deed::Cancel, &[&here[0]])),
        elsewhere: Some(&[]),
        since: at(1_000),
    };
    let means = |act: Act, text: &str| chat.meaning(text, Some(&Heard::doing(act, text, &[])));
    let asked = Meaning::Which(Deed::Cancel, vec![&here[0]], None);
    assert_eq!(means(Act::Approve, "that would be best"), asked);
    assert_eq!(means(Act::Cancel, "leave it"), asked);
    let unchanged = Meaning::Nothing(Nothing::ToDecline, None);
    assert_eq!(means(Act::Decline, "let it run"), unchanged);
    assert_eq!(chat.meaning("no", None), unchanged);
    assert_eq!(chat.meaning("yes", None), Meaning::Cancel(vec![&here[0]], None));
}
