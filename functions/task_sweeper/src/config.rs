//! The sweeper's settings.

use edge::config::{ConfigError, Env, Platform};

/// The sweeper's settings: those of the platform, with the queues of all agents (`WAKE_QUEUES`).
#[derive(Debug, Clone)]
pub struct Config {
    /// The settings that every function has.
    pub platform: Platform,
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// Everything that is missing or wrong. A sweeper without queues would do nothing, silently, so they are required.
    pub fn read(mut env: Env) -> Result<Self, ConfigError> {
        let platform = Platform::read(&mut env);
        let queues = env.required::<String>("WAKE_QUEUES");
        env.finish()?;
        queues?;
        Ok(Self { platform: platform? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweeper_without_queues_does_not_start() {
        let error = Config::read(Env::of([("TABLE_PREFIX", "x-")])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the configuration is incomplete: WAKE_QUEUES is not set"
        );
        assert!(
            Config::read(Env::of([(
                "WAKE_QUEUES",
                r#"{"host":"https://sqs.example/host"}"#
            )]))
            .is_ok()
        );
    }
}
