//! The settings that every AWS client shares, and who calls: the function's own role ([`Caller::own`]), or a session of another one for
//! one tenant ([`Caller::of_tenant`]).

mod session;
mod signed;

use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region, SharedCredentialsProvider};
use aws_types::SdkConfig;
use domain::Tenant;
use outbound::Signer;
use url::Url;

pub use session::{NAME_TAG, PREFIX_TAG, Sessions};
pub use signed::{Service, SignedCallError};

/// The region of an emulator, where none is given.
const SOMEWHERE: &str = "eu-north-1";

/// Who calls AWS.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// A session; the credentials that Lambda gives the process where there is none.
    session: Option<SharedCredentialsProvider>,
}

impl Caller {
    /// The function's own role.
    #[must_use]
    pub fn own() -> Self {
        Self::default()
    }

    /// Whoever these credentials are of, such as an operator.
    #[must_use]
    pub fn by(credentials: SharedCredentialsProvider) -> Self {
        Self {
            session: Some(credentials),
        }
    }

    /// A session of the tenants' role for this tenant, which AWS is asked for with the first call, and again before it ends.
    #[must_use]
    pub fn of_tenant(sessions: &Sessions, tenant: &Tenant) -> Self {
        let session = sessions.of(tenant);
        Self {
            session: Some(SharedCredentialsProvider::new(session)),
        }
    }

    /// The AWS settings: the region, and the credentials of whoever calls.
    ///
    /// Credentials are looked for nowhere else: the SDK's own search reads profiles and asks services that no function has, and is a
    /// megabyte of each program.
    ///
    /// An endpoint over plain `http` is an emulator (AWS has none), so it gets the credentials that its address holds (`http://ID:SECRET@…`),
    /// or fixed ones that mean nothing: nobody needs an account, and real credentials never travel unencrypted. A session that an
    /// emulator gave is one of its own.
    #[must_use]
    pub fn config(&self, endpoint: Option<&Url>, region: Option<&str>) -> SdkConfig {
        let emulated = is_emulator(endpoint);
        let region = region.or(emulated.then_some(SOMEWHERE));
        let mut config = SdkConfig::builder().behavior_version(BehaviorVersion::latest());
        config.set_region(region.map(|region| Region::new(region.to_owned())));
        config.set_endpoint_url(endpoint.map(without_credentials).map(String::from));
        if emulated {
            // The usual client loads the system's certificates first, which a plain endpoint has no use for.
            config.set_http_client(Some(aws_smithy_http_client::Builder::new().build_http()));
        }
        config.set_credentials_provider(self.credentials(endpoint));
        config.build()
    }

    fn credentials(&self, endpoint: Option<&Url>) -> Option<SharedCredentialsProvider> {
        if self.session.is_some() {
            return self.session.clone();
        }
        let own = if is_emulator(endpoint) {
            let within = endpoint.filter(|url| !url.username().is_empty());
            let (id, key) = within.map_or(("local", "local"), |url| {
                (url.username(), url.password().unwrap_or_default())
            });
            Some(Credentials::new(id, key, None, None, "emulator"))
        } else {
            of_lambda()
        };
        own.map(SharedCredentialsProvider::new)
    }

    /// Who signs the requests to a service that has no SDK here.
    pub(crate) fn signer(
        &self,
        service: &'static str,
        endpoint: Option<&Url>,
        region: Option<&str>,
    ) -> Signer {
        let region = region.or(is_emulator(endpoint).then_some(SOMEWHERE));
        Signer {
            service,
            region: region.unwrap_or_default().to_owned(),
            credentials: self.credentials(endpoint),
        }
    }
}

/// The AWS settings of the function's own role, as [`Caller::config`] has them.
#[must_use]
pub fn sdk_config(endpoint: Option<&Url>, region: Option<&str>) -> SdkConfig {
    Caller::own().config(endpoint, region)
}

fn is_emulator(endpoint: Option<&Url>) -> bool {
    endpoint.is_some_and(|url| url.scheme() == "http")
}

/// The endpoint alone, as clients call it.
pub(crate) fn without_credentials(endpoint: &Url) -> Url {
    let mut url = endpoint.clone();
    let _none_left = (url.set_username(""), url.set_password(None));
    url
}

/// The credentials of the function's role.
#[expect(
    clippy::disallowed_methods,
    reason = "no setting: what Lambda gives a process for AWS's own clients, which read it themselves elsewhere"
)]
fn of_lambda() -> Option<Credentials> {
    let found = credentials(|name| std::env::var(name).ok());
    if found.is_none() {
        tracing::error!("AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is not set; AWS will refuse everything");
    }
    found
}

fn credentials(environment: impl Fn(&str) -> Option<String>) -> Option<Credentials> {
    let value = |name| environment(name).filter(|value| !value.is_empty());
    let (id, key) = (value("AWS_ACCESS_KEY_ID")?, value("AWS_SECRET_ACCESS_KEY")?);
    Some(Credentials::new(
        id,
        key,
        value("AWS_SESSION_TOKEN"),
        None,
        "environment",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_whole_or_none() {
        let of = |known: &'static [(&str, &str)]| {
            credentials(move |name| {
                let found = known.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(of(&[]).is_none());
        assert!(of(&[("AWS_ACCESS_KEY_ID", "AKIA"), ("AWS_SECRET_ACCESS_KEY", "")]).is_none());
        let found = of(&[
            ("AWS_ACCESS_KEY_ID", "AKIA"),
            ("AWS_SECRET_ACCESS_KEY", "k"),
            ("AWS_SESSION_TOKEN", "t"),
        ])
        .unwrap();
        assert_eq!(
            (
                found.access_key_id(),
                found.secret_access_key(),
                found.session_token()
            ),
            ("AKIA", "k", Some("t"))
        );
    }

    #[test]
    fn an_emulator_gets_credentials_that_mean_nothing_and_a_region() {
        let emulator = Url::parse("http://127.0.0.1:8000").unwrap();
        let config = sdk_config(Some(&emulator), None);
        assert_eq!(config.region().map(Region::as_ref), Some(SOMEWHERE));
        assert!(config.credentials_provider().is_some());
        let other = Url::parse("https://dynamodb.example").unwrap();
        let config = sdk_config(Some(&other), Some("eu-west-1"));
        assert_eq!(config.endpoint_url(), Some("https://dynamodb.example/"));
        assert_eq!(config.region().map(Region::as_ref), Some("eu-west-1"));
        assert_eq!(
            sdk_config(None, None).region(),
            None,
            "AWS's own is never guessed"
        );
    }

    #[tokio::test]
    async fn an_emulator_gets_the_credentials_of_its_address() {
        use aws_sdk_sqs::config::ProvideCredentials as _;

        let given = |text: &str| sdk_config(Some(&Url::parse(text).unwrap()), None);
        let config = given("http://LOCALabc:secret@127.0.0.1:8000/");
        assert_eq!(config.endpoint_url(), Some("http://127.0.0.1:8000/"));
        let provider = config.credentials_provider().unwrap();
        let found = provider.provide_credentials().await.unwrap();
        assert_eq!(
            (found.access_key_id(), found.secret_access_key()),
            ("LOCALabc", "secret")
        );
        let provider = given("http://127.0.0.1:8000/").credentials_provider().unwrap();
        let found = provider.provide_credentials().await.unwrap();
        assert_eq!(found.access_key_id(), "local");
    }

    #[tokio::test]
    async fn a_client_of_aws_itself_speaks_tls() {
        // Nobody listens there: what matters is that it comes as far as the network.
        let closed = Url::parse("https://127.0.0.1:1").unwrap();
        let config = sdk_config(Some(&closed), Some("eu-west-1")).to_builder();
        let own = Credentials::new("AKIA", "k", None, None, "test");
        let config = config
            .credentials_provider(SharedCredentialsProvider::new(own))
            .build();
        let asked = aws_sdk_sqs::Client::new(&config).list_queues().send().await;
        let aws_sdk_sqs::error::SdkError::DispatchFailure(failure) = asked.unwrap_err() else {
            panic!("another error than of the network");
        };
        assert!(failure.is_io(), "{failure:?}");
    }
}
