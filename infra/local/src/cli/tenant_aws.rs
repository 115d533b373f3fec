//! `switchyard platform add --aws` and `switchyard tenant add|remove NAME --aws`: write what `infra/deploy.sh` needs, and
//! print the call of it that puts the platform or the tenant on AWS, or takes the tenant off it.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use domain::{ExposeSecret, SystemEntropy, Tenant};
use idp::NewUser;
use url::Url;

use super::Failure;
use crate::folder;
use crate::onboarding::{Plan, PlatformPlan, TenantStack, quoted};

/// On AWS instead of here.
#[derive(Args)]
pub(super) struct Aws {
    /// Print the call of infra/deploy.sh that does it on AWS, to be run at the root of the repository
    #[arg(long)]
    pub(super) aws: bool,
    /// The platform's stage
    #[arg(long, default_value = "prod", requires = "aws")]
    stage: String,
    /// The name of the platform's stack
    #[arg(long, default_value = "switchyard", requires = "aws")]
    platform_stack: String,
    #[command(flatten)]
    address: Address,
    /// A user of the tenant's authorization server; the password is among the files. May be repeated
    #[arg(long = "user", value_name = "NAME", requires = "aws")]
    users: Vec<String>,
    /// Where the files with the new keys are written, for the script to read [default: NAME-aws]
    #[arg(long, value_name = "FOLDER", requires = "aws")]
    out: Option<PathBuf>,
}

impl Aws {
    fn stack(&self, tenant: Tenant) -> Result<TenantStack, Failure> {
        TenantStack::new(tenant, &self.stage, &self.platform_stack).map_err(Failure::other)
    }

    pub(super) fn add(self, tenant: Tenant) -> Result<(), Failure> {
        let folder = self
            .out
            .clone()
            .unwrap_or_else(|| format!("{}-aws", tenant.name()).into());
        is_new(&folder)?;
        let users: Vec<NewUser> = self
            .named()?
            .iter()
            .map(|name| NewUser {
                username: name.clone(),
                display_name: name.clone(),
                password: auth::token::random("", &SystemEntropy),
                roles: Vec::new(),
            })
            .collect();
        let stack = self.stack(tenant.incarnated(&SystemEntropy))?;
        let mut plan = Plan::new(stack, &users, &SystemEntropy).map_err(described)?;
        plan.parameters.extend(self.address.parameters()?);
        write(&folder, plan.files())?;
        for user in &users {
            let file = folder.join(format!("password-{}", user.username));
            folder::write(&file, user.password.expose_secret())?;
        }
        call("tenant", &folder)?;
        Ok(())
    }

    pub(super) fn remove(self, tenant: Tenant) -> Result<(), Failure> {
        let stack = self.stack(tenant)?;
        let (name, stage, platform) = (stack.tenant.name(), &stack.stage, &stack.platform);
        out!("infra/deploy.sh remove {name} --stage {stage} --platform-stack {platform}");
        for user in self.named()? {
            out!(" --user {user}");
        }
        outln!();
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

/// The keys of a folder that is there may be those of something that runs.
fn is_new(folder: &Path) -> Result<(), Failure> {
    if folder.exists() {
        return Err(Failure::other(format!(
            "{} is there already; name another folder with --out",
            folder.display()
        )));
    }
    Ok(())
}

/// Prints what deploys a folder.
fn call(what: &str, folder: &Path) -> Result<(), Failure> {
    let folder = std::path::absolute(folder).map_err(Failure::other)?;
    outln!("infra/deploy.sh {what} {}", quoted(&folder.display().to_string()));
    Ok(())
}

/// Writes the files of a plan.
fn write(folder: &Path, files: Vec<(String, String)>) -> Result<(), Failure> {
    create(folder)?;
    for (name, text) in files {
        folder::write(&folder.join(name), &text)?;
    }
    Ok(())
}

/// Where an API is reached, if not at the address that AWS gives it. `platform add` and `tenant add` have the same.
#[derive(Args)]
struct Address {
    /// A domain of the API's own; point its DNS name at the stack's output DomainTarget
    #[arg(
        long,
        value_name = "NAME",
        requires = "certificate",
        conflicts_with = "public_url"
    )]
    domain: Option<String>,
    /// The certificate of the domain, in the region of the stack
    #[arg(long, value_name = "ARN", requires = "domain")]
    certificate: Option<String>,
    /// The address of what stands before the API, such as CloudFront: https://HOST
    #[arg(long, value_name = "URL")]
    public_url: Option<Url>,
}

impl Address {
    /// The parameters of either template.
    fn parameters(&self) -> Result<Vec<(&'static str, String)>, Failure> {
        if let Some(url) = &self.public_url
            && (url.scheme() != "https" || url.path() != "/" || url.query().is_some())
        {
            return Err(Failure::other(format!(
                "{url} has more than https and a host: a stack answers at the root of its address"
            )));
        }
        let url = self.public_url.as_ref();
        let given = [
            ("DomainName", self.domain.clone()),
            ("CertificateArn", self.certificate.clone()),
            (
                "PublicUrl",
                url.map(|url| url.as_str().trim_end_matches('/').to_owned()),
            ),
        ];
        let given = given.into_iter();
        Ok(given.filter_map(|(name, value)| Some((name, value?))).collect())
    }
}

/// Put the platform on AWS
#[derive(Subcommand)]
pub(super) enum PlatformCommand {
    /// Make the keys of a new platform, and print the call of infra/deploy.sh that puts it on AWS
    Add(NewPlatform),
}

#[derive(Args)]
pub(super) struct NewPlatform {
    /// On AWS; there is no other place where a platform must be added
    #[arg(long, required = true)]
    aws: bool,
    /// The stage
    #[arg(long, default_value = "prod")]
    stage: String,
    /// The name of the stack
    #[arg(long, default_value = "switchyard")]
    platform_stack: String,
    #[command(flatten)]
    address: Address,
    /// Who is told of alarms
    #[arg(long, value_name = "ADDRESS")]
    alarm_email: Option<String>,
    /// Where the files with the new keys are written, for the script to read
    #[arg(long, value_name = "FOLDER", default_value = "platform-aws")]
    out: PathBuf,
}

impl PlatformCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Self::Add(new) = self;
        is_new(&new.out)?;
        let mut plan =
            PlatformPlan::new(&new.stage, &new.platform_stack, &SystemEntropy).map_err(described)?;
        plan.parameters.extend(new.address.parameters()?);
        plan.parameters
            .extend(new.alarm_email.map(|address| ("AlarmEmail", address)));
        write(&new.out, plan.files())?;
        call("platform", &new.out)
    }
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
