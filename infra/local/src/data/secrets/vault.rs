//! The kept secrets, and changes to them: made on a copy first, kept once everybody agrees.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::{Entropy, Tenant};

use super::stored::StoredTenant;
use super::{Secrets, Stored, Wanted};
use crate::error::{ChangeError, StartError};

/// The kept secrets.
pub struct Vault {
    file: Option<PathBuf>,
    stored: Stored,
    has_added: bool,
}

/// Secrets as they would be, not kept yet.
pub struct Draft {
    /// The secrets, ready for use.
    pub secrets: Secrets,
    /// What is kept of them.
    pub kept: Kept,
}

/// What is kept of a draft.
pub struct Kept(What);

enum What {
    /// All of it anew.
    Whole(Box<Stored>),
    /// A tenant beside those there are.
    Added(Tenant, Box<StoredTenant>),
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
            has_added: false,
        };
        let (secrets, stored, changed) = vault.completed(stored, wanted, entropy)?;
        // A file whose keys cannot be used is not written over.
        if changed {
            vault.write(&stored)?;
        }
        vault.stored = stored;
        Ok((vault, secrets))
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
        self.keep(Kept(What::Whole(Box::new(stored))))
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
        let (secrets, stored, _) = self.completed(stored, wanted, entropy)?;
        let kept = Kept(What::Whole(Box::new(stored)));
        Ok(Draft { secrets, kept })
    }

    /// What the secrets would be with one more tenant: these, and its own. However many there are, it costs the same.
    ///
    /// # Errors
    /// Where a tenant of that name is here, or a key cannot be made.
    pub fn draft_added(
        &self,
        secrets: &Secrets,
        tenant: &Tenant,
        (wanted, entropy): (&Wanted<'_>, &dyn Entropy),
    ) -> Result<Draft, ChangeError> {
        let mut own = self.stored.new_tenant(tenant)?;
        own.complete(tenant, wanted, entropy);
        let mut secrets = secrets.clone();
        secrets
            .tenants
            .insert(tenant.clone(), Arc::new(own.clone().into()));
        let kept = Kept(What::Added(tenant.clone(), Box::new(own)));
        Ok(Draft { secrets, kept })
    }

    /// Keeps what a draft holds.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn keep(&mut self, kept: Kept) -> Result<(), StartError> {
        match kept.0 {
            What::Whole(stored) => {
                self.write(&stored)?;
                self.stored = *stored;
            }
            What::Added(tenant, own) => {
                let append = |file| Stored::append(file, (&tenant, &own));
                self.file.as_deref().map_or(Ok(()), append)?;
                self.stored.tenants.insert(tenant, *own);
                self.has_added = true;
            }
        }
        Ok(())
    }

    /// Writes everything into one file, where tenants were added since that was written.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn rest(&mut self) -> Result<(), StartError> {
        match std::mem::take(&mut self.has_added) {
            true => self.write(&self.stored),
            false => Ok(()),
        }
    }

    fn completed(
        &self,
        mut stored: Stored,
        wanted: &Wanted<'_>,
        entropy: &dyn Entropy,
    ) -> Result<(Secrets, Stored, bool), StartError> {
        let changed = stored
            .complete(wanted, entropy)
            .map_err(StartError::part("key maker"))?;
        let secrets = Secrets::of(stored.clone(), self.file.as_deref())?;
        Ok((secrets, stored, changed))
    }

    fn write(&self, stored: &Stored) -> Result<(), StartError> {
        self.file.as_deref().map_or(Ok(()), |file| stored.write(file))
    }
}
