//! What asks for nothing, and whole messages of the closed lists.

use super::*;

#[test]
fn talk_asks_for_nothing_and_does_not_hide_what_follows_it() {
    for prompt in [
        "hello",
        "Hi there!",
        "good morning",
        "thanks!",
        "thank you!!",
        "thx 👍",
        "ok",
        "hm ok",
        "lol ok",
        "cheers, bye",
        "👋",
        "...",
        "hei",
        "takk",
        "who made you?",
        "are you an AI?",
        "how are you today",
        "just kidding 😄",
        "thanks, good night",
        "cheers mate",
        "ok bye",
        "perfect",
        "help",
        "What can you do?",
        "hi, what can you do?",
        "the weather was all i needed, thanks",
        "hello?",
        "Is that all then?",
        "ist das alles?",
    ] {
        assert!(
            matches!(read(prompt), Wish::Talk(_)),
            "{prompt}: {:?}",
            read(prompt)
        );
    }
    for (prompt, words) in [
        ("haha. Wellington then, tomorrow", "Wellington then, tomorrow"),
        ("pity. weather in Kiel then", "weather in Kiel then"),
        ("great, thank you so much, and in Olomouc?", "and in Olomouc?"),
        ("weather in Oslo", "weather in Oslo"),
        (
            "hi! weather in Porto and where's my order 1003?",
            "weather in Porto and where's my order 1003?",
        ),
    ] {
        assert_eq!(read(prompt), Wish::Words(words.to_owned()), "{prompt}");
    }
    for prompt in [
        "retry",
        "try again",
        "hmm, try again",
        "oops, that was a mistake. retry",
        "retry the printer",
    ] {
        assert!(
            matches!(read(prompt), Wish::Retry(_)),
            "{prompt}: {:?}",
            read(prompt)
        );
    }
}

#[test]
fn whole_messages_of_the_closed_lists_count_with_politeness_around_them_and_nothing_else() {
    for text in [
        "yes please",
        "ok, go ahead",
        "ja, bitte",
        "yes, do it!",
        "oui merci",
    ] {
        assert_eq!(read(text), Wish::Yes, "{text}");
    }
    for text in [
        "nah",
        "no, not now, thanks",
        "No, I don't want to.",
        "maybe later then",
        "nein danke",
        "ahora no, gracias",
        "non merci",
        "nei takk",
        "skip it for now",
    ] {
        assert_eq!(read(text), Wish::No, "{text}");
    }
    for text in [
        "yes and no",
        "say yes",
        "go to Oslo",
        "yes, cancel my order 1003",
        "no rain in Oslo?",
        "my boss said no",
        "later this week in Oslo",
        "no wind please",
    ] {
        assert!(
            !matches!(read(text), Wish::Yes | Wish::No),
            "{text}: {:?}",
            read(text)
        );
    }
}

#[test]
fn thanks_and_the_like_may_have_little_words_around_them() {
    for text in [
        "thanks a lot, you're great",
        "danke dir",
        "vielen Dank",
        "gracias, eso es todo",
        "merci beaucoup",
        "tusen takk",
        "ok, that was it",
        "hi again",
        "good night then",
        "great, that's what I needed",
        "was kannst du?",
        "what else can you do for me",
    ] {
        assert!(matches!(read(text), Wish::Talk(_)), "{text}: {:?}", read(text));
    }
    for text in [
        "hello, where is it?",
        "ok is it done yet",
        "super bowl results",
        "ok now Oslo",
        "how good is it?",
    ] {
        assert!(!matches!(read(text), Wish::Talk(_)), "{text}: {:?}", read(text));
    }
}

#[test]
fn what_is_of_no_matter_changes_nothing() {
    let there = [report(1, "report on tea")];
    let asked = || Question {
        to: Deed::Cancel,
        of: vec![there[0].id],
    };
    for text in [
        "no, leave it",
        "never mind",
        "oh, forget it then",
        "nein, vergiss es",
    ] {
        means_beside(&[], &there, Some(asked()), text, |meant| {
            matches!(meant, Meaning::Nothing(Nothing::ToDecline, None))
        });
    }
    means(&[], "oh never mind", |meant| {
        matches!(meant, Meaning::Nothing(Nothing::ToDecline, None))
    });
}

#[test]
fn small_talk_begins_nothing_and_answers_nothing() {
    let waits = || {
        task(
            1,
            "my calendar",
            "Calendar",
            Some((TaskState::InputRequired, "Which day?")),
        )
    };
    let over = || {
        task(
            1,
            "weather in Oslo",
            "Weather",
            Some((TaskState::Completed, "Rain.")),
        )
    };
    for text in [
        "Thanks, take your time",
        "No rush, enjoy your coffee",
        "haha ok",
        "haha no worries, take your time",
        "good morning, hope you slept well",
        "sounds good",
        "good job",
        "you're the best",
        "No worries!",
        "no problem",
        "see you tomorrow",
        "thanks, have a nice weekend",
        "I appreciate your help",
        "got it",
        "got it, thanks",
        "makes sense",
        "understood",
        "kein Stress",
        "danke, lass dir Zeit",
        "sin prisa",
        "pas de souci, merci",
        "prenez votre temps",
        "gracias de todas formas",
        "thanks anyway",
        "sorry for the delay",
        "alles klar",
    ] {
        for here in [Vec::new(), vec![over()], vec![waits()]] {
            means(&here, text, |meant| matches!(meant, Meaning::Talk(_)));
        }
    }
}

#[test]
fn thanks_behind_an_answer_do_not_hide_it() {
    for (text, words) in [
        ("dinner, sorry for the delay", "dinner"),
        ("weather in Oslo, thanks", "weather in Oslo"),
        ("Where is my order 1003? Thanks!", "Where is my order 1003?"),
        ("a flat for two, nice and quiet", "a flat for two, nice and quiet"),
    ] {
        assert_eq!(read(text), Wish::Words(words.to_owned()), "{text}");
    }
    assert!(matches!(read("nochmal versuchen"), Wish::Retry(_)));
}

#[test]
fn what_asks_for_something_behind_thanks_stays_a_request() {
    for text in [
        "Thanks, book lunch with Ines",
        "thanks, and in Bergen",
        "thanks, now the weather in Oslo",
        "thanks, and tomorrow",
        "great, find me a flat",
        "thanks, you could write a report",
        "I need you to write about tea",
        "ok, tell me a joke",
        "no snow please",
        "great apes",
        "good restaurants nearby",
        "thanks, your forecast for tomorrow",
        "can you do your job",
        "your mother",
        "good, 1005",
    ] {
        means(&[], text, |meant| matches!(meant, Meaning::Request { .. }));
    }
}
