//! The keys of the tests: those of `test_config.toml` where it is there, throw-away ones otherwise.

use std::path::Path;
use std::sync::OnceLock;

use auth::{Algorithm, Issuer, JwksCache, SigningKey, Verifier};
use domain::{SecretString, Timestamp};
use serde::Deserialize;

/// What `test_config.toml` may hold.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct TestConfig {
    keys: Keys,
    recorded: Vec<Recorded>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Keys {
    es256: String,
    rs256: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    token: String,
    at: String,
    audience: String,
    tenant: String,
    issuer: String,
}

fn read(name: &str) -> Option<TestConfig> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    let text = std::fs::read_to_string(path).ok()?;
    Some(toml::from_str(&text).unwrap())
}

fn config() -> &'static TestConfig {
    static CONFIG: OnceLock<TestConfig> = OnceLock::new();
    CONFIG.get_or_init(|| read("test_config.toml").unwrap_or_default())
}

/// The key of the configuration with its PEM, or a throw-away one.
pub(crate) fn key(algorithm: Algorithm) -> (SigningKey, SecretString) {
    let pem = match algorithm {
        Algorithm::Es256 => &config().keys.es256,
        Algorithm::Rs256 => &config().keys.rs256,
    };
    if pem.trim().is_empty() {
        return SigningKey::generate_for(algorithm).unwrap();
    }
    let pem = SecretString::from(pem.as_str());
    let key = SigningKey::from_pem(&pem).unwrap();
    assert_eq!(
        key.algorithm(),
        algorithm,
        "the key of test_config.toml is of another kind"
    );
    (key, pem)
}

#[test]
fn the_template_can_be_copied_as_it_is() {
    let template = read("test_config.example.toml").unwrap();
    assert!(template.keys.es256.is_empty() && template.keys.rs256.is_empty() && template.recorded.is_empty());
}

#[test]
fn recorded_tokens_of_real_providers_are_good_at_their_time() {
    for recorded in &config().recorded {
        let issuer: Issuer = serde_json::from_str(&recorded.issuer).unwrap();
        let verifier =
            Verifier::with_issuers(recorded.audience.clone(), vec![issuer], &JwksCache::offline()).unwrap();
        let at = Timestamp::parse(&recorded.at).unwrap();
        let verified = verifier.verify(&recorded.token, at).unwrap();
        assert_eq!(verified.tenant.unwrap().name(), recorded.tenant);
    }
}
