//! The sweeper's settings.

use edge::blobs::Bucket;
use edge::config::{ConfigError, Env};

/// The sweeper's settings: those of the platform, of which the queues of all agents (`WAKE_QUEUES`) must be there.
#[derive(Debug, Clone)]
pub struct Config {
    /// `SWEEP_LOOKS`: how many times a sweep looks.
    pub looks: u32,
    /// `SEALING_KEYS_SECRET`: the secret with the keys that those follow from which seal the audit; without it nothing is sealed.
    pub sealing_keys: Option<String>,
    /// Whether large things lie in a bucket (`BLOBS_BUCKET`): in a folder of the local system nothing is removed by the clock, which may be
    /// moved there.
    pub tidies: bool,
    /// `AUDIT_BUCKET`: where sealed entries of the audit go beside the table.
    pub audit_bucket: Option<Bucket>,
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// Where there are no queues: a sweeper without them would do nothing, silently.
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let queues = env.required::<String>("WAKE_QUEUES");
        let looks = env.or("SWEEP_LOOKS", 1);
        let sealing_keys = env.optional("SEALING_KEYS_SECRET");
        let bucket = env.optional::<String>("BLOBS_BUCKET");
        let (audit, endpoint) = (env.optional("AUDIT_BUCKET"), env.optional("AWS_ENDPOINT_URL_S3"));
        let (endpoint, region) = (endpoint?, env.optional("AWS_REGION")?);
        let audit_bucket = audit?.map(|name| Bucket {
            name,
            endpoint,
            region,
            ..Bucket::default()
        });
        queues.map(|_| ())?;
        Ok(Self {
            looks: looks?,
            sealing_keys: sealing_keys?,
            tidies: bucket?.is_some(),
            audit_bucket,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweeper_without_queues_does_not_start() {
        let read = |variables: [(&str, &str); 1]| edge::config::read(Env::of(variables), Config::read);
        let error = read([("TABLE_PREFIX", "x-")]).err().unwrap();
        assert_eq!(
            error.to_string(),
            "the configuration is incomplete: WAKE_QUEUES is not set"
        );
        assert!(read([("WAKE_QUEUES", r#"{"host":"https://sqs.example/host"}"#)]).is_ok());
    }
}
