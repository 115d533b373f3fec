//! What `switchyard … --aws` does by AWS's own API. It takes the credentials, the profile and the region that the operator's
//! other AWS tools take.
//!
//! `switchyard-operator orders --tenant NAME --stage STAGE` stores orders that it reads from the standard input, one a line,
//! as `switchyard orders import FILE --aws` hands them over. `switchyard-operator usage` tells as JSON what a tenant's
//! language models took, for `switchyard usage --aws`; `switchyard-operator user` lists, stores and removes users of a tenant's authorization
//! server and ends sign-ins, for `switchyard user add|list|reset|remove|end --aws`, which makes passwords and their hashes itself: a user
//! comes as one line of JSON on the standard input. `switchyard-operator purge` removes what removed tenants of a name left,
//! for `switchyard tenant purge --aws`, `switchyard-operator export` writes a tenant's archive on the standard output, and `switchyard-operator audit`
//! tells as JSON what the audit has, or what a look at it against its seals found.

use std::io::{BufRead, Read, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use domain::{Clock as _, Owner, SystemClock, Tenant, Timestamp};
use edge::aws::Caller;
use edge::blobs::{Bucket, S3Blobs};
use edge::config::{Platform, ThisMachine};
use edge::secrets::SecretsPlace;
use edge::{BuildError, Ground};
use store::{HOST_CLIENT, IMPORTED_MAX, ImportError, ImportedOrder, Store, Tables, User};
use url::Url;

/// What the command `switchyard` does on AWS
#[derive(Parser)]
#[command(name = "switchyard-operator", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Store orders of a tenant, which come as lines of JSON
    Orders(Orders),
    /// Tell what a tenant's language models took, as JSON
    Usage(Usage),
    /// Remove what removed tenants of a name left in the tables, and tell what that was, as JSON
    Purge(Purge),
    /// Write all that is kept of a tenant on the standard output, as a tar
    Export(Whose),
    /// Tell what the audit has of a tenant, or of the platform, as JSON
    Audit(Audit),
    /// Look after people of a tenant
    #[command(subcommand)]
    User(People),
}

/// What is done about people.
#[derive(Subcommand)]
enum People {
    /// Add the user who comes as JSON
    Add(Whose),
    /// Give the user who comes as JSON that password, and end every sign-in of the one before
    Reset(Whose),
    /// Tell the users of the tenant's authorization server, as JSON
    List(Whose),
    /// Take a user away: every sign-in, code and refresh token ends at once
    Remove {
        /// What the user signs in with
        username: String,
        #[command(flatten)]
        whose: Whose,
    },
    /// Erase a person with all that is kept of them, or go on with everybody who is being erased; tells it as JSON
    Erase {
        /// The name they sign in with, or their id
        name: Option<String>,
        #[command(flatten)]
        whose: Whose,
    },
    /// End every sign-in of a person to the chat
    End {
        /// The issuer that they sign in at, to the letter
        issuer: String,
        /// What it calls them for good (`sub`)
        subject: String,
        #[command(flatten)]
        whose: Whose,
    },
}

#[derive(clap::Args)]
struct Whose {
    /// The tenant
    #[arg(long)]
    tenant: Tenant,
    /// The platform's stage
    #[arg(long)]
    stage: String,
}

#[derive(clap::Args)]
struct Usage {
    /// Whose models
    #[arg(long)]
    tenant: Tenant,
    /// The platform's stage
    #[arg(long)]
    stage: String,
    /// How many days, with today
    #[arg(long, default_value_t = 7)]
    days: u32,
}

#[derive(clap::Args)]
struct Purge {
    /// Whose name it was
    #[arg(long)]
    tenant: Tenant,
    /// The platform's stage
    #[arg(long)]
    stage: String,
}

#[derive(clap::Args)]
struct Audit {
    /// Whose; the platform's own where nobody is named
    #[arg(long)]
    tenant: Option<Tenant>,
    /// The platform's stage
    #[arg(long)]
    stage: String,
    /// Hold it against its seals
    #[arg(long)]
    verify: bool,
    /// Not before this time
    #[arg(long, value_parser = time)]
    since: Option<Timestamp>,
}

fn time(text: &str) -> Result<Timestamp, &'static str> {
    Timestamp::parse(text).ok_or("that is no time")
}

#[derive(clap::Args)]
struct Orders {
    /// Whose orders they are
    #[arg(long)]
    tenant: Tenant,
    /// The platform's stage
    #[arg(long)]
    stage: String,
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the standard input cannot be read: {0}")]
    Input(#[from] std::io::Error),
    #[error("the standard output cannot be written: {0}")]
    Output(std::io::Error),
    #[error("that is no user: {0}")]
    NotUser(serde_json::Error),
    #[error("line {line} is no order: {fault}")]
    Line { line: usize, fault: serde_json::Error },
    #[error("no region is set: AWS_REGION, or the profile's")]
    NoRegion,
    #[error("there is no tenant {0} here")]
    Nobody(String),
    #[error("nothing is left of a removed tenant {0}")]
    NothingLeft(String),
    #[error("there is no user {0} here")]
    NoUser(String),
    #[error("there is a user {0} already")]
    Taken(String),
    #[error("{0:?} cannot be a subject")]
    Subject(String),
    #[error("{0}")]
    Purge(#[from] store::PurgeError),
    #[error("the tables cannot be read: {fault}{why}", fault = .0, why = reason(.0))]
    Tables(#[from] store::StoreError),
    #[error("{0} is no address")]
    Address(String),
    #[error("the sealing keys cannot be read: {fault}{why}", fault = .0, why = reason(.0))]
    Keys(#[from] BuildError),
    #[error("{0}")]
    Verify(#[from] edge::audit::VerifyError),
    #[error("{fault}{}; the first {stored} orders are stored", reason(.fault))]
    Import { stored: usize, fault: ImportError },
}

/// What lies below a fault of the table, such as that there are no credentials.
fn reason(fault: &dyn std::error::Error) -> String {
    let mut text = String::new();
    let mut below = fault.source();
    while let Some(fault) = below {
        text = format!("{text}: {fault}");
        below = fault.source();
    }
    text
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let told = match Cli::parse().command {
        Command::Orders(orders) => {
            let stored = orders.import(std::io::stdin().lock()).await;
            stored.map(|stored| {
                let counted = if stored == 1 { "order" } else { "orders" };
                format!("imported {stored} {counted} for {}", orders.tenant.name())
            })
        }
        Command::Usage(usage) => usage.told().await,
        Command::Purge(purge) => purge.told().await,
        Command::Export(whose) => whose.export().await.map(|()| String::new()),
        Command::Audit(audit) => audit.told().await,
        Command::User(people) => people.done(std::io::stdin().lock()).await,
    };
    match told {
        // The archive is all that is said.
        Ok(told) if told.is_empty() => ExitCode::SUCCESS,
        Ok(told) => {
            let _nobody_reads = writeln!(std::io::stdout(), "{told}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            let _nobody_hears = writeln!(std::io::stderr(), "switchyard-operator: {failure}");
            ExitCode::FAILURE
        }
    }
}

impl Orders {
    /// Stores the orders; gives their number.
    async fn import(&self, input: impl BufRead) -> Result<usize, Failure> {
        let orders = read(input)?;
        let store = store(&self.stage).await?;
        let (mut stored, now) = (0, SystemClock.now());
        let tenant = present(&store, &self.tenant).await?;
        for batch in orders.chunks(IMPORTED_MAX) {
            let imported = store.import_orders(&tenant, batch.to_vec(), now).await;
            stored += imported.map_err(|fault| Failure::Import { stored, fault })?;
        }
        Ok(stored)
    }
}

impl Usage {
    async fn told(&self) -> Result<String, Failure> {
        let store = store(&self.stage).await?;
        let tenant = present(&store, &self.tenant).await?;
        let used = store.ledger().used(&tenant, SystemClock.now(), self.days).await?;
        Ok(serde_json::json!(used).to_string())
    }
}

impl Purge {
    async fn told(&self) -> Result<String, Failure> {
        let store = with_bucket(&self.stage).await?;
        let purge = store.purge();
        let gone = purge.gone(&self.tenant).await?;
        if gone.is_empty() {
            return Err(Failure::NothingLeft(self.tenant.name().to_owned()));
        }
        let mut purged = Vec::new();
        for tenant in gone {
            purged.push(purge.run(&tenant, SystemClock.now()).await?);
        }
        Ok(serde_json::json!({ "purged": purged }).to_string())
    }
}

impl Whose {
    /// Writes the archive on the standard output.
    async fn export(&self) -> Result<(), Failure> {
        let store = with_bucket(&self.stage).await?;
        let tenant = present(&store, &self.tenant).await?;
        let (send, mut receive) = tokio::sync::mpsc::channel::<Vec<u8>>(1);
        let export = store.export();
        let written = async move {
            let mut out = std::io::stdout().lock();
            while let Some(piece) = receive.recv().await {
                out.write_all(&piece)?;
            }
            out.flush()
        };
        let (sent, written) = tokio::join!(export.send(&tenant, SystemClock.now(), send), written);
        written.map_err(Failure::Output)?;
        Ok(sent?)
    }
}

impl Audit {
    async fn told(&self) -> Result<String, Failure> {
        let (ground, _) = ground(&self.stage).await?;
        let audit = ground.store.audit(SystemClock.now());
        let tenant = match &self.tenant {
            Some(name) => Some(present(&ground.store, name).await?),
            None => None,
        };
        let found = match self.verify {
            true => {
                let sealer = ground
                    .sealer(&format!("switchyard/{}/audit-sealing-keys", self.stage))
                    .await?;
                edge::audit::verified(audit, tenant.as_ref(), self.since, &sealer).await?
            }
            false => edge::audit::listed(audit, tenant.as_ref(), self.since).await?,
        };
        Ok(found.to_string())
    }
}

impl People {
    async fn done(&self, input: impl Read) -> Result<String, Failure> {
        let (Self::Add(whose)
        | Self::Reset(whose)
        | Self::List(whose)
        | Self::Remove { whose, .. }
        | Self::Erase { whose, .. }
        | Self::End { whose, .. }) = self;
        let store = match self {
            Self::Erase { .. } => with_bucket(&whose.stage).await?,
            _ => store(&whose.stage).await?,
        };
        let tenant = present(&store, &whose.tenant).await?;
        let identity = store.identity();
        match self {
            Self::Add(_) => {
                let user = described(input)?;
                if !identity.add_user(&tenant, &user).await? {
                    return Err(Failure::Taken(user.username));
                }
                Ok(format!("added {}", user.username))
            }
            Self::Reset(_) => {
                let User {
                    username,
                    password_hash,
                    not_before,
                    ..
                } = described(input)?;
                let at = not_before.unwrap_or_else(|| SystemClock.now());
                let reset = |user: &mut User| user.reset(&password_hash, at);
                let changed = identity.change_user(&tenant, &username, reset).await?;
                changed.ok_or_else(|| Failure::NoUser(username.clone()))?;
                Ok(format!("reset {username}"))
            }
            Self::List(_) => {
                let users = identity.list_users(&tenant).await?;
                let told = users.iter().map(|user| {
                    serde_json::json!({ "username": user.username, "displayName": user.display_name, "roles": user.roles })
                });
                Ok(serde_json::json!({ "users": told.collect::<Vec<_>>() }).to_string())
            }
            Self::Remove { username, .. } => {
                if identity.find_user(&tenant, username).await?.is_none() {
                    return Err(Failure::NoUser(username.clone()));
                }
                identity.remove_user(&tenant, username).await?;
                Ok(format!("removed {username}"))
            }
            Self::Erase { name, .. } => {
                let erasures = store.erasures();
                let erased = erasures
                    .erase_named(&tenant, name.as_deref(), SystemClock.now())
                    .await?;
                let told: Vec<_> = erased.iter().map(store::Erasure::certificate).collect();
                Ok(serde_json::json!({ "erased": told }).to_string())
            }
            Self::End { issuer, subject, .. } => {
                let wrong = |_| Failure::Subject(subject.clone());
                let owner = Owner::parse(subject).map_err(wrong)?;
                // Whatever was proved up to now.
                let at = SystemClock.now().after(std::time::Duration::from_millis(1));
                // The platform's authorization server has each tenant below its prefix.
                if issuer.ends_with(&format!("/idp/{}", tenant.prefix())) {
                    if !identity.end_user(&tenant, &owner, at).await? {
                        return Err(Failure::NoUser(subject.clone()));
                    }
                } else {
                    let person = store::person_id(issuer, &owner, None).map_err(wrong)?;
                    store.sessions().end_person(&tenant, &person, at).await?;
                }
                Ok(format!("ended every sign-in of {subject} at {issuer}"))
            }
        }
    }
}

/// The user who comes as JSON.
fn described(mut input: impl Read) -> Result<User, Failure> {
    let mut text = String::new();
    input.read_to_string(&mut text)?;
    serde_json::from_str(&text).map_err(Failure::NotUser)
}

/// The tenant that has this name now.
async fn present(store: &Store, name: &Tenant) -> Result<Tenant, Failure> {
    let nobody = || Failure::Nobody(name.name().to_owned());
    let found = store.tenants().present(name, SystemClock.now()).await?;
    let found = found.ok_or_else(nobody)?;
    // A name without a record is a tenant of an older release, or nobody's.
    let host = store.identity().find_client(&found, HOST_CLIENT).await?;
    host.map(|_| found).ok_or_else(nobody)
}

/// The tables of a stage.
async fn store(stage: &str) -> Result<Store, Failure> {
    Ok(ground(stage).await?.0.store)
}

/// The tables of a stage, with what lies in its bucket.
async fn with_bucket(stage: &str) -> Result<Store, Failure> {
    let (ground, region) = ground(stage).await?;
    let account = ground.store.account().await?;
    let bucket = Bucket {
        name: format!("switchyard-{stage}-blobs-{account}-{region}"),
        endpoint: endpoint("AWS_ENDPOINT_URL_S3")?,
        region: Some(region),
        caller: ground.caller,
    };
    let blobs = S3Blobs::new(bucket, &ground.outbound, &ground.clock);
    Ok(ground.store.with_blobs(Arc::new(blobs)))
}

/// What a function of the stage stands on, but with an operator's credentials; and the region.
async fn ground(stage: &str) -> Result<(Ground, String), Failure> {
    let config = aws_config::load_from_env().await;
    let region = config.region().ok_or(Failure::NoRegion)?.to_string();
    let caller = config.credentials_provider().map(Caller::by).unwrap_or_default();
    let is_elsewhere = endpoint("AWS_ENDPOINT_URL_S3")?.is_some_and(|url| url.scheme() == "http");
    let ground = Ground::aws(Platform {
        this_machine: match is_elsewhere {
            true => ThisMachine::Loopback,
            false => ThisMachine::Closed,
        },
        secrets: SecretsPlace {
            endpoint: endpoint("AWS_ENDPOINT_URL_SECRETS_MANAGER")?,
            region: Some(region.clone()),
            caller: caller.clone(),
        },
        caller,
        ..Platform::default()
    });
    let tables = Tables::prefixed(&format!("switchyard-{stage}-"));
    let store = Store::new(&config, tables);
    Ok((Ground { store, ..ground }, region))
}

/// Another service than AWS's own, by the variable that AWS's tools take too.
fn endpoint(variable: &str) -> Result<Option<Url>, Failure> {
    let Ok(text) = std::env::var(variable) else {
        return Ok(None);
    };
    match text.parse() {
        Ok(url) => Ok(Some(url)),
        Err(_) => Err(Failure::Address(text)),
    }
}

/// Everything, before anything is stored.
fn read(input: impl BufRead) -> Result<Vec<ImportedOrder>, Failure> {
    let mut orders = Vec::new();
    for (index, text) in input.lines().enumerate() {
        let text = text?;
        let order = serde_json::from_str(&text);
        orders.push(order.map_err(|fault| Failure::Line {
            line: index + 1,
            fault,
        })?);
    }
    Ok(orders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_order() {
        let good =
            r#"{"id":"7001","customer":"ada","status":"placed","placed_at":"2026-11-20T10:00:00.000Z"}"#;
        let read_two = read(format!("{good}\n{good}\n").as_bytes()).map(|orders| orders.len());
        assert!(matches!(read_two, Ok(2)));
        let fault = read(format!("{good}\n{{}}\n").as_bytes()).map_err(|fault| fault.to_string());
        assert!(fault.is_err_and(|fault| fault.starts_with("line 2 is no order: ")));
    }
}
