//! `switchyard platform add|remove --aws`, `switchyard pool add --aws`, `switchyard tenant add|move|remove NAME --aws` and `switchyard upgrade --aws`: write what
//! `infra/deploy.sh` needs, and print or run the call of it that does it.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use domain::{ExposeSecret, SystemEntropy, Tenant};
use idp::NewUser;
use serde_json::{Map, Value};
use url::Url;

use super::Failure;
use super::deploying::{self, Account, Deploying};
use crate::onboarding::{PARAMETERS, Plan, PlatformPlan, TenantStack, files};
use local::data::folder;

/// On AWS instead of here, and on which platform.
#[derive(Args)]
struct Place {
    /// Do it on AWS: print the call of infra/deploy.sh and its steps, or run them with --run. Run it at the root of the
    /// repository
    #[arg(long)]
    aws: bool,
    /// The platform's stage
    #[arg(long, default_value = "prod", requires = "aws")]
    stage: String,
    /// The name of the platform's stack
    #[arg(long, default_value = "switchyard", requires = "aws")]
    platform_stack: String,
    #[command(flatten)]
    deploying: Deploying,
}

impl Place {
    fn stack(&self, tenant: Tenant) -> Result<TenantStack, Failure> {
        TenantStack::new(tenant, &self.stage, &self.platform_stack).map_err(Failure::other)
    }
}

/// How a tenant comes to AWS.
#[derive(Args)]
pub(super) struct NewTenant {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    address: Address,
    /// Into the pool: no stack of its own, seconds instead of minutes, and nothing to pay while nobody is there
    #[arg(long, requires = "aws", conflicts_with_all = ["silo", "domain"])]
    pooled: bool,
    /// In a stack of its own: its own functions, roles, API, queues and secrets
    #[arg(long, requires = "aws")]
    silo: bool,
    /// A user to make; the password is written to the folder of --out. May be repeated
    #[arg(long = "user", value_name = "NAME", requires = "aws")]
    users: Vec<String>,
    /// The folder for the files with the new keys, which the script reads [default: NAME-aws]
    #[arg(long, value_name = "FOLDER", requires = "aws")]
    out: Option<PathBuf>,
}

impl NewTenant {
    /// Whether it is about a tenant on AWS.
    pub(super) fn is_asked(&self) -> bool {
        self.place.aws
    }

    pub(super) fn add(self, tenant: Tenant) -> Result<(), Failure> {
        let folder = self
            .out
            .clone()
            .unwrap_or_else(|| format!("{}-aws", tenant.name()).into());
        let address = match self.tier()? {
            Tier::Silo => self.address.parameters(&self.place.stage)?,
            // It has one below the pool's, unless something else stands before that.
            Tier::Pool => self.address.given()?,
        };
        let users = named(&self.users)?;
        let stack = self.place.stack(tenant.incarnated(&SystemEntropy))?;
        let deploying = &self.place.deploying;
        let mut wanted = vec![
            ("Stage", self.place.stage.clone()),
            ("PlatformStack", self.place.platform_stack.clone()),
            ("Tenant", stack.tenant.name().to_owned()),
        ];
        wanted.extend(address.iter().cloned());
        if !goes_on(&folder, deploying.run, &wanted)? {
            let users: Vec<NewUser> = users
                .iter()
                .map(|name| NewUser {
                    username: name.clone(),
                    display_name: name.clone(),
                    password: auth::token::random("", &SystemEntropy),
                    roles: Vec::new(),
                })
                .collect();
            let mut plan = Plan::new(stack, &users, &SystemEntropy).map_err(described)?;
            plan.parameters.extend(address);
            let mut files = plan.files();
            files.extend(users.iter().map(|user| {
                let password = user.password.expose_secret().to_owned();
                (password_file(&user.username), password)
            }));
            write(&folder, files)?;
        } else if let Some(new) = users
            .iter()
            .find(|name| !folder.join(password_file(name)).exists())
        {
            return Err(Failure::other(format!(
                "{} has no user {new}; the users of a new tenant are named once",
                folder.display()
            )));
        }
        let command = match self.tier()? {
            Tier::Silo => "tenant",
            Tier::Pool => "pooled",
        };
        deploying.call(&[command, &absolute(&folder)?])
    }

    fn tier(&self) -> Result<Tier, Failure> {
        let said = match (self.pooled, self.silo) {
            (true, _) => Some(Tier::Pool),
            (_, true) => Some(Tier::Silo),
            _ => DEFAULT_TIER,
        };
        said.ok_or_else(|| {
            Failure::other(
                "say where: --pooled (in the stack that tenants share; `switchyard pool add --aws` makes it), or --silo (in a \
                 stack of its own)",
            )
        })
    }
}

/// Where a tenant's functions are.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Tier {
    /// In the stack that tenants share.
    Pool,
    /// In a stack of its own.
    Silo,
}

/// Where a new tenant comes if nobody says so: into the pool, once an account has shown that Lambda's isolation by tenant goes with
/// streams (docs/aws-untested.md).
const DEFAULT_TIER: Option<Tier> = None;

/// How a tenant moves on AWS.
#[derive(Args)]
pub(super) struct MovedTenant {
    /// The tenant's name
    name: Tenant,
    /// Where to
    #[arg(long, value_enum)]
    to: Tier,
    /// On AWS (required: a local system has one tier)
    #[arg(long, required = true)]
    aws: bool,
    /// The folder that `switchyard tenant add NAME --aws` wrote [default: NAME-aws]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    #[command(flatten)]
    deploying: Deploying,
}

impl MovedTenant {
    pub(super) fn run(self) -> Result<(), Failure> {
        let folder = self
            .folder
            .unwrap_or_else(|| format!("{}-aws", self.name.name()).into());
        let told = parameters(&folder)?;
        let whose = told.get("Tenant").and_then(Value::as_str).unwrap_or_default();
        if whose != self.name.name() {
            return Err(Failure::other(format!("{} is of {whose}", folder.display())));
        }
        let command = match self.to {
            Tier::Pool => "to-pool",
            Tier::Silo => "to-silo",
        };
        self.deploying.call(&[command, &absolute(&folder)?])
    }
}

/// How a tenant leaves AWS.
#[derive(Args)]
pub(super) struct OldTenant {
    #[command(flatten)]
    place: Place,
    /// A user that was made with the tenant, who is removed with it. May be repeated
    #[arg(long = "user", value_name = "NAME", requires = "aws")]
    users: Vec<String>,
}

impl OldTenant {
    /// Whether it is about a tenant on AWS.
    pub(super) fn is_asked(&self) -> bool {
        self.place.aws
    }

    pub(super) fn remove(self, tenant: Tenant) -> Result<(), Failure> {
        let stack = self.place.stack(tenant)?;
        let mut words = vec!["remove", stack.tenant.name()];
        words.extend(["--stage", &stack.stage, "--platform-stack", &stack.platform]);
        for user in named(&self.users)? {
            words.extend(["--user", user]);
        }
        self.place.deploying.call(&words)
    }
}

/// Names of files and words of a shell are made of them.
fn named(users: &[String]) -> Result<&[String], Failure> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._@+-".contains(&b);
    match users.iter().find(|name| !name.bytes().all(plain)) {
        None => Ok(users),
        Some(odd) => Err(Failure::other(format!(
            "a user cannot be named {odd:?}: use lower-case letters, digits and ._@+-"
        ))),
    }
}

pub(super) fn described(fault: impl std::error::Error) -> Failure {
    let mut text = fault.to_string();
    let mut source = fault.source();
    while let Some(deeper) = source {
        text = format!("{text}: {deeper}");
        source = deeper.source();
    }
    Failure::other(text)
}

fn password_file(user: &str) -> String {
    format!("password-{user}")
}

/// Whether the folder of an earlier run is gone on with. The keys of a folder that is there may be those of something that
/// runs: it must be of the same, and only a run goes on.
fn goes_on(folder: &Path, run: bool, wanted: &[(&str, String)]) -> Result<bool, Failure> {
    if !folder.exists() {
        return Ok(false);
    }
    let place = folder.display();
    if !run {
        return Err(Failure::other(format!(
            "{place} is there already; name another folder with --out, or go on with it by --run"
        )));
    }
    let told = parameters(folder)?;
    for (name, value) in wanted {
        let there = told.get(*name).and_then(Value::as_str).unwrap_or_default();
        if there != value {
            return Err(Failure::other(format!(
                "{place} is of another deployment: its {name} is {there:?}, not {value:?}; name another folder with --out, or \
                 change its {PARAMETERS}"
            )));
        }
    }
    Ok(true)
}

/// The parameters in a folder of an earlier run.
pub(super) fn parameters(folder: &Path) -> Result<Map<String, Value>, Failure> {
    let file = folder.join(PARAMETERS);
    let Some(text) = folder::read(&file)? else {
        return Err(Failure::other(format!(
            "there is no {}; was it `--out` of another folder?",
            file.display()
        )));
    };
    serde_json::from_str(&text).map_err(|fault| {
        Failure::other(format!(
            "{} is not the JSON that was written there: line {}, column {}",
            file.display(),
            fault.line(),
            fault.column()
        ))
    })
}

pub(super) fn absolute(folder: &Path) -> Result<String, Failure> {
    let folder = std::path::absolute(folder).map_err(Failure::other)?;
    match folder.to_str() {
        Some(folder) => Ok(folder.to_owned()),
        None => Err(Failure::other(format!("{} has an odd name", folder.display()))),
    }
}

/// Writes the files of a plan: the folder is there with all of them, or not at all.
fn write(folder: &Path, files: Vec<(String, String)>) -> Result<(), Failure> {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let draft = folder.with_file_name(name);
    let write = || {
        create(&draft)?;
        for (name, text) in files {
            folder::write(&draft.join(name), &text)?;
        }
        std::fs::rename(&draft, folder)
            .map_err(|fault| Failure::other(format!("{}: {fault}", folder.display())))
    };
    write().inspect_err(|_| {
        let _gone = std::fs::remove_dir_all(&draft);
    })
}

/// Where an API is reached, if not at the address that AWS gives it. `platform add` and `tenant add` have the same.
#[derive(Args)]
struct Address {
    /// A domain name for the API; point its DNS record at the stack's output DomainTarget
    #[arg(
        long,
        value_name = "NAME",
        requires = "certificate",
        conflicts_with = "public_url"
    )]
    domain: Option<String>,
    /// The domain's certificate in ACM, in the stack's region
    #[arg(long, value_name = "ARN", requires = "domain")]
    certificate: Option<String>,
    /// The address of a proxy in front of the API, such as CloudFront: https://HOST
    #[arg(long, value_name = "URL")]
    public_url: Option<Url>,
}

impl Address {
    /// The parameters of either template. In production an address is somebody's own: it is in tokens, cards, redirect URIs and
    /// consents, and everybody would sign in anew if it moved. The templates refuse it too, after half an hour of building.
    fn parameters(&self, stage: &str) -> Result<Vec<(&'static str, String)>, Failure> {
        let given = self.given()?;
        if stage == "prod" && given.is_empty() {
            return Err(Failure::other(
                "the stage prod wants a domain of its own: --domain NAME --certificate ARN, or --public-url; \
                 to try it out without one, name another stage with each command: --stage trial",
            ));
        }
        Ok(given)
    }

    fn given(&self) -> Result<Vec<(&'static str, String)>, Failure> {
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

/// Deploy the platform to AWS, or remove it
#[derive(Subcommand)]
pub(super) enum PlatformCommand {
    /// Make the keys of a new platform, and print or run the steps that deploy it
    Add(NewPlatform),
    /// Print or run the steps that remove the platform, once it has no tenants
    Remove(OldPlatform),
}

#[derive(Args)]
pub(super) struct NewPlatform {
    /// On AWS (required: only there a platform has to be added)
    #[arg(long, required = true)]
    aws: bool,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    address: Address,
    /// The mail address for alarms
    #[arg(long, value_name = "ADDRESS")]
    alarm_email: Option<String>,
    /// The folder for the files with the new keys, which the script reads
    #[arg(long, value_name = "FOLDER", default_value = PLATFORM_FOLDER)]
    out: PathBuf,
    #[command(flatten)]
    deploying: Deploying,
}

/// Deploy the stack on AWS that many tenants share
#[derive(Subcommand)]
pub(super) enum PoolCommand {
    /// Print or run the steps that deploy it
    Add(NewPool),
}

#[derive(Args)]
pub(super) struct NewPool {
    /// On AWS (required: a local system keeps its tenants as a pool does)
    #[arg(long, required = true)]
    aws: bool,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    address: Address,
    /// The folder for the file with its parameters, which the script reads
    #[arg(long, value_name = "FOLDER", default_value = "pool-aws")]
    out: PathBuf,
    #[command(flatten)]
    deploying: Deploying,
}

impl PoolCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Self::Add(new) = self;
        let stack = &new.which.platform_stack;
        // Names that a shell could misread are refused by the same rule as a platform's.
        PlatformPlan::new(&new.which.stage, stack, &SystemEntropy).map_err(described)?;
        let mut wanted = vec![
            ("Stage", new.which.stage.clone()),
            ("PlatformStack", stack.clone()),
            ("PlatformUrl", format!("/switchyard/{}/url", new.which.stage)),
        ];
        wanted.extend(new.address.parameters(&new.which.stage)?);
        if !goes_on(&new.out, new.deploying.run, &wanted)? {
            write(&new.out, files(&wanted, &[]).collect())?;
        }
        new.deploying.call(&["pool", &absolute(&new.out)?])
    }
}

/// Which platform.
#[derive(Args)]
struct Which {
    /// The stage
    #[arg(long, default_value = "prod")]
    stage: String,
    /// The name of the stack
    #[arg(long, default_value = "switchyard")]
    platform_stack: String,
}

#[derive(Args)]
pub(super) struct OldPlatform {
    /// On AWS (required: only there a platform can be removed)
    #[arg(long, required = true)]
    aws: bool,
    #[command(flatten)]
    which: Which,
    /// Also delete the tables and keys: everybody's data, for good
    #[arg(long)]
    with_data: bool,
    #[command(flatten)]
    deploying: Deploying,
}

/// Where a platform's files are, if nothing else is said.
const PLATFORM_FOLDER: &str = "platform-aws";

impl PlatformCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Add(new) => new.run(),
            Self::Remove(old) => old.run(),
        }
    }
}

impl NewPlatform {
    fn run(self) -> Result<(), Failure> {
        let mut given = self.address.parameters(&self.which.stage)?;
        given.extend(self.alarm_email.map(|address| ("AlarmEmail", address)));
        let mut wanted = vec![("Stage", self.which.stage.clone())];
        wanted.extend(given.iter().cloned());
        let stack = &self.which.platform_stack;
        if goes_on(&self.out, self.deploying.run, &wanted)? {
            let there = folder::read(&self.out.join("stack"))?.unwrap_or_default();
            if there.trim() != stack {
                return Err(Failure::other(format!(
                    "{} is of another platform: its stack is {there:?}, not {stack:?}",
                    self.out.display()
                )));
            }
        } else {
            let mut plan = PlatformPlan::new(&self.which.stage, stack, &SystemEntropy).map_err(described)?;
            plan.parameters.extend(given);
            write(&self.out, plan.files())?;
        }
        self.deploying.call(&["platform", &absolute(&self.out)?])
    }
}

impl OldPlatform {
    fn run(self) -> Result<(), Failure> {
        let Which {
            stage,
            platform_stack,
        } = &self.which;
        // Names that a shell or a table could misread are refused by the same rule as new ones.
        PlatformPlan::new(stage, platform_stack, &SystemEntropy).map_err(described)?;
        let mut words = vec![
            "remove-platform",
            "--stage",
            stage,
            "--platform-stack",
            platform_stack,
        ];
        words.extend(self.with_data.then_some("--with-data"));
        self.deploying.call(&words)
    }
}

/// Deploy this release to AWS: the platform, then each of its tenants. Parameters, addresses and keys stay as they are
#[derive(Args)]
pub(super) struct Upgrade {
    /// On AWS (required: to upgrade a local system, start the new program on its data folder)
    #[arg(long, required = true)]
    aws: bool,
    /// Only show what would change
    #[arg(long)]
    plan: bool,
    /// The folder that `switchyard platform add --aws` wrote
    #[arg(long, value_name = "FOLDER", default_value = PLATFORM_FOLDER)]
    folder: PathBuf,
    #[command(flatten)]
    account: Account,
}

impl Upgrade {
    pub(super) fn run(self) -> Result<(), Failure> {
        complete(&self.folder)?;
        let folder = absolute(&self.folder)?;
        let mut words = vec!["upgrade", folder.as_str()];
        words.extend(self.plan.then_some("--plan"));
        deploying::run(&words, &self.account)
    }
}

/// Adds to a folder that an older release wrote the paths and keys that this one wants besides. What is there stays.
fn complete(folder: &Path) -> Result<(), Failure> {
    let mut told = parameters(folder)?;
    let stage = told.get("Stage").and_then(Value::as_str).unwrap_or_default();
    let stack = folder::read(&folder.join("stack"))?.unwrap_or_default();
    let fresh = PlatformPlan::new(stage, stack.trim(), &SystemEntropy).map_err(described)?;
    for (name, secret) in &fresh.secrets {
        let file = folder.join(name);
        if !file.exists() {
            folder::write(&file, secret.expose_secret())?;
        }
    }
    let known = told.len();
    for (name, value) in fresh.parameters {
        // The operator's issuer belongs to the operator's key.
        if name.ends_with("Path") {
            told.entry(name).or_insert_with(|| Value::from(value));
        }
    }
    if told.len() > known {
        folder::write(&folder.join(PARAMETERS), &Value::from(told).to_string())?;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_an_older_release_gets_what_is_new_and_keeps_what_it_has() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("platform");
        let plan = PlatformPlan::new("prod", "switchyard", &SystemEntropy).unwrap();
        write(&folder, plan.files()).unwrap();
        let mut older = parameters(&folder).unwrap();
        let whole = older.clone();
        older.remove("CalendarPath");
        folder::write(&folder.join(PARAMETERS), &Value::from(older).to_string()).unwrap();
        std::fs::remove_file(folder.join("calendar-sealing-keys")).unwrap();
        let kept = std::fs::read_to_string(folder.join("idp-keys")).unwrap();

        complete(&folder).unwrap();
        let now = parameters(&folder).unwrap();
        assert!(now["CalendarPath"].as_str().unwrap().len() >= 32);
        assert!(
            whole
                .iter()
                .all(|(name, value)| name == "CalendarPath" || now[name] == *value)
        );
        assert!(folder.join("calendar-sealing-keys").exists());
        assert_eq!(std::fs::read_to_string(folder.join("idp-keys")).unwrap(), kept);
        // Once more nothing changes.
        complete(&folder).unwrap();
        assert_eq!(parameters(&folder).unwrap(), now);

        assert!(complete(&place.path().join("nowhere")).is_err());
        folder::write(&folder.join(PARAMETERS), "Stage: prod").unwrap();
        assert!(complete(&folder).unwrap_err().to_string().contains("line 1"));
    }

    #[test]
    fn a_run_goes_on_with_a_folder_of_the_same_alone() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("platform");
        let stage = |name: &str| [("Stage", name.to_owned())];
        assert!(!goes_on(&folder, true, &stage("prod")).unwrap());
        let plan = PlatformPlan::new("prod", "switchyard", &SystemEntropy).unwrap();
        write(&folder, plan.files()).unwrap();
        assert!(goes_on(&folder, true, &stage("prod")).unwrap());
        for (run, stage, word) in [(true, stage("test"), "Stage"), (false, stage("prod"), "--run")] {
            let refused = goes_on(&folder, run, &stage).unwrap_err().to_string();
            assert!(refused.contains(word), "{refused}");
        }
        assert!(
            write(&folder, Vec::new()).is_err(),
            "a folder that is there is not replaced"
        );
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
    }
}
