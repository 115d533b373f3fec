//! `switchyard keys rotate --aws` and `switchyard agent move --aws`: change the folder of a deployment on AWS, and print or run
//! the call of `infra/deploy.sh` that brings the change there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use domain::{Clock as _, SystemClock, SystemEntropy, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Failure;
use super::deploying::Deploying;
use super::tenant_aws::{absolute, described, parameters};
use crate::onboarding::PARAMETERS;
use crate::rotation::{AgentMove, KeyRotation, MOVE, ROTATION};
use local::data::folder;
use local::data::secrets::OVERLAP;

/// The file that says when the keys of a folder were last rotated, in seconds since 1970.
const ROTATED: &str = "rotated-at";

/// On AWS instead of here.
#[derive(Args)]
pub(super) struct OnAws {
    /// Rotate the keys of a platform or tenant on AWS
    #[arg(long, requires = "folder", conflicts_with_all = ["tenant", "sealing"])]
    pub(super) aws: bool,
    /// The folder that `platform add --aws` or `tenant add --aws` wrote; all its keys are rotated
    #[arg(long, value_name = "FOLDER", requires = "aws")]
    folder: Option<PathBuf>,
    #[command(flatten)]
    deploying: Deploying,
}

impl OnAws {
    pub(super) fn rotate(self, force: bool) -> Result<(), Failure> {
        let folder = self.folder.unwrap_or_default();
        parameters(&folder)?;
        let rotation: KeyRotation = match begun(&folder, ROTATION)? {
            Some(begun) => begun,
            None => {
                not_too_soon(&folder, force)?;
                let rotation = KeyRotation::of(&texts(&folder)?, &SystemEntropy).map_err(described)?;
                begin(
                    &folder,
                    ROTATION,
                    &serde_json::to_string(&rotation).map_err(described)?,
                )?;
                rotation
            }
        };
        for (name, text) in &rotation.files {
            folder::write(&folder.join(name), text)?;
        }
        self.deploying.call(&["rotate-keys", &absolute(&folder)?])
    }
}

/// Give an agent on AWS a new address, because somebody knows the old one who should not
#[derive(Args)]
pub(super) struct Move {
    /// The agent: weather, report, airbnb or calendar (platform), host or horizon (tenant)
    agent: String,
    /// On AWS (required: a local system chooses its own addresses)
    #[arg(long, required = true)]
    aws: bool,
    /// The folder that `platform add --aws` or `tenant add --aws` wrote
    #[arg(long, value_name = "FOLDER")]
    folder: PathBuf,
    #[command(flatten)]
    deploying: Deploying,
}

impl Move {
    pub(super) fn run(self) -> Result<(), Failure> {
        let folder = &self.folder;
        let mut told = parameters(folder)?;
        let moved: AgentMove = match begun(folder, MOVE)? {
            Some(begun) => begun,
            None => {
                let moved = AgentMove::of(&told, &self.agent, &SystemEntropy).map_err(described)?;
                begin(folder, MOVE, &serde_json::to_string(&moved).map_err(described)?)?;
                moved
            }
        };
        if !moved.agent.eq_ignore_ascii_case(&self.agent) {
            return Err(Failure::other(format!(
                "the agent {} is being moved; run `switchyard agent move {0} --aws` to its end first",
                moved.agent.to_lowercase()
            )));
        }
        moved.apply(&mut told);
        folder::write(&folder.join(PARAMETERS), &Value::from(told).to_string())?;
        self.deploying.call(&["move-agent", &absolute(folder)?])
    }
}

/// What an earlier run wrote down and did not come to the end of.
fn begun<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Option<T>, Failure> {
    let file = folder.join(name);
    let Some(text) = folder::read(&file)? else {
        return Ok(None);
    };
    // The parser's words could quote a key.
    serde_json::from_str(&text).map(Some).map_err(|_| {
        Failure::other(format!(
            "{} does not hold what was written there; delete it where nothing was deployed from it",
            file.display()
        ))
    })
}

fn begin(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    Ok(folder::write(&folder.join(name), text)?)
}

/// Every file of a folder that is text.
fn texts(folder: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let at = |fault: std::io::Error| Failure::other(format!("{}: {fault}", folder.display()));
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(at)? {
        let entry = entry.map_err(at)?;
        if let (Ok(name), true) = (entry.file_name().into_string(), entry.path().is_file())
            && let Some(text) = folder::read(&entry.path())?
        {
            files.insert(name, text);
        }
    }
    Ok(files)
}

/// Tokens that the key before the last signed must have ended.
fn not_too_soon(folder: &Path, force: bool) -> Result<(), Failure> {
    let told = folder::read(&folder.join(ROTATED))?;
    let last = told.and_then(|text| text.trim().parse::<i64>().ok());
    let Some(last) = last.filter(|_| !force) else {
        return Ok(());
    };
    let ago = SystemClock
        .now()
        .since(Timestamp::from_millis(last.saturating_mul(1000)));
    match OVERLAP.checked_sub(ago).filter(|left| !left.is_zero()) {
        None => Ok(()),
        Some(left) => Err(Failure::other(format!(
            "these keys were rotated a moment ago, and tokens of the key before still live: wait {} minutes, or use --force",
            left.as_secs().div_ceil(60)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotation_waits_until_the_tokens_before_the_last_have_ended() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        assert!(not_too_soon(folder, false).is_ok());
        let now = SystemClock.now().millis() / 1000;
        folder::write(&folder.join(ROTATED), &format!("{now}\n")).unwrap();
        let refused = not_too_soon(folder, false).unwrap_err().to_string();
        assert!(refused.contains("15 minutes"), "{refused}");
        assert!(not_too_soon(folder, true).is_ok());
        folder::write(&folder.join(ROTATED), &format!("{}\n", now - 3600)).unwrap();
        assert!(not_too_soon(folder, false).is_ok());
        folder::write(&folder.join(ROTATED), "yesterday").unwrap();
        assert!(not_too_soon(folder, false).is_ok());
    }

    #[test]
    fn what_was_begun_is_gone_on_with_and_rubbish_is_not_quoted() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        assert!(begun::<AgentMove>(folder, MOVE).unwrap().is_none());
        let text = r#"{"agent": "Weather", "before": "1", "after": "2"}"#;
        begin(folder, MOVE, text).unwrap();
        assert_eq!(begun::<AgentMove>(folder, MOVE).unwrap().unwrap().after, "2");
        begin(folder, MOVE, "hunter2").unwrap();
        let refused = begun::<AgentMove>(folder, MOVE).err().unwrap().to_string();
        assert!(!refused.contains("hunter2"), "{refused}");
    }
}
