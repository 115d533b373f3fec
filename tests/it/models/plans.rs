//! Plans over several agents, as a user has them with a language model of either dialect: what runs at once, what waits for its
//! user, what is handed over, and what its user says to it.

use host_agent::PlanApproval;
use local::Options;
use reqwest::Method;
use serde_json::{Value, json};
use system_testing::models::BOTH;
use system_testing::{Local, User};

use super::walk::models;
use super::*;
use crate::scripted::{Scripted, Sent};

const TRIP: &str = "Trip to Oslo next week: weather, a flat for two, am I free?";
const TRIP_OF_TWO: &str = "Trip to Oslo next week: weather, a flat for two?";
const WEATHER: (&str, &str, &[u32]) = ("weather", "Will it rain in Oslo tomorrow?", &[]);
const FLAT: (&str, &str, &[u32]) = ("flats", "Find a flat in Oslo for two", &[]);
const CALENDAR: (&str, &str, &[u32]) = ("calendar", "Am I free next week?", &[]);
const ADDRESS: &str = "https://accounts.example/o/oauth2/auth?client_id=calendar";
const OVER: [&str; 4] = ["completed", "failed", "rejected", "canceled"];

/// A system whose hosts ask a scripted model, and the agents that stand in for those still to come.
struct Trip {
    local: Local,
    server: ModelServer,
    user: User,
    flats: Scripted,
    calendar: Scripted,
    writer: Scripted,
}

impl Trip {
    async fn start(dialect: Dialect, approval: PlanApproval, script: Vec<Reply>) -> Self {
        let server = ModelServer::start(script).await;
        let local = Local::start_as(Options {
            models: Some(models(dialect, &server, false, 1_000_000)),
            plan_approval: approval,
            ..Options::default()
        })
        .await;
        let place = |name: &str| local.endpoint(name).to_owned();
        let registry = (place("/registry"), place("/registry_token"));
        Self {
            flats: Scripted::registered(&registry, ("flats", "Flats"), FLAT.1).await,
            calendar: Scripted::registered(&registry, ("calendar", "Calendar"), CALENDAR.1).await,
            writer: Scripted::with_json(&registry, ("writer", "Writer"), "Write a report").await,
            user: local.user("acme"),
            server,
            local,
        }
    }

    /// What is asked for in a chat of its own, until its task waits or is over.
    async fn asked(&self, chat: &str, prompt: &str) -> Value {
        let id = self.user.chat(chat, "m", prompt).await.task_id();
        let rests = ["input-required"].iter().chain(&OVER);
        self.user.until(&id, &rests.copied().collect::<Vec<_>>()).await
    }

    /// What is said next in it. Gives its task as it is then.
    async fn said(&self, (chat, message): (&str, &str), words: &str, task: &Value) -> Value {
        // Which of a chat's tasks is older, its clock says.
        self.local.clock.advance(Duration::from_secs(1));
        self.user.chat(chat, message, words).await;
        self.user.task(id(task)).await
    }

    async fn start_plan(&self, user: &User, task: &Value, plan: &Value) -> system_testing::Answer {
        let path = format!("/api/tasks/{}/start", id(task));
        user.call(Method::POST, &path, Some(json!({ "plan": plan })))
            .await
    }

    /// How many messages the scripted agents got.
    fn got(&self) -> [usize; 3] {
        [&self.flats, &self.calendar, &self.writer].map(|agent| agent.sent().len())
    }

    async fn ends(&self, agent: &Scripted, sent: &Sent, state: &str, words: &str) {
        let (text, result) = match state {
            "COMPLETED" => (None, Some(words)),
            _ => (Some(words), None),
        };
        agent
            .reports(sent, &format!("TASK_STATE_{state}"), text, result)
            .await;
    }

    async fn done(&self, agent: &Scripted, count: usize, words: &str) {
        let sent = agent.nth(count).await;
        self.ends(agent, &sent, "COMPLETED", words).await;
    }
}

fn id(task: &Value) -> &str {
    task["id"].as_str().expect("an id")
}

/// The states of the jobs of a task, by their numbers.
fn jobs(task: &Value) -> Vec<(u64, &str)> {
    let jobs = task["jobs"].as_array().expect("jobs");
    let mut jobs: Vec<_> = jobs
        .iter()
        .map(|job| (job["number"].as_u64().unwrap(), job["state"].as_str().unwrap()))
        .collect();
    jobs.sort_unstable();
    jobs
}

fn message(task: &Value) -> &str {
    task["statusMessage"].as_str().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn three_jobs_run_at_once_one_waits_for_consent_while_two_finish_and_then_there_is_one_summary() {
    for dialect in BOTH {
        let script = vec![
            dialect.plans(&[WEATHER, FLAT, CALENDAR]),
            dialect.says("Oslo: dry, a flat by the park, and you are free."),
        ];
        let trip = Trip::start(dialect, PlanApproval::Never, script).await;
        let task = trip.user.begin(TRIP).await;
        let (flat, calendar) = (trip.flats.nth(1).await, trip.calendar.nth(1).await);
        let asks = format!("I need access to your calendar: {ADDRESS}");
        trip.ends(&trip.calendar, &calendar, "AUTH_REQUIRED", &asks).await;
        trip.ends(&trip.flats, &flat, "COMPLETED", "By the park").await;
        trip.user.until(&task, &["auth-required"]).await;
        let waiting = loop {
            let waiting = trip.user.task(&task).await;
            if jobs(&waiting)
                .iter()
                .filter(|(_, state)| *state == "completed")
                .count()
                == 2
            {
                break waiting;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        assert_eq!(
            jobs(&waiting),
            [(0, "completed"), (1, "completed"), (2, "auth-required")],
            "{waiting:#}"
        );
        assert_eq!(
            (&waiting["status"], &waiting["authUrl"]),
            (&json!("auth-required"), &json!(ADDRESS))
        );
        assert_eq!(trip.server.asked().len(), 1, "nobody is asked while a part waits");
        let steps = waiting["plan"]["steps"].as_array().expect("steps");
        assert_eq!((steps.len(), &waiting["plan"]["isApproved"]), (3, &json!(true)));

        trip.ends(&trip.calendar, &calendar, "COMPLETED", "Free on Monday")
            .await;
        let done = trip.user.until(&task, &OVER).await;
        assert_eq!(done["status"], "completed", "{done:#}");
        assert!(message(&done).contains("and you are free."), "{done:#}");
        let asked = trip.server.asked();
        assert_eq!(asked.len(), 2, "{dialect:?}: one step to plan, one to answer");
        let shown = asked[1].body["messages"].to_string();
        for result in ["By the park", "Free on Monday", "Oslo"] {
            assert!(shown.contains(result), "{result}: {shown}");
        }
        assert_eq!(trip.got(), [1, 1, 0]);
        trip.local.system.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_needs_the_others_gets_their_results_as_data() {
    for dialect in BOTH {
        let report = ("writer", "Write a report on the trip", &[0, 1, 2][..]);
        let script = vec![
            dialect.plans(&[WEATHER, FLAT, CALENDAR, report]),
            dialect.says("The report is there."),
        ];
        let trip = Trip::start(dialect, PlanApproval::Never, script).await;
        let task = trip
            .user
            .begin(&format!("{TRIP} Then write a report on it."))
            .await;
        trip.done(&trip.flats, 1, "By the park").await;
        let calendar = trip.calendar.nth(1).await;
        assert!(trip.writer.sent().is_empty(), "it needs all three");
        trip.ends(&trip.calendar, &calendar, "COMPLETED", "Free on Monday")
            .await;
        // The calendar is private and the writer open: no model decides that alone.
        let asks = trip.user.until(&task, &["input-required"]).await;
        assert!(message(&asks).contains("answered:\nFree on Monday"), "{asks:#}");
        let chats = trip.user.get("/api/chats").await.json();
        let chat = chats["chats"][0]["id"].as_str().expect("the chat").to_owned();
        trip.said((&chat, "m2"), "yes", &asks).await;
        let sent = trip.writer.nth(1).await;
        assert_eq!(sent.text, "Write a report on the trip");
        let results = sent.parts[1]["data"]["results"].as_array().expect("results");
        let steps: Vec<_> = results.iter().map(|result| result["step"].as_u64()).collect();
        assert_eq!(steps, [Some(1), Some(2), Some(3)], "{results:#?}");
        assert_eq!(
            (&results[1]["agent"], &results[1]["text"], &results[2]["text"]),
            (&json!("Flats"), &json!("By the park"), &json!("Free on Monday"))
        );
        trip.done(&trip.writer, 1, "A report on Oslo").await;
        let done = trip.user.until(&task, &OVER).await;
        assert_eq!(done["status"], "completed", "{done:#}");
        assert!(
            done["artifacts"].to_string().contains("A report on Oslo"),
            "{done:#}"
        );
        assert_eq!((trip.got(), trip.server.asked().len()), ([1, 1, 1], 2));
        trip.local.system.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_waits_for_its_button_which_starts_the_plan_that_was_shown_and_no_other() {
    for dialect in BOTH {
        let change = json!({"number": 1, "message": "Find a flat in Oslo for three"});
        let script = vec![
            dialect.plans(&[WEATHER, FLAT]),
            // Taken for a request first; where that brings nobody, it is about the plan.
            dialect.says("What is for three people?"),
            dialect.calls([("update_task", change)]),
            dialect.says("All is well."),
        ];
        let trip = Trip::start(dialect, PlanApproval::Always, script).await;
        let shown = trip.asked("c", TRIP_OF_TWO).await;
        assert_eq!(shown["status"], "input-required", "{shown:#}");
        assert!(
            message(&shown).contains("2. Flats: Find a flat in Oslo for two"),
            "{shown:#}"
        );
        let first = &shown["plan"]["hash"];
        assert_eq!(shown["plan"]["isApproved"], false);

        // Another plan asks again, and is not started by the button beside the first.
        let other = trip.said(("c", "m2"), "for three people, please", &shown).await;
        assert_eq!(
            (&other["status"], other["plan"]["hash"] == *first),
            (&json!("input-required"), false)
        );
        assert!(message(&other).contains("for three"), "{other:#}");
        for (user, plan, status, error) in [
            (&trip.user, first, 409, "plan_changed"),
            (&trip.user, &json!("rubbish"), 409, "plan_changed"),
            (&trip.user, &Value::Null, 400, "plan_missing"),
            (&trip.local.user("acme"), &other["plan"]["hash"], 404, "not_found"),
            (
                &trip.local.user("globex"),
                &other["plan"]["hash"],
                404,
                "not_found",
            ),
        ] {
            let refused = trip.start_plan(user, &other, plan).await;
            let told = (refused.status.as_u16(), refused.json()["error"].clone());
            assert_eq!(told, (status, json!(error)));
        }
        assert_eq!(trip.got(), [0, 0, 0], "nothing has begun");

        let hash = &other["plan"]["hash"];
        for _ in 0..3 {
            let started = trip.start_plan(&trip.user, &other, hash).await;
            assert_eq!(started.status, 200, "{started:?}");
        }
        trip.done(&trip.flats, 1, "Three rooms").await;
        let done = trip.user.until(id(&other), &OVER).await;
        assert_eq!(
            (&done["status"], done["plan"]["isApproved"].clone()),
            (&json!("completed"), json!(true))
        );
        assert_eq!(trip.flats.sent()[0].text, "Find a flat in Oslo for three");
        assert_eq!((trip.got(), trip.server.asked().len()), ([1, 0, 0], 4));
        let again = trip.start_plan(&trip.user, &other, hash).await;
        assert_eq!(again.status, 200, "it was started, and is over: {again:?}");
        // The button said nothing in the chat, and its task's answer is there once.
        let messages = trip.user.get("/api/chats/c/messages").await.json();
        let messages = messages.as_array().expect("messages");
        let said = messages
            .iter()
            .filter(|message| message["role"] == "user")
            .count();
        let parts = messages
            .iter()
            .flat_map(|message| message["parts"].as_array().unwrap());
        let texts = parts.filter(|part| part["text"] == "All is well.").count();
        assert_eq!((said, texts), (2, 1), "{messages:#?}");
        trip.local.system.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_over_two_steps_waits_and_its_user_goes_leaves_out_or_cancels_by_words() {
    for dialect in BOTH {
        let three = || dialect.plans(&[WEATHER, FLAT, CALENDAR]);
        let script = vec![
            dialect.plans(&[WEATHER, FLAT]),
            dialect.says("Two are done."),
            three(),
            dialect.says("Without a flat."),
            three(),
            three(),
            dialect.says("All three."),
        ];
        let trip = Trip::start(dialect, PlanApproval::Over(2), script).await;
        let task = trip.user.begin("Oslo: weather and a flat").await;
        trip.done(&trip.flats, 1, "By the park").await;
        let done = trip.user.until(&task, &OVER).await;
        assert_eq!(done["status"], "completed", "two need nobody's word: {done:#}");

        let shown = trip.asked("without", TRIP).await;
        assert_eq!(shown["status"], "input-required", "{shown:#}");
        let (told, ()) = tokio::join!(
            trip.said(("without", "m2"), "without the flat", &shown),
            trip.done(&trip.calendar, 1, "Free on Monday")
        );
        assert_eq!(jobs(&told).len(), 2, "{told:#}");
        let done = trip.user.until(id(&shown), &OVER).await;
        assert_eq!(done["status"], "completed", "{done:#}");
        assert_eq!((trip.got(), trip.server.asked().len()), ([1, 1, 0], 4));

        let shown = trip.asked("cancel", TRIP).await;
        let told = trip.said(("cancel", "m2"), "cancel", &shown).await;
        assert_eq!(told["status"], "canceled", "{told:#}");
        assert_eq!(
            (trip.got(), trip.server.asked().len()),
            ([1, 1, 0], 5),
            "nobody was asked"
        );

        let shown = trip.asked("go", TRIP).await;
        let (_, (), ()) = tokio::join!(
            trip.said(("go", "m2"), "go", &shown),
            trip.done(&trip.flats, 2, "By the park"),
            trip.done(&trip.calendar, 2, "Free on Monday")
        );
        let done = trip.user.until(id(&shown), &OVER).await;
        assert!(message(&done).contains("All three."), "{done:#}");
        assert_eq!((trip.got(), trip.server.asked().len()), ([2, 2, 0], 7));
        trip.local.system.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_failed_is_tried_again_gone_on_without_or_called_off() {
    for dialect in BOTH {
        let plan = || dialect.plans(&[WEATHER, FLAT, ("writer", "Write a report on both", &[0, 1])]);
        let script = vec![
            plan(),
            dialect.says("Now it is there."),
            plan(),
            dialect.says("A report on the weather."),
            plan(),
        ];
        let trip = Trip::start(dialect, PlanApproval::Never, script).await;
        for (round, chat, words) in [
            (1, "again", "retry 2"),
            (2, "without", "go on without it"),
            (3, "off", "cancel"),
        ] {
            let sent = trip.flats.sent().len();
            let reports = trip.writer.sent().len();
            let (asked, ()) = tokio::join!(trip.asked(chat, TRIP), async {
                let sent = trip.flats.nth(sent + 1).await;
                trip.ends(&trip.flats, &sent, "FAILED", "no flat is free").await;
            });
            assert_eq!(asked["status"], "input-required", "{asked:#}");
            let told = message(&asked);
            for part in [
                "2. Flats: no flat is free",
                "\u{201c}retry 2\u{201d}",
                "go on without it",
                "cancel",
            ] {
                assert!(told.contains(part), "{part}: {told}");
            }
            assert_eq!(
                trip.server.asked().len(),
                2 * round - 1,
                "no model is asked about that"
            );
            let (_, ()) = tokio::join!(trip.said((chat, "m2"), words, &asked), async {
                if words == "retry 2" {
                    trip.done(&trip.flats, sent + 2, "By the park").await;
                }
                if words != "cancel" {
                    trip.done(&trip.writer, reports + 1, "A report").await;
                }
            });
            let done = trip.user.until(id(&asked), &OVER).await;
            let state = if words == "cancel" {
                "canceled"
            } else {
                "completed"
            };
            assert_eq!(done["status"], state, "{words}: {done:#}");
        }
        let results = |sent: &Sent| sent.parts[1]["data"]["results"].as_array().unwrap().len();
        let reports: Vec<usize> = trip.writer.sent().iter().map(results).collect();
        assert_eq!(reports, [2, 1], "with the flat, and without it");
        assert_eq!((trip.got(), trip.server.asked().len()), ([4, 0, 2], 5));
        trip.local.system.stop().await;
    }
}
