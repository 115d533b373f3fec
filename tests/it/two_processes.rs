//! Two processes of one function, as Lambda has them: what one of them is told reaches the run in the other.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use system_testing::Local;
use system_testing::runtime_api::{Reply, Sandbox, Spec, program};
use tokio::net::TcpListener;

/// A call of the agent's JSON-RPC as its function gets it.
fn event(token: &str, method: &str, params: Value) -> Value {
    let path = system_testing::folder().join("../events/weather_agent/send_message.json");
    let mut event: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    event["headers"]["Authorization"] = format!("Bearer {token}").into();
    event["multiValueHeaders"]["Authorization"] = json!([format!("Bearer {token}")]);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    event["body"] = body.to_string().into();
    event
}

fn answered(reply: Reply) -> Value {
    let Reply::Answer(answer) = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(answer["statusCode"], 200, "{answer}");
    serde_json::from_str(answer["body"].as_str().unwrap()).unwrap()
}

/// The settings of the weather agent's function, with a forecast service at this address.
async fn settings(local: &Local, forecasts: &str) -> BTreeMap<String, String> {
    let url = format!("{}admin/environments/acme", local.endpoint("/gateway"));
    let asked = system_testing::user::http()
        .get(url)
        .bearer_auth(local.endpoint("/admin_token"));
    let all: Value = asked.send().await.unwrap().json().await.unwrap();
    let mut settings: BTreeMap<String, String> =
        serde_json::from_value(all["WeatherAgentFunction"].clone()).unwrap();
    for place in ["OPEN_METEO_GEOCODING_URL", "OPEN_METEO_FORECAST_URL"] {
        settings.insert(place.to_owned(), forecasts.to_owned());
    }
    settings
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_at_one_process_ends_the_run_in_the_other_within_two_seconds() {
    let local = Local::start_now().await;
    // It takes every question and answers none.
    let service = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", service.local_addr().unwrap());
    let settings = settings(&local, &address).await;
    let token = local.system.token("acme", "ada", &settings["AGENT_URL"]).unwrap();
    let spec = Spec {
        name: "weather".to_owned(),
        binary: program("weather_agent"),
        environment: settings,
        timeout: Duration::from_secs(60),
        memory: 256,
        isolated: false,
    };
    let logs = tempfile::tempdir().unwrap();
    let runs = Sandbox::start(&spec, logs.path()).await;
    let told = Sandbox::start(&spec, logs.path()).await;
    runs.ready().await;
    told.ready().await;

    let message = json!({"role": "ROLE_USER", "messageId": "8a1f6f1e-0b6f-4a52-9e0c-2f4a4c1f3a10",
        "parts": [{"text": "Will it rain in Oslo tomorrow?"}]});
    let send = event(&token, "SendMessage", json!({ "message": message }));
    let run = tokio::spawn(async move {
        let reply = runs.invoke(send).await;
        (answered(reply), Instant::now(), runs)
    });
    // It is in the middle of its work.
    let (_question, _) = service.accept().await.unwrap();

    let listed = answered(told.invoke(event(&token, "ListTasks", json!({}))).await);
    let task = &listed["result"]["tasks"][0];
    let state = task["status"]["state"].as_str();
    let open = ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"];
    assert!(state.is_some_and(|state| open.contains(&state)), "{listed}");
    let begun = Instant::now();
    let cancel = event(&token, "CancelTask", json!({"id": task["id"]}));
    let canceled = answered(told.invoke(cancel).await);
    assert_eq!(
        canceled["result"]["status"]["state"], "TASK_STATE_CANCELED",
        "{canceled}"
    );
    let (answer, ended, _runs) = run.await.unwrap();
    let took = ended - begun;
    assert_eq!(
        answer["result"]["task"]["status"]["state"], "TASK_STATE_CANCELED",
        "{answer}"
    );
    assert!(took < Duration::from_secs(2), "the run went on for {took:?}");
    local.system.stop().await;
}
