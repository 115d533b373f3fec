//! `switchyard tenant add|remove NAME --aws`: prints the commands that take a tenant in on AWS, or out again.

use std::path::{Path, PathBuf};

use clap::Args;
use domain::{ExposeSecret, SystemEntropy, Tenant};
use idp::NewUser;
use url::Url;

use super::Failure;
use crate::folder;
use crate::onboarding::{Place, Plan};

/// On AWS instead of here.
#[derive(Args)]
pub(super) struct Aws {
    /// Print the commands that do it on AWS, to be read and then piped to `sh`
    #[arg(long)]
    pub(super) aws: bool,
    /// The platform's stage
    #[arg(long, default_value = "prod", requires = "aws")]
    stage: String,
    /// The name of the platform's stack
    #[arg(long, default_value = "switchyard", requires = "aws")]
    platform_stack: String,
    /// The address of the tenant's API, where it has a domain of its own
    #[arg(long, requires = "aws")]
    public_url: Option<Url>,
    /// A user of the tenant's authorization server; the password is among the files. May be repeated
    #[arg(long = "user", value_name = "NAME", requires = "aws")]
    users: Vec<String>,
    /// Where the files with the new keys are written, for the commands to read [default: NAME-aws]
    #[arg(long, value_name = "FOLDER", requires = "aws")]
    out: Option<PathBuf>,
}

impl Aws {
    fn place(&self, tenant: Tenant) -> Result<Place, Failure> {
        Place::new(tenant, &self.stage, &self.platform_stack).map_err(Failure::other)
    }

    pub(super) fn add(self, tenant: Tenant) -> Result<(), Failure> {
        let folder = self.out.clone().unwrap_or_else(|| format!("{tenant}-aws").into());
        if folder.exists() {
            // Its keys may be those of a tenant that is there.
            return Err(Failure::other(format!(
                "{} is there already; name another folder with --out",
                folder.display()
            )));
        }
        let users: Vec<NewUser> = self
            .named()?
            .iter()
            .map(|name| NewUser {
                username: name.clone(),
                display_name: name.clone(),
                password: auth::token::random("", &SystemEntropy),
            })
            .collect();
        let place = self.place(tenant)?;
        let plan = Plan::new(place, self.public_url.as_ref(), &users, &SystemEntropy).map_err(described)?;
        create(&folder)?;
        for (name, text) in plan.files() {
            folder::write(&folder.join(name), &text)?;
        }
        for user in &users {
            let file = folder.join(format!("password-{}", user.username));
            folder::write(&file, user.password.expose_secret())?;
        }
        let folder = std::path::absolute(&folder).map_err(Failure::other)?;
        print!("{}", plan.script(&folder.display().to_string()));
        Ok(())
    }

    pub(super) fn remove(self, tenant: Tenant) -> Result<(), Failure> {
        print!("{}", self.place(tenant)?.removal(self.named()?));
        Ok(())
    }

    /// Names of files and words of a shell are made of them.
    fn named(&self) -> Result<&[String], Failure> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._@+-".contains(&b);
        match self.users.iter().find(|name| !name.bytes().all(plain)) {
            None => Ok(&self.users),
            Some(odd) => Err(Failure::other(format!(
                "a user cannot be named {odd:?}: lower-case letters, digits and ._@+- it is"
            ))),
        }
    }
}

fn described(fault: impl std::error::Error) -> Failure {
    let mut text = fault.to_string();
    let mut source = fault.source();
    while let Some(deeper) = source {
        text = format!("{text}: {deeper}");
        source = deeper.source();
    }
    Failure::other(text)
}

/// A folder that only its owner can look into.
fn create(folder: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::DirBuilderExt as _;
    let made = std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder);
    made.map_err(|fault| Failure::other(format!("{}: {fault}", folder.display())))
}
