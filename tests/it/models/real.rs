//! A real small model before the whole system, as `tests/run model-real` starts it: plans that their user approves, and an order
//! with consent. Figures for the reader: what a small model decides is not ours to fix, but what is done is.

use std::time::{Duration, Instant};

use edge::config::Env;
use host_agent::PlanApproval;
use local::{Models, Options};
use reqwest::Method;
use serde_json::{Value, json};
use system_testing::{Local, User};

use crate::consent::{agree, link, profile};

/// What needs two agents, and a word that the answer must have.
const PLANS: [(&str, &str); 3] = [
    (
        "Will it rain in Oslo tomorrow, and which flat in Oslo is there from 9 to 11 January for two people?",
        "Oslo",
    ),
    (
        "Give me the weather in Bergen tomorrow, and write a report in 2 steps about umbrellas.",
        "Bergen",
    ),
    (
        "I need a flat in Lisbon for 2 people from 9 to 12 January and the weather in Lisbon tomorrow.",
        "Lisbon",
    ),
];
const ORDER: &str = "Where is my order 1003?";
const RESTS: [&str; 6] = [
    "completed",
    "failed",
    "rejected",
    "canceled",
    "auth-required",
    "input-required",
];
/// Looks for a task that rests, and what lies between two.
const PATIENCE: usize = 600;
const LOOK: Duration = Duration::from_millis(500);

/// What became of one walk.
struct Walk {
    said: &'static str,
    states: Vec<String>,
    is_right: bool,
    seconds: f64,
}

impl std::fmt::Display for Walk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let right = if self.is_right { "right" } else { "not right" };
        let states = self.states.join(" → ");
        write!(f, "{right:9} {:5.1} s  {}: {states}", self.seconds, self.said)
    }
}

fn state(task: &Value) -> String {
    task["status"].as_str().expect("a state").to_owned()
}

/// The agents of its jobs, each once.
fn agents(task: &Value) -> Vec<&str> {
    let jobs = task["jobs"].as_array().map_or(&[][..], Vec::as_slice);
    let mut agents: Vec<&str> = jobs.iter().filter_map(|job| job["agentName"].as_str()).collect();
    agents.sort_unstable();
    agents.dedup();
    agents
}

/// A task once it rests: a small model on two busy cores takes its minutes.
async fn rests((local, user): (&Local, &User), id: &str, states: &[&str]) -> Value {
    for _ in 0..PATIENCE {
        let task = user.task(id).await;
        if states.contains(&task["status"].as_str().expect("a state")) {
            return task;
        }
        tokio::time::sleep(LOOK).await;
        // What is tried again is due by the clock.
        local.advance(LOOK).await;
    }
    panic!("{id} does not rest")
}

/// A task whose plan was started, once it rests again: what a small model left out its agent asks for.
async fn started((local, user): (&Local, &User), id: &str) -> Value {
    for _ in 0..PATIENCE {
        let task = rests((local, user), id, &RESTS).await;
        if task["plan"]["isApproved"] == true {
            return task;
        }
        local.advance(LOOK).await;
    }
    panic!("{id} is not started")
}

/// A plan, approved once it is shown. Nothing is handed out before.
async fn planned(local: &Local, user: &User, (said, word): (&'static str, &str)) -> Walk {
    let began = Instant::now();
    let id = user.begin(said).await;
    let shown = rests((local, user), &id, &RESTS).await;
    let mut states = vec![state(&shown)];
    let mut last = shown.clone();
    if shown["plan"]["isApproved"] == false {
        assert!(agents(&shown).is_empty(), "handed out unasked: {shown:#}");
        let path = format!("/api/tasks/{id}/start");
        let plan = json!({"plan": shown["plan"]["hash"]});
        user.call(Method::POST, &path, Some(plan)).await;
        last = started((local, user), &id).await;
        states.push(state(&last));
    }
    let is_right = states == ["input-required", "completed"]
        && agents(&last).len() == 2
        && last.to_string().contains(word);
    walk(said, states, is_right, began, &last)
}

/// An order: consent at the identity provider, then the answer by itself.
async fn ordered(local: &Local, user: &User) -> Walk {
    let began = Instant::now();
    let id = user.begin(ORDER).await;
    let mut last = rests((local, user), &id, &RESTS).await;
    let mut states = vec![state(&last)];
    if last["consent"]["agentName"] == "Horizon" {
        let mut browser = profile(user, local.endpoint("/tenants/acme/base"));
        agree(&mut browser, &link(&last), &local.endpoints()["users"]["acme"][0]).await;
        last = rests((local, user), &id, &RESTS[..4]).await;
        states.push(state(&last));
    }
    let is_right = states == ["auth-required", "completed"] && last["artifacts"].to_string().contains("1003");
    walk(ORDER, states, is_right, began, &last)
}

fn walk(said: &'static str, states: Vec<String>, is_right: bool, began: Instant, task: &Value) -> Walk {
    let seconds = began.elapsed().as_secs_f64();
    if !is_right {
        println!("{task:#}");
    }
    Walk {
        said,
        states,
        is_right,
        seconds,
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a real model is large: `tests/run model-real` fetches it, then runs this"]
async fn a_real_model_leads_plans_that_are_approved_and_an_order_with_consent() {
    let mut env = Env::process();
    let name: String = env
        .required("SWITCHYARD_MODEL")
        .expect("the model's name, as `switchyard up` takes it");
    let models = Models::named(&[name], &mut env).expect("a model");
    let local = Local::start_as(Options {
        models: Some(models),
        plan_approval: PlanApproval::Always,
        ..Options::default()
    })
    .await;
    let user = local.user("acme");
    let mut walks = Vec::new();
    for plan in PLANS {
        let walk = planned(&local, &user, plan).await;
        println!("{walk}");
        walks.push(walk);
    }
    let order = ordered(&local, &user).await;
    println!("{order}");
    walks.push(order);
    let lost = walks
        .iter()
        .find(|walk| walk.states.last().is_none_or(|last| last == "failed"));
    assert!(lost.is_none(), "a task failed behind a model that answers");
    local.system.stop().await;
}
