//! What the terminal client remembers between two calls: its session at each tenant, and the chat it was in.

use std::collections::BTreeMap;
use std::path::PathBuf;

use domain::ChatId;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::Failure;
use local::data::folder;

/// The sessions of this data folder's user.
pub(crate) struct Sessions {
    file: PathBuf,
    by_base: BTreeMap<Url, SavedSession>,
}

/// What is known of one tenant's chat.
#[derive(Default, Clone, Serialize, Deserialize)]
pub(crate) struct SavedSession {
    /// The session's cookie, `name=value`.
    #[serde(default)]
    pub(crate) cookie: Option<String>,
    /// The chat that was open last.
    #[serde(default)]
    pub(crate) chat: Option<ChatId>,
}

impl Sessions {
    /// Reads the file; one that cannot be read is as good as none, since a session is begun anew without it.
    pub(crate) fn load(file: PathBuf) -> Result<Self, Failure> {
        let text = folder::read(&file)?.unwrap_or_default();
        Ok(Self {
            by_base: serde_json::from_str(&text).unwrap_or_default(),
            file,
        })
    }

    pub(crate) fn known(&self, base: &Url) -> Option<&SavedSession> {
        self.by_base.get(base)
    }

    pub(crate) fn of(&mut self, base: &Url) -> &mut SavedSession {
        self.by_base.entry(base.clone()).or_default()
    }

    pub(crate) fn save(&self) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(&self.by_base).map_err(Failure::other)?;
        Ok(folder::write(&self.file, &text)?)
    }
}
