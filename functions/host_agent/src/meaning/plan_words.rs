//! What a text answers to a plan that waits for its user. By closed lists alone: what is agreed to here is done.

use domain::{PlanStep, StepState, Task, TaskPlan};

use super::closed::{is_long, is_made_of, lower};
use super::{choices, lists};
use crate::rules::plans::{self, Asks};

/// What a user says to a plan that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlanAnswer {
    /// Begin.
    Go,
    /// Begin without these.
    Without(Vec<u32>),
    /// Try this one once more; all that failed where none is named.
    Retry(Option<u32>),
    /// Send what these steps would send.
    Allow(Vec<u32>),
    /// Do not send what these would.
    Refuse(Vec<u32>),
    /// It may be sent, but not only one thing waits for that.
    Which,
    /// Not this; go on without it.
    No,
}

/// What the text answers to the task's plan; none where it says something else.
pub(crate) fn answer(task: &Task, text: &str) -> Option<PlanAnswer> {
    let plan = task.plan.as_ref().filter(|_| !is_long(text))?;
    let words = lower(text);
    match plans::asks(task)? {
        Asks::ToStart => {
            if is_made_of(&words, lists::YES) || is_made_of(&words, lists::START) {
                return Some(PlanAnswer::Go);
            }
            let left_out = behind(&words, lists::WITHOUT)?;
            let numbers = named(plan, &left_out);
            (!numbers.is_empty()).then_some(PlanAnswer::Without(numbers))
        }
        Asks::ToAllow(steps) => allowed(&steps, &words),
        Asks::AfterFailure(_) => {
            if is_made_of(&words, lists::GO_ON) || behind(&words, lists::GO_ON_WITHOUT).is_some() {
                return Some(PlanAnswer::No);
            }
            // "Retry 2", "try 2 again".
            let number = words.iter().find_map(|word| word.parse::<u32>().ok());
            let is_number = |word: &String| word.parse::<u32>().is_ok();
            let said: Vec<String> = words.into_iter().filter(|word| !is_number(word)).collect();
            is_made_of(&said, lists::AGAIN)
                .then(|| PlanAnswer::Retry(number.map(|number| number.saturating_sub(1))))
        }
    }
}

/// What is said to what waits to be sent. Which steps are meant, a number says, or a word for all.
fn allowed(steps: &[&PlanStep], words: &[String]) -> Option<PlanAnswer> {
    let is_yes = |words: &[String]| is_made_of(words, lists::YES) || is_made_of(words, lists::START);
    if is_yes(words) {
        return Some(match steps {
            [only] => PlanAnswer::Allow(vec![only.number]),
            _ => PlanAnswer::Which,
        });
    }
    if let Some(rest) = behind(words, lists::YES).or_else(|| behind(words, lists::START)) {
        return meant(steps, &rest).map(PlanAnswer::Allow);
    }
    let rest = behind(words, lists::WITHOUT).or_else(|| behind(words, lists::NO))?;
    meant(steps, &rest).map(PlanAnswer::Refuse)
}

/// The steps that are named by their numbers, or all of them; none where anything else is said.
fn meant(steps: &[&PlanStep], words: &[String]) -> Option<Vec<u32>> {
    const TO: &[&str] = &["to", "for", "number"];
    let mut numbers = Vec::new();
    for word in words {
        let word = word.as_str();
        if lists::ALL.contains(&word) {
            numbers.extend(steps.iter().map(|step| step.number));
        } else if let Ok(number) = word.parse::<u32>() {
            let named = steps
                .iter()
                .find(|step| Some(step.number) == number.checked_sub(1))?;
            numbers.push(named.number);
        } else if !(lists::JOINING.contains(&word) || TO.contains(&word)) {
            return None;
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    (!numbers.is_empty()).then_some(numbers)
}

/// The words behind one of these, where the text begins so.
fn behind(words: &[String], ways: &[&str]) -> Option<Vec<String>> {
    let text = words.join(" ");
    let mut ways: Vec<&&str> = ways.iter().collect();
    ways.sort_by_key(|way| std::cmp::Reverse(way.len()));
    let way = ways
        .into_iter()
        .find(|way| text == ***way || text.starts_with(&format!("{way} ")))?;
    let count = way.split(' ').count();
    Some(words.get(count..).unwrap_or_default().to_vec())
}

/// The steps that are named: by number, or by words that stand in only one of them.
fn named(plan: &TaskPlan, words: &[String]) -> Vec<u32> {
    let open: Vec<_> = plan
        .wanted()
        .filter(|step| step.state == StepState::Planned)
        .collect();
    let told: Vec<String> = open
        .iter()
        .map(|step| format!("{} {} {}", step.agent_name, step.agent_type, step.instruction))
        .collect();
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    let pieces = words.split(|word| lists::JOINING.contains(&word.as_str()));
    let mut numbers = Vec::new();
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        let digits = piece.iter().filter_map(|word| word.parse::<u32>().ok());
        let mut found: Vec<u32> = digits
            .filter_map(|number| number.checked_sub(1))
            .filter(|number| open.iter().any(|step| step.number == *number))
            .collect();
        if found.is_empty() {
            let picked = choices::picked_alone(&told, &piece.join(" "));
            found.extend(picked.and_then(|at| open.get(at)).map(|step| step.number));
        }
        if found.is_empty() {
            // One that is not known: nothing is begun that the user may not want.
            return Vec::new();
        }
        numbers.extend(found);
    }
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use domain::{
        AgentId, AgentName, AgentType, Approval, ContextId, Job, JobState, Message, MessageId, NewTask,
        Owner, Part, PlanStep, RemoteUpdate, StepGuard, TaskId, TaskState, Tenant, Timestamp, UserWord,
    };

    use super::*;
    use crate::meaning::{Chat, Meaning};

    fn step(number: u32, agent_type: &str, instruction: &str, uses: &[u32]) -> PlanStep {
        PlanStep {
            number,
            agent_type: AgentType::parse(agent_type).unwrap(),
            agent_name: format!("{agent_type} agent"),
            instruction: instruction.to_owned(),
            after: Vec::new(),
            uses: uses.to_vec(),
            optional: false,
            state: StepState::Planned,
            turn: 0,
            guard: None,
        }
    }

    fn task() -> Task {
        let new = NewTask {
            id: TaskId::from_bytes([1; 16]),
            tenant: Tenant::parse("acme").unwrap(),
            agent: AgentName::parse("host").unwrap(),
            context_id: ContextId::parse("c").unwrap(),
            owner: Owner::parse("ada").unwrap(),
            message: Message::user(MessageId::parse("m").unwrap(), vec![Part::text("a trip")]),
            trace: None,
        };
        let mut task = Task::create(new, Timestamp::from_millis(0));
        task.plan = Some(TaskPlan {
            goal: "a trip".to_owned(),
            approval: Approval::Awaited,
            steps: vec![
                step(0, "weather", "Oslo next week", &[]),
                step(1, "airbnb", "a flat in Oslo for two", &[]),
                step(2, "report", "write it up", &[0, 1]),
            ],
        });
        task
    }

    #[test]
    fn a_plan_that_waits_is_started_by_closed_lists_alone() {
        let task = task();
        let without = |numbers: &[u32]| Some(PlanAnswer::Without(numbers.to_vec()));
        for (text, expected) in [
            ("go", Some(PlanAnswer::Go)),
            ("Yes, please!", Some(PlanAnswer::Go)),
            ("start it", Some(PlanAnswer::Go)),
            ("los", Some(PlanAnswer::Go)),
            ("vas y", Some(PlanAnswer::Go)),
            ("はい", Some(PlanAnswer::Go)),
            ("without the flat", without(&[1])),
            ("go without 2", without(&[1])),
            ("without the weather and the flat", without(&[0, 1])),
            ("leave out 3", without(&[2])),
            ("ohne 1", without(&[0])),
            // What is not known, or fits several, starts nothing.
            ("without Oslo", None),
            ("without the rocket", None),
            ("without 9", None),
            ("without", None),
            ("go to Rome instead", None),
            ("I would say go", None),
            ("yes, but for three people", None),
            ("the agent says: go", None),
            ("no", None),
        ] {
            assert_eq!(answer(&task, text), expected, "{text}");
        }
    }

    /// A task of these guarded steps.
    fn guarded(numbers: &[u32]) -> Task {
        let mut task = task();
        task.plan = Some(TaskPlan {
            goal: "a trip".to_owned(),
            approval: Approval::NotNeeded,
            steps: numbers
                .iter()
                .map(|number| PlanStep {
                    guard: Some(StepGuard {
                        agent: AgentId::from_bytes([1; 16]),
                        from: vec!["Calendar".to_owned()],
                        writes: false,
                        word: UserWord::Awaited,
                    }),
                    ..step(*number, "report", "Friday at ten", &[])
                })
                .collect(),
        });
        task.status.state = TaskState::InputRequired;
        let question = plans::question(&task).unwrap();
        task.status.message = Some(Message::agent_text(MessageId::derived("q"), question));
        task
    }

    #[test]
    fn what_waits_to_be_sent_is_allowed_and_refused_by_closed_lists_alone() {
        let (one, two) = (guarded(&[1]), guarded(&[1, 2]));
        let allow = |numbers: &[u32]| Some(PlanAnswer::Allow(numbers.to_vec()));
        let refuse = |numbers: &[u32]| Some(PlanAnswer::Refuse(numbers.to_vec()));
        for (text, of_one, of_two) in [
            ("yes", allow(&[1]), Some(PlanAnswer::Which)),
            ("Ja, bitte!", allow(&[1]), Some(PlanAnswer::Which)),
            ("adelante", allow(&[1]), Some(PlanAnswer::Which)),
            ("vas y", allow(&[1]), Some(PlanAnswer::Which)),
            ("kjør", allow(&[1]), Some(PlanAnswer::Which)),
            ("はい", allow(&[1]), Some(PlanAnswer::Which)),
            ("yes 2", allow(&[1]), allow(&[1])),
            ("yes 3", None, allow(&[2])),
            ("yes to all", allow(&[1]), allow(&[1, 2])),
            ("yes 2 and 3", None, allow(&[1, 2])),
            ("no 3", None, refuse(&[2])),
            ("without 2", refuse(&[1]), refuse(&[1])),
            // Anything more, and it is no word for this text.
            ("yes, but without the time", None, None),
            ("yes 2 to globex", None, None),
            ("the agent says yes", None, None),
            ("2", None, None),
            ("what is it?", None, None),
        ] {
            assert_eq!(
                (answer(&one, text), answer(&two, text)),
                (of_one, of_two),
                "{text}"
            );
        }
    }

    #[test]
    fn with_several_tasks_that_wait_a_yes_is_asked_back() {
        let mut other = guarded(&[1]);
        other.id = TaskId::from_bytes([2; 16]);
        let here = [guarded(&[1]), other];
        let chat = |here| Chat {
            here,
            asked: None,
            elsewhere: Some(&[]),
            since: Timestamp::from_millis(9),
        };
        for text in ["yes", "go", "start it"] {
            let which = Meaning::WhichWord(here.iter().collect());
            assert_eq!(chat(&here).meaning(text, None), which, "{text}");
            assert_eq!(
                chat(&here[1..]).meaning(text, None),
                Meaning::Answer(&here[1]),
                "{text}"
            );
        }
        assert_eq!(chat(&here[1..]).meaning("no", None), Meaning::Decline(&here[1]));
    }

    /// A task of which two steps have failed.
    fn failed() -> Task {
        let mut task = task();
        let failed = Job {
            state: JobState::Settled {
                remote_task_id: None,
                remote: RemoteUpdate::of(TaskState::Failed),
            },
            ..domain::testing::job(Timestamp::from_millis(0))
        };
        task.jobs = vec![failed];
        task.jobs.push(Job {
            number: 1,
            ..task.jobs[0].clone()
        });
        let plan = task.plan.as_mut().unwrap();
        plan.approve();
        plan.settle(&task.jobs);
        task
    }

    #[test]
    fn after_a_failure_it_is_tried_again_or_gone_on_without() {
        let task = failed();
        for (text, expected) in [
            ("retry 2", Some(PlanAnswer::Retry(Some(1)))),
            ("try 2 again", Some(PlanAnswer::Retry(Some(1)))),
            ("try again", Some(PlanAnswer::Retry(None))),
            ("go on without it", Some(PlanAnswer::No)),
            ("go on", Some(PlanAnswer::No)),
            ("continue", Some(PlanAnswer::No)),
            ("weiter ohne", Some(PlanAnswer::No)),
            ("what happened?", None),
            ("go", None),
            ("yes", None),
        ] {
            assert_eq!(answer(&task, text), expected, "{text}");
        }
    }

    /// What the question of a task that is in this language tells its user to say.
    fn told_words(mut task: Task, language: &str, quotes: [char; 2]) -> Vec<String> {
        let context = domain::UserContext {
            locale: Some(language.to_owned()),
            ..domain::UserContext::default()
        };
        for message in &mut task.history {
            message.parts = vec![Part::text("Oslo")];
            context.write(&mut message.metadata);
        }
        let question = plans::question(&task).unwrap();
        let quoted = question.lines().last().unwrap().split(quotes[0]).skip(1);
        let quoted = quoted.map(|rest| rest.split(quotes[1]).next().unwrap());
        quoted.map(|word| word.trim().to_owned()).collect()
    }

    #[test]
    fn what_a_question_tells_to_say_is_understood_in_its_language() {
        for (language, quotes) in [
            ("en", ['“', '”']),
            ("de", ['„', '“']),
            ("es", ['«', '»']),
            ("fr", ['«', '»']),
            ("ja", ['「', '」']),
        ] {
            for (task, words) in [
                (task(), 3),
                (guarded(&[1]), 2),
                (guarded(&[1, 2]), 3),
                (failed(), 4),
            ] {
                let told = told_words(task.clone(), language, quotes);
                assert_eq!(told.len(), words, "{language}: {told:?}");
                for word in told {
                    let said = lower(&word);
                    let ends = is_made_of(&said, lists::NO) || is_made_of(&said, lists::CANCEL);
                    // What leaves a part out goes with its number.
                    let known = [word.clone(), format!("{word} 2")]
                        .iter()
                        .any(|word| answer(&task, word).is_some());
                    assert!(known || ends, "{language}: {word}");
                }
            }
        }
    }

    /// The same said in the chat, where the task waits beside others.
    #[test]
    fn in_the_chat_an_answer_goes_to_the_plan_that_waits_and_a_request_does_not() {
        let mut waiting = task();
        waiting.status.state = TaskState::InputRequired;
        let question = plans::question(&waiting).unwrap();
        waiting.status.message = Some(Message::agent_text(MessageId::derived("q"), question));
        let here = [waiting];
        let chat = Chat {
            here: &here,
            asked: None,
            elsewhere: Some(&[]),
            since: Timestamp::from_millis(9),
        };
        for text in ["go", "yes", "start it", "without the flat", "ohne 1"] {
            assert_eq!(chat.meaning(text, None), Meaning::Answer(&here[0]), "{text}");
        }
        assert_eq!(chat.meaning("no", None), Meaning::Decline(&here[0]));
        assert_eq!(
            chat.meaning("cancel", None),
            Meaning::Cancel(vec![&here[0]], None)
        );
        let other = chat.meaning("What about my order 1001?", None);
        assert!(matches!(other, Meaning::Request { free: None, .. }), "{other:?}");

        // What was shown last is what something else may be about, where nobody is found for it.
        let mut shown = here.clone();
        let message = shown[0].status.message.as_mut().unwrap();
        message.metadata.insert(domain::PLAN_HASH.to_owned(), "h".into());
        let chat = Chat { here: &shown, ..chat };
        let Meaning::Request { free, .. } = chat.meaning("for three people, please", None) else {
            panic!("no request")
        };
        assert_eq!(
            free.map(|free| (free.task.id, free.open)),
            Some((shown[0].id, false))
        );
    }
}
