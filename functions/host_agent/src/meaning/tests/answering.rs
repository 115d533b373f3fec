//! What answers, agrees to or declines what waits.

use super::*;

#[test]
fn what_waits_does_not_capture_the_chat() {
    let here = [order(1, "Where is my order 1001?"), springfield(2)];
    for text in [
        "Weather in Oslo",
        "Write a report about cats",
        "where is my order 1005?",
        "is there no rain in Seville this weekend?",
    ] {
        means(&here, text, |meant| matches!(meant, Meaning::Request { .. }));
    }
    for text in ["how's the weather in Bergen this week", "any news on order 1003"] {
        means(&here[1..], text, |meant| matches!(meant, Meaning::Request { .. }));
    }
}

#[test]
fn an_answer_says_so() {
    let here = [greets(1), springfield(2)];
    for text in [
        "Illinois",
        "2",
        "the one in Illinois please :)",
        "Massachusetts",
        "the second one",
        "number 2, thanks",
        "ok then Missouri",
    ] {
        means(&here, text, |meant| *meant == Meaning::Answer(&here[1]));
    }
    for text in ["bob", "Aunt Margarethe"] {
        means(&here, text, |meant| {
            matches!(meant, Meaning::Request { free: None, .. })
        });
        means(&here[..1], text, |meant| {
            matches!(meant, Meaning::Request { free: Some(_), .. })
        });
    }
    // Something was said since.
    let moved_on = [greets(1), report(2, "report on bees")];
    means(&moved_on, "bob", |meant| {
        matches!(meant, Meaning::Request { free: None, .. })
    });
    // Never a consent.
    means(&[order(1, "Where is my order 1001?")], "bob", |meant| {
        matches!(meant, Meaning::Request { free: None, .. })
    });
}

#[test]
fn what_a_question_tells_at_its_end_is_picked_also_later() {
    let asks = |question: &str| {
        let asked = task(
            1,
            "a flat",
            "Accommodation",
            Some((TaskState::InputRequired, question)),
        );
        [asked, report(2, "report on bees")]
    };
    let here = asks("Which Springfield: Missouri, Massachusetts, Illinois, Oregon or Ohio?");
    for text in ["Illinois", "the one in Ohio, please", "the second one"] {
        means(&here, text, |meant| *meant == Meaning::Answer(&here[0]));
    }
    for text in ["Boston", "weather in Illinois", "Missouri or Ohio"] {
        means(&here, text, |meant| matches!(meant, Meaning::Request { .. }));
    }
    for question in [
        "Lunch or dinner?",
        "Where: in town?",
        ": or ?",
        "Which: , or  or ?",
    ] {
        let here = asks(question);
        means(&here, "Ohio", |meant| matches!(meant, Meaning::Request { .. }));
    }
}

#[test]
fn no_word_agrees_to_a_consent_and_one_of_a_short_list_declines_it() {
    let here = [order(1, "Where is my order 1001?")];
    for text in ["yes", "go", "ja", "はい"] {
        means(
            &here,
            text,
            |meant| matches!(meant, Meaning::Agreeing(of) if of.len() == 1),
        );
    }
    for text in [
        "no",
        "I don't want to",
        "skip",
        "later",
        "nein",
        "non",
        "Nei",
        "いいえ",
        "no thanks",
    ] {
        means(&here, text, |meant| *meant == Meaning::Decline(&here[0]));
        assert!(declines(&here[0], text), "{text}");
    }
    let two = [order(1, "where is order 1003"), order(2, "where is order 1005")];
    means(
        &two,
        "no",
        |meant| matches!(meant, Meaning::Which(Deed::Decline, of, None) if of.len() == 2),
    );
    let asked = Question {
        to: Deed::Decline,
        of: two.iter().map(|task| task.id).collect(),
    };
    means_beside(&two, &[], Some(asked), "1005", |meant| {
        *meant == Meaning::Decline(&two[1])
    });
    // One of them was declined since by a reply to its card: that is what was asked.
    let mut one_left = two.clone();
    one_left[0].status.state = TaskState::Canceled;
    let asked = Question {
        to: Deed::Decline,
        of: two.iter().map(|task| task.id).collect(),
    };
    means_beside(&one_left, &[], Some(asked), "no", |meant| {
        *meant == Meaning::Decline(&one_left[1])
    });
    let shall = task(
        1,
        "print",
        "Printer",
        Some((TaskState::InputRequired, "Shall I print in colour?")),
    );
    means(std::slice::from_ref(&shall), "no", |meant| {
        matches!(meant, Meaning::Answer(_))
    });
    means(&[], "no", |meant| matches!(meant, Meaning::Nothing(..)));
}

#[test]
fn a_choice_may_stand_in_a_sentence_that_nobody_else_is_found_for() {
    let here = [springfield(1), report(2, "report on bees")];
    for text in [
        "the Illinois one, sorry for the delay",
        "number 2, my aunt lives there",
        "I live in Missouri, you know",
    ] {
        means(&here, text, |meant| match meant {
            Meaning::Answer(task) => task.id == here[0].id,
            Meaning::Request { free: Some(free), .. } => free.task.id == here[0].id && !free.open,
            _ => false,
        });
    }
    for text in ["weather in Linz", "Illinois or Missouri, which is nicer"] {
        means(&here, text, |meant| {
            matches!(meant, Meaning::Request { free: None, .. })
        });
    }
}

#[test]
fn a_yes_beside_several_consents_is_asked_back_with_their_agents() {
    let own = (TaskState::AuthRequired, "Calendar needs access.");
    let here = [
        order(1, "Where is my order 1001?"),
        task(2, "Am I free on Friday?", "Calendar", Some(own)),
    ];
    means(
        &here,
        "yes",
        |meant| matches!(meant, Meaning::Agreeing(of) if of.len() == 2),
    );
    let told = crate::rules::wording::agree_there(&[&here[0], &here[1]], "en");
    for named in [
        "Which one",
        "Horizon, for “Where is my order 1001”",
        "Calendar, for",
    ] {
        assert!(told.contains(named), "{named}: {told}");
    }
    means(
        &here[1..],
        "yes",
        |meant| matches!(meant, Meaning::Agreeing(of) if of.len() == 1),
    );
}

#[test]
fn of_a_task_that_waits_for_two_things_what_is_named_is_declined() {
    let mut both = order(1, "where is my order");
    both.jobs.extend(greets(1).jobs);
    for (text, of) in [("no", Declined::Consents), ("neither", Declined::All)] {
        assert_eq!(declined(&both, text), of, "{text}");
    }
    both.status.state = TaskState::InputRequired;
    assert_eq!(declined(&both, "no"), Declined::Questions);
    assert_eq!(declined(&order(1, "where is my order"), "no"), Declined::All);
}
