//! The kept secrets, and changes to them: made on a copy first, kept once everybody agrees.

use std::path::{Path, PathBuf};

use domain::Entropy;

use super::{Secrets, Stored, Wanted};
use crate::error::{ChangeError, StartError};

/// The kept secrets.
pub struct Vault {
    file: Option<PathBuf>,
    stored: Stored,
}

/// Secrets as they would be, not kept yet.
pub struct Draft {
    /// The secrets, ready for use.
    pub secrets: Secrets,
    /// What is kept of them.
    pub stored: Stored,
}

impl Vault {
    /// Reads the file, makes what is missing, and keeps it. Without a file all of it is new and forgotten at the end.
    ///
    /// # Errors
    /// Where the file cannot be read or written, or does not hold what it should.
    pub fn open(
        file: Option<PathBuf>,
        wanted: &Wanted<'_>,
        entropy: &dyn Entropy,
    ) -> Result<(Self, Secrets), StartError> {
        let stored = match &file {
            Some(file) => Stored::read(file)?.unwrap_or_default(),
            None => Stored::default(),
        };
        let mut vault = Self {
            file,
            stored: stored.clone(),
        };
        let (draft, changed) = vault.completed(stored, wanted, entropy)?;
        // A file whose keys cannot be used is not written over.
        if changed {
            vault.write(&draft.stored)?;
        }
        vault.stored = draft.stored;
        Ok((vault, draft.secrets))
    }

    /// Whether a database was ever begun with the secrets of a file. Files of older releases do not say it.
    ///
    /// # Errors
    /// Where the file cannot be read, or does not hold what it should.
    pub fn has_begun(file: &Path) -> Result<bool, StartError> {
        Ok(Stored::read(file)?.is_some_and(|stored| stored.begun))
    }

    /// Notes that a database was begun with these secrets.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn begun(&mut self) -> Result<(), StartError> {
        if self.stored.begun {
            return Ok(());
        }
        let mut stored = self.stored.clone();
        stored.begun = true;
        self.keep(stored)
    }

    /// What the secrets would be after a change.
    ///
    /// # Errors
    /// Where the change is refused, or a key cannot be made.
    pub fn draft(
        &self,
        wanted: &Wanted<'_>,
        entropy: &dyn Entropy,
        change: impl FnOnce(&mut Stored) -> Result<(), ChangeError>,
    ) -> Result<Draft, ChangeError> {
        let mut stored = self.stored.clone();
        change(&mut stored)?;
        Ok(self.completed(stored, wanted, entropy)?.0)
    }

    /// Keeps what a draft holds.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn keep(&mut self, stored: Stored) -> Result<(), StartError> {
        self.write(&stored)?;
        self.stored = stored;
        Ok(())
    }

    fn completed(
        &self,
        mut stored: Stored,
        wanted: &Wanted<'_>,
        entropy: &dyn Entropy,
    ) -> Result<(Draft, bool), StartError> {
        let changed = stored
            .complete(wanted, entropy)
            .map_err(StartError::part("key maker"))?;
        let secrets = Secrets::of(stored.clone(), self.file.as_deref())?;
        Ok((Draft { secrets, stored }, changed))
    }

    fn write(&self, stored: &Stored) -> Result<(), StartError> {
        self.file.as_deref().map_or(Ok(()), |file| stored.write(file))
    }
}
