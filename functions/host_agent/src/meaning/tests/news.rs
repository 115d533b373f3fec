//! What asks how something is doing, what is open, or for another try.

use super::*;

#[test]
fn status_is_asked_for_in_many_words() {
    for (asked, says) in [
        (
            "Schreib mir einen Bericht über Seide",
            "wie stehts mit dem bericht?",
        ),
        ("Escribe un informe sobre el té", "¿está listo el informe?"),
        ("海のレポートを書いてください", "レポートの進み具合はどうですか？"),
        ("write a report on tea", "what are my tasks at the moment?"),
        ("write a report on lighthouses", "is the report still running?"),
    ] {
        means(
            &[self::report(1, asked)],
            says,
            |meant| matches!(meant, Meaning::Status(of) if of.len() == 1),
        );
    }
    means(&[], "進捗状況のレポートを書いて", |meant| {
        matches!(meant, Meaning::Request { .. })
    });
    means(&[], "Ist das Essen fertig?", |meant| {
        matches!(meant, Meaning::LookElsewhere | Meaning::Request { .. })
    });
    let report = [report(1, "can u write me a report on edible mushrooms")];
    means(
        &report,
        "hows my report coming along??",
        |meant| matches!(meant, Meaning::Status(of) if of.len() == 1),
    );
    for prompt in [
        "How is my task doing?",
        "how's my task going",
        "what is the status of my task?",
        "status",
        "Status?",
        "Is it done yet?",
        "is it ready?",
        "any news?",
        "Any updates on my task?",
        "done?",
        "how far are you?",
        "is my weather task finished",
        "How is my report doing?",
        "How is it going?",
        "what is the status of it",
        "what are my tasks?",
        "status of all my tasks",
        "status of all",
        "hows it going",
        "did it work",
        "is my report ready?",
        "how is my report?",
        "how are things?",
        "Might I ask what the status of my report is?",
        "is the report done yet",
        "is it still running?",
    ] {
        assert!(
            matches!(read(prompt), Wish::Status(_) | Wish::Done),
            "{prompt}: {:?}",
            read(prompt)
        );
    }
    for prompt in [
        format!("How is my task {ID} doing?"),
        format!("status of task {ID}"),
        ID.to_owned(),
        format!("what about task {ID}"),
        format!("is {ID} done yet?"),
    ] {
        assert!(
            matches!(read(&prompt), Wish::Status(Target { id: Some(_), .. })),
            "{prompt}"
        );
    }
    for prompt in [
        "is it going to rain in Manchester tomorrow? yes or no",
        "order 1003 status",
        "Where is my order 1001?",
        "Write a report on the progress of robots",
        "weather in Split and the status of my order 1003",
    ] {
        assert!(
            matches!(read(prompt), Wish::Words(_)),
            "{prompt}: {:?}",
            read(prompt)
        );
    }
}

#[test]
fn another_try_is_asked_for_in_many_words() {
    for text in [
        "I refilled the paper tray, give it another go",
        "could you try that one more time?",
        "again please",
        "once more",
        "can you do that again",
        "please retry",
        "nochmal bitte",
        "noch einmal",
        "otra vez por favor",
        "réessaye",
        "prøv igjen",
        "もう一度",
        "let's have another try",
    ] {
        assert!(matches!(read(text), Wish::Retry(_)), "{text}: {:?}", read(text));
    }
    for text in [
        "what was that again?",
        "tell me the weather again",
        "weather in Oslo again tomorrow",
    ] {
        assert!(!matches!(read(text), Wish::Retry(_)), "{text}: {:?}", read(text));
    }
}

#[test]
fn what_waits_is_asked_for_in_many_words() {
    for text in [
        "what is open?",
        "what's still open",
        "anything pending?",
        "is anything waiting for me?",
        "show me what is open",
        "was ist offen?",
        "what is running?",
        "is anything running?",
        "¿qué está pendiente?",
        "which tasks are still open",
        "hey, what do you need from me",
    ] {
        assert_eq!(read(text), Wish::Open, "{text}");
    }
    for text in [
        "when does the museum open",
        "is the pool open tomorrow in Oslo",
        "open the archive",
    ] {
        assert_ne!(read(text), Wish::Open, "{text}");
    }
}

#[test]
fn a_retry_finds_what_went_wrong_in_another_chat_and_asks_first() {
    let failed = task(
        1,
        "print my pass",
        "Printer",
        Some((TaskState::Failed, "Out of paper.")),
    );
    let there = [failed.clone()];
    for text in ["retry", "try again", "once more please"] {
        means_beside(
            &[],
            &there,
            None,
            text,
            |meant| matches!(meant, Meaning::Which(Deed::Retry, of, None) if *of == [&failed]),
        );
    }
    let asked = Question {
        to: Deed::Retry,
        of: vec![failed.id],
    };
    means_beside(&[], &there, Some(asked), "yes", |meant| {
        *meant == Meaning::Retry(&failed)
    });
    means(&[], "retry", |meant| {
        matches!(meant, Meaning::Nothing(Nothing::ToRetry, None))
    });
}

#[test]
fn words_of_one_stem_mean_the_same_task() {
    let here = [
        task(
            1,
            "translate good morning into French",
            "Translator",
            Some((TaskState::Working, "translating")),
        ),
        report(2, "report on magnets"),
    ];
    means(
        &here,
        "cancel the translation",
        |meant| matches!(meant, Meaning::Cancel(ended, None) if *ended == [&here[0]]),
    );
    means(&here, "cancel the magnolia report", |meant| {
        !matches!(meant, Meaning::Cancel(..))
    });
    means(&here, "how long will the translation take?", |meant| {
        matches!(meant, Meaning::Status(_))
    });
}

#[test]
fn where_nothing_is_open_here_the_other_chats_are_looked_at() {
    let there = [report(1, "report on tea")];
    means_beside(
        &[],
        &there,
        None,
        "what is running?",
        |meant| matches!(meant, Meaning::OpenElsewhere(open) if open.len() == 1),
    );
    means(
        &there,
        "what is open?",
        |meant| matches!(meant, Meaning::Open(open) if open.len() == 1),
    );
}

#[test]
fn what_is_done_or_tried_again_while_more_than_one_waits_is_asked_or_told() {
    let here = [
        order(1, "Where is my order 1001?"),
        order(2, "Where is my order 1003?"),
    ];
    means(
        &here,
        "done",
        |meant| matches!(meant, Meaning::WhichWord(of) if of.len() == 2),
    );
    means(&here[..1], "done", |meant| *meant == Meaning::Answer(&here[0]));
    let here = [report(1, "write a report on bees")];
    means(
        &here,
        "try again",
        |meant| matches!(meant, Meaning::Status(of) if of.len() == 1),
    );
    means(&[], "try again", |meant| {
        matches!(meant, Meaning::Nothing(Nothing::ToRetry, _))
    });
}

#[test]
fn news_are_asked_for_in_words_without_a_word_for_news() {
    let here = [report(1, "write a report on bees")];
    for text in [
        "so whats with the report??",
        "what's up with my report",
        "hvordan går det med report?",
    ] {
        means(
            &here,
            text,
            |meant| matches!(meant, Meaning::Status(of) if of.len() == 1),
        );
    }
    means(&here, "hvordan går det i Bergen i morgen?", |meant| {
        matches!(meant, Meaning::Request { .. })
    });
}

#[test]
fn which_of_two_is_told_by_the_one_word_that_tells() {
    let here = [
        report(1, "write a report on otters"),
        report(2, "write a report about tidal power too"),
    ];
    let asked = Question {
        to: Deed::Cancel,
        of: here.iter().map(|task| task.id).collect(),
    };
    means_beside(&here, &[], Some(asked), "the one about otters", |meant| {
        *meant == Meaning::Cancel(vec![&here[0]], None)
    });
}

#[test]
fn a_question_about_what_was_done_is_about_that_task() {
    let is_status = |meant: &Meaning<'_>| matches!(meant, Meaning::Status(of) if of.len() == 1 && of.iter().all(|task| task.id == TaskId::from_bytes([1; 16])));
    let printed = [task(
        1,
        "could you print my boarding pass",
        "Printer",
        Some((TaskState::Completed, "Printed.")),
    )];
    for text in ["was it printed?", "did you cancel it?", "what went wrong?"] {
        means(&printed, text, is_status);
    }
    for text in ["was it cold in Oslo?", "did my order arrive?"] {
        means(&printed, text, |meant| matches!(meant, Meaning::Request { .. }));
    }
    for (asked, says) in [
        (
            "Kannst du einen Bericht über Bienen schreiben?",
            "Wie weit ist der Bericht?",
        ),
        ("fais-moi un rapport sur les éoliennes", "où en est le rapport ?"),
        ("scrivi una relazione sugli ulivi", "a che punto è la relazione?"),
        ("maak een verslag over dijken", "hoe ver is het verslag?"),
        ("富士山のレポートをお願いします", "レポートはまだですか？"),
    ] {
        means(&[report(1, asked)], says, is_status);
    }
}

#[test]
fn a_question_about_somebodys_work_begins_none_whatever_its_language() {
    let card = |name: &'static str, examples: &[&str]| {
        let examples: Vec<String> = examples.iter().map(|example| (*example).to_owned()).collect();
        let skill = llm::SkillText {
            examples: &examples,
            ..llm::SkillText::default()
        };
        let text = llm::CardText {
            name,
            description: "",
        };
        llm::AgentBrief::new(domain::AgentType::parse(name).unwrap(), text, [skill])
    };
    let type_of_jobs = report(1, "write a report on cranes").jobs[0]
        .agent_type
        .to_string();
    let does: &'static str = Box::leak(type_of_jobs.into_boxed_str());
    let cards = [
        card(
            does,
            &[
                "Write a report",
                "Schreibe einen Bericht",
                "Escribe un informe",
                "Rédige un rapport",
            ],
        ),
        card("orders", &["Wo ist meine Bestellung?"]),
    ];
    let names = known().with_examples(&cards);
    let here = [report(1, "write a report on cranes")];
    let chat = |here| Chat {
        here,
        asked: None,
        elsewhere: Some(&[]),
        names: &names,
        heard: None,
        since: at(1_000),
    };
    for text in [
        "wie weit ist der Bericht?",
        "Wo bleibt mein Bericht?",
        "¿cómo va mi informe?",
        "où en est mon rapport ?",
    ] {
        assert_eq!(
            chat(&here).meaning(text),
            Meaning::Status(vec![&here[0]]),
            "{text}"
        );
        let nothing = Meaning::Nothing(Nothing::ToTell, None);
        assert_eq!(chat(&[]).meaning(text), nothing, "{text}");
    }
    // What an agent answers is asked of it.
    for text in ["Wie weit ist meine Bestellung?", "can you do a report?"] {
        let meant = chat(&[]).meaning(text);
        assert!(
            matches!(meant, Meaning::Request { .. }),
            "{text}: {}",
            meant.word()
        );
    }
}

#[test]
fn how_a_question_to_an_agent_is_doing_begins_nothing() {
    let names = Names::of(["Calendar", "calendar"]);
    let here = [task(1, "am I free on Friday?", "Calendar", None)];
    let chat = |here| Chat {
        here,
        asked: None,
        elsewhere: Some(&[]),
        names: &names,
        heard: None,
        since: at(1_000),
    };
    let text = "How is my calendar question doing?";
    assert_eq!(chat(&here).meaning(text), Meaning::Status(vec![&here[0]]));
    assert_eq!(chat(&[]).meaning(text), Meaning::Nothing(Nothing::ToTell, None));
}

#[test]
fn what_an_agent_asks_ends_a_status_once() {
    for (asked, end) in [
        ("Type the code.", "Type the code."),
        ("Which day?", "Which day?"),
        ("Say a day", "Say a day."),
    ] {
        let mut waits = task(
            1,
            "my calendar",
            "Calendar",
            Some((TaskState::InputRequired, asked)),
        );
        waits.status.state = TaskState::AuthRequired;
        let told = crate::rules::wording::described(&waits, false);
        assert!(
            told.ends_with(&format!(": {end}")) && !told.ends_with(".."),
            "{told}"
        );
    }
}
