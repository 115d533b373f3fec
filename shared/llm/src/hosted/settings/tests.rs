//! What may stand in a list of models, and what is said of what may not.

use domain::SystemEntropy;
use outbound::Policy;

use super::*;

fn list(text: &str) -> Result<ModelList, String> {
    text.parse().map_err(|error: ModelListError| error.to_string())
}

fn built(text: &str, keys: &[(&str, &str)]) -> Result<Arc<dyn Model>, ModelListError> {
    let outbound = Outbound::new(Policy::default(), Arc::new(SystemEntropy));
    let parts = ModelParts {
        engine: nlu::Slot::default(),
        budget: Arc::new(crate::Unlimited),
        outbound: &outbound,
        entropy: Arc::new(SystemEntropy),
        aws: Arc::new(|_| unreachable!("a client is made at the first call")),
        keys: keys
            .iter()
            .map(|(name, key)| ((*name).to_owned(), (*key).into()))
            .collect(),
    };
    text.parse::<ModelList>()?.build(&parts)
}

#[test]
fn models_are_read_in_their_order() {
    let told = list(
        r#"[{"kind": "openai", "url": "http://10.0.0.7:8000/v1", "model": "llama", "key": "k", "first_byte": 0.5, "idle": 60},
            {"kind": "bedrock", "model": "eu.amazon.nova-pro-v1:0", "region": "eu-north-1", "max_tokens": 1000},
            {"kind": "rules"}]"#,
    );
    let told = told.unwrap();
    let [
        Setting::OpenAi { bounds, .. },
        Setting::Bedrock { .. },
        Setting::Rules,
    ] = told.0.as_slice()
    else {
        panic!("{told:?}");
    };
    assert_eq!(bounds.limits.first_byte, Duration::from_millis(500));
    assert_eq!((bounds.answer, bounds.prompt), (ANSWER, PROMPT));
    let hosted = built(
        r#"[{"kind": "bedrock", "model": "m", "first_byte": 300, "prompt_tokens": 4000}]"#,
        &[],
    );
    let hosted = hosted.unwrap();
    assert!(hosted.is_hosted() && !hosted.goes_on());
    assert_eq!(hosted.longest(), Duration::from_secs(355));
}

#[test]
fn what_is_wrong_is_said_and_never_quoted() {
    for (text, expected) in [
        ("", "not the JSON"),
        ("hunter2", "not the JSON"),
        ("{}", "not the JSON"),
        (r#"[{"kind": "openai", "api_key": "hunter2"}]"#, "not the JSON"),
        (r#"["hunter2"]"#, "not the JSON"),
        ("[]", "1 to 8"),
        (r#"[{"kind": "hunter2"}]"#, "model 1: its kind"),
        (
            r#"[{"kind": "rules"}, {"kind": "rules"}]"#,
            "model 1: rules always answer",
        ),
        (r#"[{"kind": "rules", "key": "hunter2"}]"#, "have no settings"),
        (r#"[{"kind": "bedrock"}]"#, "has no model"),
        (r#"[{"kind": "bedrock", "model": " "}]"#, "has no model"),
        (
            r#"[{"kind": "bedrock", "model": "m", "key": "hunter2"}]"#,
            "neither url nor key",
        ),
        (r#"[{"kind": "openai", "model": "m"}]"#, "has no url"),
        (
            r#"[{"kind": "openai", "model": "m", "url": "hunter2"}]"#,
            "has no url",
        ),
        (
            r#"[{"kind": "openai", "model": "m", "url": "ftp://hunter2/"}]"#,
            "not of http",
        ),
        (
            r#"[{"kind": "openai", "model": "m", "url": "https://u:hunter2@m.example/"}]"#,
            "user name",
        ),
        (
            r#"[{"kind": "openai", "model": "m", "url": "https://m.example/", "region": "r"}]"#,
            "region",
        ),
        (
            r#"[{"kind": "rules"}, {"kind": "openai", "url": "https://m.example/"}]"#,
            "model 1",
        ),
        (
            r#"[{"kind": "bedrock", "model": "m", "max_tokens": 1}]"#,
            "max_tokens",
        ),
        (
            r#"[{"kind": "bedrock", "model": "m", "prompt_tokens": 1}]"#,
            "prompt_tokens",
        ),
        (r#"[{"kind": "bedrock", "model": "m", "idle": -1}]"#, "seconds"),
        (
            r#"[{"kind": "bedrock", "model": "m", "first_byte": 1e300}]"#,
            "seconds",
        ),
    ] {
        let told = list(text).unwrap_err();
        assert!(
            told.contains(expected) && !told.contains("hunter2"),
            "{text}: {told}"
        );
    }
    let nine = format!("[{}]", [r#"{"kind": "bedrock", "model": "m"}"#; 9].join(","));
    assert!(list(&nine).unwrap_err().contains("1 to 8"));
}

#[test]
fn a_list_is_built_where_its_keys_are_there_and_its_addresses_allowed() {
    let one = |url: &str, key: &str| format!(r#"[{{"kind": "openai", "model": "m", "url": "{url}"{key}}}]"#);
    let key = r#", "key": "models/key""#;
    assert!(built(&one("https://m.example/v1", key), &[("models/key", "hunter2")]).is_ok());
    assert!(built(&one("http://10.0.0.7:8000/v1", ""), &[]).is_ok());
    assert!(built(r#"[{"kind": "bedrock", "model": "m"}, {"kind": "rules"}]"#, &[]).is_ok());
    let missing = built(&one("https://m.example/v1", key), &[("other", "hunter2")]).err();
    assert_eq!(missing, Some(ModelListError::Key("models/key".to_owned())));
    for closed in [
        "https://169.254.169.254/v1",
        "http://169.254.170.2/v1",
        "https://[fd00:ec2::254]/v1",
        "http://127.0.0.1:9001/v1",
        "http://8.8.8.8/v1",
    ] {
        let refused = built(&one(closed, ""), &[]).err();
        assert!(
            matches!(refused, Some(ModelListError::Address(_))),
            "{closed}: {refused:?}"
        );
    }
}
