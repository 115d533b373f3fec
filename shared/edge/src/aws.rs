//! The settings that every AWS client shares.

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};
use store::{Store, Tables};
use url::Url;

use crate::config::Platform;

/// The AWS settings: region and credentials of the environment, unless given.
///
/// An endpoint over plain `http` is an emulator (AWS has none), so it gets fixed credentials that mean nothing: nobody
/// needs an account, and real credentials never travel unencrypted.
pub async fn sdk_config(endpoint: Option<&Url>, region: Option<&str>) -> SdkConfig {
    let emulated = endpoint.is_some_and(|url| url.scheme() == "http");
    let mut config = aws_config::defaults(BehaviorVersion::latest());
    if let Some(region) = region.or(emulated.then_some("eu-north-1")) {
        config = config.region(Region::new(region.to_owned()));
    }
    if let Some(endpoint) = endpoint {
        config = config.endpoint_url(endpoint.as_str());
    }
    if emulated {
        let fixed = Credentials::new("local", "local", None, None, "emulator");
        config = config
            .credentials_provider(SharedCredentialsProvider::new(fixed))
            // The usual client loads the system's certificates first, which a plain endpoint has no use for.
            .http_client(aws_smithy_http_client::Builder::new().build_http());
    }
    config.load().await
}

/// The tables of the function's account, or of the local system.
pub async fn store(platform: &Platform) -> Store {
    let config = sdk_config(platform.dynamodb.as_ref(), platform.region.as_deref()).await;
    Store::new(&config, Tables::prefixed(&platform.table_prefix))
}
