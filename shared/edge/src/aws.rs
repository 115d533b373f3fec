//! The settings that every AWS client shares.

use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region, SharedCredentialsProvider};
use aws_types::SdkConfig;
use store::{Store, Tables};
use url::Url;

use crate::config::Platform;

/// The region of an emulator, where none is given.
const SOMEWHERE: &str = "eu-north-1";

/// The AWS settings: the region, and the credentials that Lambda puts into a function's environment.
///
/// They are looked for nowhere else: the SDK's own search reads profiles and asks services that no function has, and is a
/// megabyte of each program.
///
/// An endpoint over plain `http` is an emulator (AWS has none), so it gets fixed credentials that mean nothing: nobody
/// needs an account, and real credentials never travel unencrypted.
#[must_use]
pub fn sdk_config(endpoint: Option<&Url>, region: Option<&str>) -> SdkConfig {
    let emulated = endpoint.is_some_and(|url| url.scheme() == "http");
    let region = region.or(emulated.then_some(SOMEWHERE));
    let mut config = SdkConfig::builder().behavior_version(BehaviorVersion::latest());
    config.set_region(region.map(|region| Region::new(region.to_owned())));
    config.set_endpoint_url(endpoint.map(Url::to_string));
    let credentials = if emulated {
        // The usual client loads the system's certificates first, which a plain endpoint has no use for.
        config.set_http_client(Some(aws_smithy_http_client::Builder::new().build_http()));
        Some(Credentials::new("local", "local", None, None, "emulator"))
    } else {
        of_lambda()
    };
    config.set_credentials_provider(credentials.map(SharedCredentialsProvider::new));
    config.build()
}

/// The credentials of the function's role.
#[expect(
    clippy::disallowed_methods,
    reason = "no setting: what Lambda gives a process for AWS's own clients, which read it themselves elsewhere"
)]
fn of_lambda() -> Option<Credentials> {
    let value = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (Some(id), Some(key)) = (value("AWS_ACCESS_KEY_ID"), value("AWS_SECRET_ACCESS_KEY")) else {
        tracing::error!("AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is not set; AWS will refuse everything");
        return None;
    };
    Some(Credentials::new(
        id,
        key,
        value("AWS_SESSION_TOKEN"),
        None,
        "environment",
    ))
}

/// The tables of the function's account, or of the local system.
#[must_use]
pub fn store(platform: &Platform) -> Store {
    let config = sdk_config(platform.dynamodb.as_ref(), platform.region.as_deref());
    Store::new(&config, Tables::prefixed(&platform.table_prefix))
}
