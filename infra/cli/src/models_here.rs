//! Language models on this machine: which server is there for `--model auto`, and whether one that is named can be reached.

use std::sync::Arc;
use std::time::Duration;

use domain::SystemEntropy;
use http::Method;
use outbound::{CallError, Outbound, Policy, TrustedOrigin};
use serde_json::Value;
use tokio::time::timeout;
use url::Url;

use super::{Failure, out};

/// The name that stands for whatever is there.
const AUTO: &str = "auto";
/// Servers of models, with the ports on which they usually are.
const SERVERS: [(&str, u16); 4] = [
    ("Ollama", 11434),
    ("llama.cpp's server", 8080),
    ("LM Studio", 1234),
    ("vLLM", 8000),
];
/// A model that only makes vectors of sentences has this in its name, whoever made it.
const SENTENCES: &str = "embed";
/// How long a server may take to say what it has.
const WITHIN: Duration = Duration::from_secs(2);
/// A machine without a graphics card reads a first prompt for minutes.
const FIRST_BYTE: u32 = 300;

/// The models as they are named, with what is there in place of `auto`; says which, and of others that nobody answers there.
pub(super) async fn named(names: Vec<String>) -> Result<Vec<String>, Failure> {
    let mut known = Vec::new();
    for name in names {
        if name != AUTO {
            if let Some(url) = address(&name)
                && unreachable(&url).await
            {
                out::complain(format_args!(
                    "Nobody answers at {url} at the moment: --model {name} will be asked in vain."
                ));
            }
            known.push(name);
            continue;
        }
        let Some((server, url, model)) = found().await else {
            return Err(Failure::other(
                "--model auto found no server of models on its usual port (Ollama 11434, llama.cpp 8080, LM Studio 1234, vLLM 8000)",
            ));
        };
        out::complain(format_args!(
            "The language model is {model}, of {server} at {url}."
        ));
        known.push(format!("openai:{url},{model},first-byte={FIRST_BYTE}"));
    }
    Ok(known)
}

fn outbound(url: &Url) -> Outbound {
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    let outbound = Outbound::new(policy, Arc::new(SystemEntropy));
    match TrustedOrigin::of(url) {
        Some(origin) => outbound.trusting(origin),
        None => outbound,
    }
}

/// Where a model is that is asked over HTTP.
fn address(name: &str) -> Option<Url> {
    let url = name.strip_prefix("openai:")?.split(',').next()?;
    Url::parse(url).ok()
}

async fn unreachable(url: &Url) -> bool {
    let listed = outbound::below(url, "models");
    let client = outbound(url);
    let told = client.request_json(Method::GET, &listed, None, None);
    matches!(
        timeout(WITHIN, told).await,
        Ok(Err(CallError::Unreachable { .. }))
    )
}

/// The first server that has a model which answers.
async fn found() -> Option<(&'static str, Url, String)> {
    for (server, port) in SERVERS {
        let Ok(url) = Url::parse(&format!("http://127.0.0.1:{port}/v1")) else {
            continue;
        };
        let client = outbound(&url);
        let listed = outbound::below(&url, "models");
        let told = timeout(WITHIN, client.get_json::<Value>(&listed, None)).await;
        if let Ok(Ok(told)) = told
            && let Some(model) = answers(&told)
        {
            return Some((server, url, model));
        }
    }
    None
}

/// The first model of a list that is no model of sentences.
fn answers(told: &Value) -> Option<String> {
    let models = told.get("data")?.as_array()?.iter();
    let mut names = models.filter_map(|model| model.get("id")?.as_str());
    let name = names.find(|name| !name.contains(SENTENCES) && !name.contains(','))?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_model_that_answers_is_taken_and_one_of_sentences_is_not() {
        let told = json!({"object": "list", "data": [{"id": "nomic-embed-text"}, {"id": "qwen2.5:1.5b"}]});
        assert_eq!(answers(&told).as_deref(), Some("qwen2.5:1.5b"));
        for none in [
            json!({}),
            json!({"data": []}),
            json!({"data": [{"id": 7}]}),
            json!([]),
        ] {
            assert_eq!(answers(&none), None, "{none}");
        }
        assert_eq!(
            address("openai:http://localhost:1/v1,m").map(|url| url.port()),
            Some(Some(1))
        );
        assert_eq!(address("bedrock:m"), None);
    }

    #[tokio::test]
    async fn where_nobody_listens_it_is_said() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let url = Url::parse(&format!("http://127.0.0.1:{port}/v1")).unwrap();
        assert!(unreachable(&url).await);
    }
}
