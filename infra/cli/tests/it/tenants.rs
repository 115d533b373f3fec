//! Tenants that come and go, and keys that are rotated, by the command line: while the system runs and while not.

use local::Endpoints;
use serde_json::{Value, json};

use crate::binary::{Up, out, sentence, switchyard};

fn listed(data: &str) -> String {
    let output = switchyard(&["tenant", "list", "--data", data]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    out(&output)
}

fn file(data: &str) -> Endpoints {
    let text = std::fs::read_to_string(format!("{data}/endpoints.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_tenant_is_added_and_removed_while_the_system_rests_and_while_it_runs() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let nothing = switchyard(&["tenant", "add", "initech", "--data", data]);
    assert!(sentence(&nothing).contains("start the system with `switchyard up`"));
    Up::start(place.path(), &[]).end("TERM");

    let added = switchyard(&["tenant", "add", "initech", "--data", data]);
    assert_eq!(added.status.code(), Some(0), "{added:?}");
    let told = out(&added);
    let password = told
        .split("sign in as demo with ")
        .nth(1)
        .unwrap()
        .trim()
        .to_owned();
    let twice = switchyard(&["tenant", "add", "initech", "--data", data]);
    assert!(sentence(&twice).contains("there is a tenant initech already"));
    let removed = switchyard(&["tenant", "remove", "globex", "--data", data]);
    assert_eq!(removed.status.code(), Some(0), "{removed:?}");
    let names: Vec<String> = listed(data)
        .lines()
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["acme", "initech"]);

    let up = Up::start(place.path(), &[]);
    let served: Vec<&str> = up.endpoints.tenants.keys().map(|name| name.name()).collect();
    assert_eq!(served, ["acme", "initech"], "also a demo tenant stays away");
    let users = &up.endpoints.users.values().next_back().unwrap();
    assert_eq!(users[0].password, password);

    let added = switchyard(&["tenant", "add", "umbrella", "--data", data]);
    assert_eq!(added.status.code(), Some(0), "{added:?}");
    let after = file(data);
    let base = after.tenants.values().next_back().unwrap().base.to_string();
    assert!(
        out(&added).contains(&base) && base.ends_with("/t/umbrella"),
        "{added:?}"
    );
    assert!(listed(data).contains(&base));
    let umbrella = |what: &str, more: &[&str]| {
        switchyard(&[&["tenant", what, "umbrella", "--data", data][..], more].concat())
    };
    let set = umbrella("set", &["timeZone=Europe/Oslo", "locale=nb"]);
    assert!(out(&set).contains("umbrella: locale=nb"), "{set:?}");
    assert!(listed(data).contains("/t/umbrella  locale=nb  timeZone=Europe/Oslo"));
    for (wrong, words) in [
        (
            "colour=red",
            "there is no setting \"colour\"; there are locale, timeZone",
        ),
        ("locale=en_GB", "locale must be a BCP 47 tag"),
        ("locale", "write it as KEY=VALUE"),
        ("PLAN_APPROVAL=sometimes", "PLAN_APPROVAL is not valid"),
        ("SIGN_IN_ISSUERS=A B", "SIGN_IN_ISSUERS is not valid"),
        ("TENANT_PREFIX=globex", "there is no setting \"TENANT_PREFIX\""),
    ] {
        let refused = umbrella("set", &["timeZone=Asia/Tokyo", wrong]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(
            String::from_utf8_lossy(&refused.stderr).contains(words),
            "{refused:?}"
        );
    }
    assert_eq!(umbrella("unset", &["locale", "timeZone"]).status.code(), Some(0));
    assert!(!listed(data).contains('='), "{}", listed(data));
    let aws = umbrella("set", &["timeZone=Europe/Oslo", "--aws"]);
    assert_eq!(
        out(&aws).trim(),
        "infra/deploy.sh settings umbrella 'prod' 'timeZone=Europe/Oslo'"
    );
    let models = r#"MODELS=[{"kind":"bedrock","model":"eu.amazon.nova-pro-v1:0"},{"kind":"rules"}]"#;
    let aws = umbrella("set", &[models, "--aws"]);
    assert_eq!(
        out(&aws).trim(),
        format!("infra/deploy.sh settings umbrella 'prod' '{models}'")
    );
    assert_eq!(umbrella("set", &["PLAN_APPROVAL=always"]).status.code(), Some(0));
    assert!(listed(data).contains("PLAN_APPROVAL=always"), "{}", listed(data));
    assert_eq!(umbrella("unset", &["PLAN_APPROVAL"]).status.code(), Some(0));
    let usage = |more: &[&str]| switchyard(&[&["usage", "--data", data, "--tenant"], more].concat());
    assert_eq!(
        out(&usage(&["umbrella"])).trim(),
        "umbrella: no limit of its own: what its deployment allows\n\
         today 0 tasks, 0 at work; this month 0.000000 dollars of ended tasks; about 0 MB are kept\n\
         no language model was asked in these days"
    );
    let limited = umbrella("set", &["tokens_per_day=250000"]);
    assert_eq!(limited.status.code(), Some(0), "{limited:?}");
    assert!(out(&usage(&["umbrella"])).starts_with("umbrella: limit 250,000 tokens a day (UTC)\n"));
    assert_eq!(
        out(&usage(&["umbrella", "--json"])).trim(),
        r#"{"days":[],"limit":250000,"now":{"guests":0,"microDollars":0,"running":0,"stored":0,"tasks":0},"spent":[]}"#
    );
    let everybody = out(&switchyard(&["usage", "--data", data, "--json"]));
    let everybody: serde_json::Value = serde_json::from_str(&everybody).unwrap();
    assert_eq!(everybody["umbrella"]["limit"], 250_000);
    assert!(everybody.as_object().unwrap().len() > 1, "{everybody}");
    let rows = out(&switchyard(&["usage", "--data", data, "--csv"]));
    assert!(rows.starts_with("day,tenant,owner,agent,tasks"), "{rows}");
    assert!(sentence(&usage(&["nobody"])).contains("there is no tenant nobody here"));
    assert_eq!(usage(&["umbrella", "--days", "367"]).status.code(), Some(2));
    let chat = switchyard(&[
        "chat",
        "--tenant",
        "umbrella",
        "--data",
        data,
        "Weather in Oslo today?",
    ]);
    assert_eq!(chat.status.code(), Some(0), "{chat:?}");
    assert!(out(&chat).contains("Oslo"), "{chat:?}");
    let removed = switchyard(&["tenant", "remove", "umbrella", "--data", data]);
    assert_eq!(removed.status.code(), Some(0), "{removed:?}");
    assert_eq!(
        file(data),
        Endpoints {
            ..up.endpoints.clone()
        }
    );
    let purge = |name: &str| switchyard(&["tenant", "purge", name, "--data", data]);
    let purged = purge("umbrella");
    assert_eq!(purged.status.code(), Some(0), "{purged:?}");
    let told = out(&purged);
    assert!(told.starts_with("umbrella."), "{told}");
    for words in [
        " items removed (",
        " of tasks",
        " of sessions",
        "nothing is left now",
    ] {
        assert!(told.contains(words), "{told}");
    }
    assert_eq!(
        out(&purge("umbrella")),
        told,
        "again: nothing more, and the same count"
    );
    for here in ["acme", "nobody"] {
        let refused = sentence(&purge(here));
        let words = format!("nothing is left of a removed tenant {here}");
        assert!(refused.contains(&words), "{refused}");
    }
    drop(up);

    for (arguments, words) in [
        (&["tenant", "add", "acme"][..], "there is a tenant acme already"),
        (
            &["tenant", "remove", "nobody"],
            "there is no tenant nobody here; there are acme, initech",
        ),
    ] {
        let output = switchyard(&[arguments, &["--data", data]].concat());
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(sentence(&output).contains(words), "{output:?}");
    }
    let resting = switchyard(&["tenant", "set", "acme", "locale=nb", "--data", data]);
    assert!(sentence(&resting).contains("start the system"), "{resting:?}");
    let resting = switchyard(&["tenant", "purge", "umbrella", "--data", data]);
    assert!(sentence(&resting).contains("start the system"), "{resting:?}");
    switchyard(&["tenant", "remove", "initech", "--data", data]);
    let last = switchyard(&["tenant", "remove", "acme", "--data", data]);
    assert!(sentence(&last).contains("acme is the last tenant and stays"));
    for name in ["public", "global", "Acme", "a b", "a", "", "-x", "a/b", "a#b"] {
        let output = switchyard(&["tenant", "add", "--data", data, "--", name]);
        assert_eq!(output.status.code(), Some(2), "{name}");
    }
    assert_eq!(listed(data).lines().count(), 1);
}

#[test]
fn keys_are_rotated_at_rest_and_running_but_not_too_soon() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let secrets = || -> Value {
        let text = std::fs::read_to_string(place.path().join("secrets.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let rotate = |more: &[&str]| switchyard(&[&["keys", "rotate", "--data", data][..], more].concat());
    let up = Up::start(place.path(), &[]);
    let before = secrets();
    let rotated = rotate(&["--sealing"]);
    assert_eq!(rotated.status.code(), Some(0), "{rotated:?}");
    let now = secrets();
    assert_eq!(now["sealing_keys"][0][0], "k2");
    assert_eq!(now["sealing_keys"][1], before["sealing_keys"][0]);
    assert_eq!(rotate(&["--tenant", "acme"]).status.code(), Some(0));
    assert!(sentence(&rotate(&["--tenant", "acme"])).contains("--force"));
    assert!(sentence(&rotate(&["--tenant", "nobody"])).contains("there is no tenant nobody"));
    up.end("TERM");

    assert_eq!(rotate(&[]).status.code(), Some(0));
    assert!(sentence(&rotate(&[])).contains("wait 15 minutes"));
    assert_eq!(rotate(&["--force"]).status.code(), Some(0));
    assert_ne!(secrets()["idp_keys"], before["idp_keys"]);
    assert_eq!(rotate(&["--sealing", "--tenant", "acme"]).status.code(), Some(2));
    Up::start(place.path(), &[]).end("TERM");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_platforms_own_token_for_it_changes_a_system() {
    let system = local::System::start(local::Options::default()).await.unwrap();
    let endpoints = system.endpoints();
    let admin = format!("{}admin", endpoints.gateway);
    let post = async |path: &str, token: Option<&str>, body: &str| {
        let url = format!("{admin}{path}");
        let mut request = crate::http::request(reqwest::Method::POST, url)
            .header("content-type", "application/json")
            .body(body.to_owned());
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let (initech, orders) = (r#"{"name": "initech"}"#, r#"{"orders": []}"#);
    let own = system.token("acme", "ada", &admin).unwrap();
    for token in [None, Some("x.y.z"), Some(&endpoints.registry_token), Some(&own)] {
        let (status, said) = post("/tenants", token, initech).await;
        assert_eq!(status, 401, "{said}");
        assert_eq!(post("/keys/rotate", token, r#"{"keys": "idp"}"#).await.0, 401);
        assert_eq!(post("/tenants/acme/orders", token, orders).await.0, 401);
    }
    let narrow = system.signed(
        local::Signer::Platform,
        "x",
        &admin,
        "registry:admin",
        std::time::Duration::ZERO,
    );
    assert_eq!(post("/tenants", narrow.as_deref(), initech).await.0, 403);
    assert_eq!(
        post("/tenants/acme/orders", narrow.as_deref(), orders).await.0,
        403
    );

    let patch = async |tenant: &str, token: Option<&str>, body: &str| {
        let request = crate::http::request(
            reqwest::Method::PATCH,
            format!("{admin}/tenants/{tenant}/settings"),
        )
        .header("content-type", "application/json")
        .body(body.to_owned());
        let request = token
            .into_iter()
            .fold(request, |request, token| request.bearer_auth(token));
        request.send().await.unwrap().status().as_u16()
    };
    let set = r#"{"locale": "nb"}"#;
    for token in [None, Some("x.y.z"), Some(&*endpoints.registry_token), Some(&*own)] {
        assert_eq!(patch("acme", token, set).await, 401);
    }
    assert_eq!(patch("acme", narrow.as_deref(), set).await, 403);

    let token = Some(endpoints.admin_token.as_str());
    for (tenant, body, status) in [
        ("acme", "", 400),
        ("acme", "[]", 422),
        ("acme", r#"{"locale": 1}"#, 422),
        ("acme", r#"{"locale": "nb", "colour": "red"}"#, 400),
        ("acme", r#"{"locale": "nb", "timeZone": "../etc"}"#, 400),
        ("nobody", set, 404),
        ("A%20B", set, 404),
    ] {
        assert_eq!(patch(tenant, token, body).await, status, "{tenant} {body}");
    }
    let told = crate::http::json(format!("{admin}/tenants"), token).await;
    assert_eq!(told["tenants"][0]["settings"], json!({}), "nothing changed");
    for (path, body) in [
        ("/tenants", ""),
        ("/tenants", "{}"),
        ("/tenants", r#"{"name": "public"}"#),
        ("/tenants", r#"{"name": "A B"}"#),
        ("/tenants", r#"{"name": "initech", "more": 1}"#),
        ("/tenants/acme/orders", ""),
        ("/tenants/acme/orders", r#"{"orders": 1}"#),
        ("/tenants/acme/orders", r#"{"orders": [{"id": "1"}]}"#),
        ("/tenants/nobody/orders", r#"{"orders": []}"#),
        ("/tenants/A%20B/orders", r#"{"orders": []}"#),
        ("/keys/rotate", r#"{"keys": "all"}"#),
        ("/keys/rotate", r#"{"keys": {"session": "nobody"}}"#),
        ("/nothing", "{}"),
    ] {
        let (status, said) = post(path, token, body).await;
        assert!((400..500).contains(&status), "{path} {body} {status}");
        assert!(
            serde_json::from_str::<Value>(&said).unwrap()["error"].is_string(),
            "{said}"
        );
    }
    assert_eq!(post("/tenants", token, r#"{"name": "acme"}"#).await.0, 409);
    assert_eq!(system.endpoints_now(), *endpoints, "nothing changed");
    let tenants = crate::http::json(format!("{admin}/tenants"), token).await;
    assert_eq!(tenants["tenants"][0]["name"], "acme");
    assert_eq!(
        tenants["tenants"][0]["endpoints"]["base"],
        json!(endpoints.tenants.values().next().unwrap().base)
    );
    system.stop().await;
}
