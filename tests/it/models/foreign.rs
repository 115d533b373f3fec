//! A foreign witness: LiteLLM's proxy, which is not ours, before mocked models. Our client is the one that a host uses.

use std::process::{Child, Command, Stdio};

use super::*;

/// The proxy, until this ends.
struct LiteLlm {
    process: Child,
    url: url::Url,
}

impl Drop for LiteLlm {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl LiteLlm {
    async fn start() -> Self {
        // Free now: the proxy wants to be told its port.
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let own = system_testing::folder().join(".tools/models/bin");
        let process = Command::new(own.join("litellm"))
            .args([
                "--config",
                "litellm.yaml",
                "--host",
                "127.0.0.1",
                "--port",
                &port.to_string(),
            ])
            .current_dir(system_testing::folder().join("python"))
            .env("LITELLM_TELEMETRY", "False")
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("`tests/run models-foreign` installs it");
        let url = url::Url::parse(&format!("http://127.0.0.1:{port}/v1")).unwrap();
        let started = Self { process, url };
        for _ in 0..600 {
            if tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
                return started;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        panic!("LiteLLM does not listen");
    }

    async fn step(&self, model: &str, key: &str) -> Result<Answer, ModelError> {
        let policy = Policy {
            allow_loopback: true,
            ..Policy::default()
        };
        let outbound = Outbound::new(policy, Arc::new(SystemEntropy));
        let limits = (1_000, EventLimits::default());
        let provider = OpenAi::new(
            &outbound,
            (&self.url, model),
            Some(SecretString::from(key)),
            limits,
        );
        let link = Link::Hosted {
            provider: Box::new(provider),
            tokens: 32_000,
        };
        let limits = ChainLimits {
            pause: Duration::from_millis(10),
            ..ChainLimits::default()
        };
        let chain = Chain::new(vec![link], limits, Arc::new(SystemEntropy));
        chain.step(&prompt(), &mut Shown::default()).await
    }
}

#[tokio::test]
#[ignore = "LiteLLM is large: `tests/run models-foreign` installs it, then runs this"]
async fn litellm_is_understood() {
    let proxy = LiteLlm::start().await;
    let said = proxy.step("says", KEY).await.unwrap();
    assert_eq!(said.step, Step::Say("Det blir sol i Tromsø.".into()));
    assert!(said.usage.input > 0 && said.usage.output > 0, "{said:?}");
    let called = proxy.step("calls", KEY).await.unwrap();
    let Step::Call(calls) = &called.step else {
        panic!("{called:?}")
    };
    let told: Vec<String> = calls
        .iter()
        .map(|call| format!("{} {:?}", call.id, call.tool))
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].starts_with("call00000 SendMessage") && told[0].contains("Regnet det i Tromsø?"),
        "{told:?}"
    );
    assert!(
        told[1].starts_with("call00001 SendMessage") && told[1].contains("And in Oslo?"),
        "{told:?}"
    );
    for (model, key, expected) in [
        ("busy", KEY, "unavailable"),
        ("broken", KEY, "unavailable"),
        ("breaks-off", KEY, "unavailable"),
        ("nobody", KEY, "denied"),
        ("says", "sk-another", "denied"),
    ] {
        let told = proxy.step(model, key).await;
        assert_eq!(line(&told), expected, "{model}: {told:?}");
        assert!(!format!("{told:?}").contains(key), "{told:?}");
    }
}
