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
    means(&here, "hi", |meant| matches!(meant, Meaning::Talk(_)));
    means(&here, "How is my task doing?", |meant| {
        matches!(meant, Meaning::Status(_))
    });
    means(
        &here,
        "what is open?",
        |meant| matches!(meant, Meaning::Open(open) if open.len() == 2),
    );
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
    for text in [
        "yes",
        "go",
        "ja",
        "はい",
        "i agree",
        "yeah sure, whatever you need, you have my permission",
        "I hereby give my consent to Horizon",
    ] {
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
    // What is refused by its name is not what an agent asked beside it.
    let asks = |question| task(3, "a seat", "Canteen", Some((TaskState::InputRequired, question)));
    let beside = [asks("Lunch or dinner?"), order(1, "where is order 1003")];
    for text in [
        "I don't want to sign in",
        "I won't sign in",
        "I'd rather not log in",
        "ich will mich nicht anmelden",
    ] {
        means_declined(&beside, text, 1);
    }
    for (here, text) in [
        (beside.to_vec(), "I don't want to"),
        (
            vec![asks("Shall I sign you in, or not?"), beside[1].clone()],
            "I don't want to sign in",
        ),
        (vec![two[0].clone(), two[1].clone()], "I don't want to sign in"),
    ] {
        means(
            &here,
            text,
            |meant| matches!(meant, Meaning::Which(Deed::Decline, of, None) if of.len() == 2),
        );
    }
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
    let told = crate::rules::wording::agree_there(&[&here[0], &here[1]]);
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
fn days_answer_what_asks_for_days_however_much_was_said_since() {
    let stay = task(
        1,
        "i need a place to stay in Porto",
        "Accommodation",
        Some((TaskState::InputRequired, "From which day to which?")),
    );
    let here = [stay, report(2, "report on bees")];
    for text in [
        "ok, 22 to 25 may",
        "from Friday to Sunday",
        "tomorrow for two nights",
    ] {
        means(&here, text, |meant| *meant == Meaning::Answer(&here[0]));
    }
    means(&here, "weather in Porto on 22 may", |meant| {
        matches!(meant, Meaning::Request { .. })
    });
    means(&here[1..], "ok, 22 to 25 may", |meant| {
        matches!(meant, Meaning::Request { .. })
    });
}

#[test]
fn a_no_before_a_reason_declines_and_before_a_request_does_not() {
    let seat = task(
        1,
        "Reserve me a seat in the canteen",
        "Canteen",
        Some((TaskState::InputRequired, "Lunch or dinner?\n1. Lunch\n2. Dinner")),
    );
    let declines =
        |meant: &Meaning<'_>| matches!(meant, Meaning::Request { free: Some(free), .. } if free.declines);
    means(
        std::slice::from_ref(&seat),
        "actually no, I brought sandwiches",
        declines,
    );
    means(
        &[order(1, "where is order 1003")],
        "no, I will do that at home",
        declines,
    );
    for text in [
        "no, is it cold in Oslo?",
        "no, dinner please",
        "I brought sandwiches",
    ] {
        means(std::slice::from_ref(&seat), text, |meant| !declines(meant));
    }
    means(&[order(1, "where is order 1003")], "não, obrigado", |meant| {
        matches!(meant, Meaning::Decline(_))
    });
}

#[test]
fn an_answer_may_have_another_wish_behind_it() {
    let seat = task(
        1,
        "Reserve me a seat in the canteen",
        "Canteen",
        Some((TaskState::InputRequired, "Lunch or dinner?\n1. Lunch\n2. Dinner")),
    );
    means(
        &[seat],
        "dinner please. Also, how's the weather in Oslo?",
        |meant| {
            matches!(meant, Meaning::AnswerAnd(_, first, rest)
            if first == "dinner please" && rest == "Also, how's the weather in Oslo?")
        },
    );
}

#[test]
fn of_a_task_that_waits_for_two_things_what_is_named_is_declined() {
    let mut both = order(1, "where is my order");
    both.jobs.extend(greets(1).jobs);
    for (text, of) in [
        ("no to signing in", Declined::Consents),
        ("no", Declined::Consents),
        ("neither", Declined::All),
    ] {
        assert_eq!(declined(&both, text), of, "{text}");
    }
    both.status.state = TaskState::InputRequired;
    assert_eq!(declined(&both, "no"), Declined::Questions);
    assert_eq!(declined(&order(1, "where is my order"), "no"), Declined::All);
    let here = [order(1, "where is my order"), greets(2)];
    for text in ["no to signing in", "nein, anmelden will ich mich nicht"] {
        means(
            &here,
            text,
            |meant| matches!(meant, Meaning::Decline(task) if task.id == here[0].id),
        );
    }
}
