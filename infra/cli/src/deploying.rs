//! A call of `infra/deploy.sh`: printed, to be looked at and run by hand, or run. The steps are the script's own in either
//! case.

use std::path::Path;
use std::process::Command;

use clap::Args;

use super::Failure;
use local::functions::sam_env::quoted;

/// The script, from the root of the repository.
const SCRIPT: &str = "infra/deploy.sh";
/// What it holds as this program was built: the steps are read from there.
const TEXT: &str = include_str!("../../deploy.sh");

/// With which account, and whether at once.
#[derive(Args, Default)]
pub(super) struct Deploying {
    /// Run the steps instead of printing them. If one fails, run the same command again to continue
    #[arg(long, requires = "aws")]
    pub(super) run: bool,
    #[command(flatten)]
    pub(super) account: Account,
}

/// Which of the operator's accounts.
#[derive(Args, Default)]
pub(super) struct Account {
    /// The AWS profile, instead of this shell's
    #[arg(long, requires = "aws")]
    profile: Option<String>,
    /// The AWS region, instead of this shell's
    #[arg(long, requires = "aws")]
    region: Option<String>,
}

impl Account {
    /// What the script and everything that it calls is told of them.
    pub(super) fn environment(&self) -> Vec<(&'static str, &str)> {
        let mut told = Vec::new();
        told.extend(
            self.profile
                .iter()
                .map(|profile| ("AWS_PROFILE", profile.as_str())),
        );
        // sam reads one of the two, aws the other.
        for name in ["AWS_REGION", "AWS_DEFAULT_REGION"] {
            told.extend(self.region.iter().map(|region| (name, region.as_str())));
        }
        told
    }
}

impl Deploying {
    /// Prints the call with its steps, or runs it.
    pub(super) fn call(&self, words: &[&str]) -> Result<(), Failure> {
        if self.run {
            return run(words, &self.account);
        }
        let what = words.first().copied().unwrap_or_default();
        for (number, step) in steps(what).iter().enumerate() {
            outln!("# {}. {step}", number + 1);
        }
        for (name, value) in self.account.environment() {
            out!("{name}={} ", quoted(value));
        }
        let words: Vec<String> = words.iter().map(|word| plain_or_quoted(word)).collect();
        outln!("{SCRIPT} {}", words.join(" "));
        Ok(())
    }
}

/// Runs the script, which says itself what it does and what is wrong.
pub(super) fn run(words: &[&str], account: &Account) -> Result<(), Failure> {
    if !Path::new(SCRIPT).exists() {
        return Err(Failure::other(format!(
            "there is no {SCRIPT} here; run this at the root of the repository"
        )));
    }
    let mut command = Command::new(SCRIPT);
    command.args(words).envs(account.environment());
    // Itself, rather than what cargo would build; it is taken apart at spaces.
    #[expect(
        clippy::disallowed_methods,
        reason = "a variable of the script's, which is no setting of this program"
    )]
    let is_told = std::env::var_os("SWITCHYARD").is_some();
    if !is_told
        && let Ok(own) = std::env::current_exe()
        && let Some(own) = own.to_str().filter(|own| !own.contains(char::is_whitespace))
    {
        command.env("SWITCHYARD", own);
    }
    let status = command
        .status()
        .map_err(|fault| Failure::other(format!("{SCRIPT} does not start: {fault}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::other(format!("{SCRIPT} did not come to its end"))),
    }
}

/// What the script does for a command, step by step.
fn steps(what: &str) -> Vec<&'static str> {
    let begin = format!("    {what})\n      cat <<'STEPS'\n");
    let Some((_, after)) = TEXT.split_once(&begin) else {
        return Vec::new();
    };
    let (own, _) = after.split_once("\nSTEPS\n").unwrap_or_default();
    own.lines().filter_map(|line| line.split('|').nth(1)).collect()
}

/// As a person would write it.
fn plain_or_quoted(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._@+".contains(&b);
    if word.bytes().all(plain) {
        word.to_owned()
    } else {
        quoted(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_of_the_script_has_its_steps_here_and_a_function_for_each() {
        for (what, least) in [
            ("platform", 7),
            ("tenant", 6),
            ("upgrade", 8),
            ("remove", 4),
            ("remove-platform", 3),
        ] {
            assert!(steps(what).len() >= least, "{what}: {:?}", steps(what));
            assert!(
                steps(what)
                    .iter()
                    .all(|step| step.starts_with(char::is_uppercase))
            );
        }
        assert!(steps("settings").is_empty() && steps("").is_empty());
    }

    #[test]
    fn what_a_shell_could_take_apart_is_quoted() {
        assert_eq!(plain_or_quoted("remove-platform"), "remove-platform");
        assert_eq!(plain_or_quoted("/a b/c'd"), r"'/a b/c'\''d'");
        assert_eq!(plain_or_quoted("$(id)"), "'$(id)'");
    }
}
