//! `switchyard eval` and `GET /api/ops/eval`: what would become of texts, while nothing does.

use serde_json::Value;
use system_testing::Local;

use crate::rubbish::cookie_of;

#[tokio::test(flavor = "multi_thread")]
async fn a_labelled_set_is_played_and_no_task_is_made() {
    let local = Local::start_now().await;
    // The engine is there, and every agent is known.
    let user = local.user("acme");
    let _task = user.ask("Will it rain in Oslo tomorrow?").await.task_id();
    let stored = local.system.stored_items().expect("counted");
    let place = tempfile::tempdir().expect("a folder");
    let (list, wrong) = (
        place.path().join("endpoints.json"),
        place.path().join("wrong.jsonl"),
    );
    std::fs::write(&list, local.endpoints().to_string()).expect("it is written");
    std::fs::write(
        &wrong,
        r#"{"prompt": "Will it rain in Oslo?", "agents": ["horizon"]}"#,
    )
    .expect("it is written");
    let set = system_testing::folder().join("../docs/eval.jsonl");
    let played = tokio::task::spawn_blocking(move || {
        let list = list.to_str().expect("a path");
        let eval = |file: &std::path::Path, more: &[&str]| {
            let file = file.to_str().expect("a path");
            let all = ["eval", file, "--tenant", "acme", "--endpoints", list];
            system_testing::binary::run(&[&all[..], more].concat())
        };
        let nothing = list.replace("endpoints.json", "nothing.jsonl");
        std::fs::write(&nothing, "{}\n").expect("it is written");
        (
            eval(&set, &["--least", "100", "--json"]),
            eval(&wrong, &["--least", "1"]),
            eval(nothing.as_ref(), &[]),
        )
    });
    let (right, wrong, nothing) = played.await.expect("each is played");
    let shown = |output: &std::process::Output| {
        let both = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        both.concat()
    };
    assert!(right.status.success(), "{}", shown(&right));
    let figures: Value = serde_json::from_slice(&right.stdout).expect("JSON");
    assert_eq!(
        (&figures["rows"], &figures["right"]),
        (&8.into(), &8.into()),
        "{figures:#}"
    );
    assert_eq!(
        (&figures["rightData"], &figures["withData"]),
        (&4.into(), &4.into())
    );
    assert_eq!((&figures["wrong"], &figures["tokens"]), (&0.into(), &0.into()));
    let told = shown(&wrong);
    assert_eq!(wrong.status.code(), Some(1), "{told}");
    assert!(told.contains("✗ Will it rain in Oslo?: send weather"), "{told}");
    assert!(told.contains("wrong         1/1"), "{told}");
    assert!(shown(&nothing).contains("line 1: missing field `prompt`"));
    assert_eq!(local.system.stored_items().expect("counted"), stored);

    let base = local
        .endpoint("/tenants/acme/base")
        .trim_end_matches('/')
        .to_owned();
    let olga = cookie_of(&local, "olga").await;
    let ask = async |say: &str| {
        let url = reqwest::Url::parse_with_params(&format!("{base}/api/ops/eval"), [("say", say)]);
        let request = system_testing::user::http().get(url.expect("a URL"));
        let answer = request.header("cookie", &olga).send().await.expect("an answer");
        (
            answer.status().as_u16(),
            answer.json::<Value>().await.expect("JSON"),
        )
    };
    let (status, told) = ask("Where is my order 1003?").await;
    assert_eq!(
        (status, &told["act"], &told["sends"][0]["agent"]),
        (200, &"send".into(), &"horizon".into())
    );
    for refused in ["", &"x".repeat(2_001)] {
        let (status, told) = ask(refused).await;
        assert_eq!(
            (status, &told["error"]),
            (400, &"invalid_request".into()),
            "{told}"
        );
    }
    local.system.stop().await;
}
