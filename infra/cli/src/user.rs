//! `switchyard user …`: the users of a tenant's authorization server.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use clap::{Args, Subcommand};
use domain::{Clock as _, ExposeSecret as _, SystemClock, SystemEntropy, Tenant};
use http::Method;
use serde_json::{Value, json};

use super::Failure;
use super::orders::operator;
use super::place::Whose;
use super::plan::Share;
use local::functions::identity::display_name;

/// How long to wait before an erasure is asked for again.
const AGAIN: Duration = Duration::from_secs(2);

/// Add, list, reset and remove a tenant's users
#[derive(Subcommand)]
pub(super) enum User {
    /// Add a user, and print the password
    Add(New),
    /// List the users
    List(All),
    /// Give a user a new password, print it, and end every sign-in
    Reset(One),
    /// Remove a user: every sign-in, code and refresh token ends at once
    Remove(One),
    /// Let a user use more, or less, of the tenant's plan than a tenth
    Share(Share),
    /// Erase a person with all that is kept of them but their account, and print what was erased
    Erase(Erased),
    /// End every sign-in of a person to the chat, also of a person of another issuer
    End(Person),
}

/// Where the tenant is.
#[derive(Args)]
struct Where {
    /// Do it on AWS, with this machine's AWS credentials, profile and region
    #[arg(long, conflicts_with_all = ["data", "endpoints"])]
    aws: bool,
    /// The platform's stage on AWS
    #[arg(long, default_value = "prod", requires = "aws")]
    stage: String,
}

#[derive(Args)]
pub(super) struct New {
    /// The name to sign in with: lower-case letters, digits and ._@+-
    username: String,
    /// A role beside member: operator (deliveries, agents, usage) or admin (also users and settings). May be repeated
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    at: Where,
}

#[derive(Args)]
pub(super) struct All {
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    at: Where,
}

#[derive(Args)]
pub(super) struct One {
    /// The name to sign in with
    username: String,
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    at: Where,
}

#[derive(Args)]
pub(super) struct Erased {
    /// The name they sign in with, or their id; without one, everybody who is being erased
    name: Option<String>,
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    at: Where,
}

#[derive(Args)]
pub(super) struct Person {
    /// The person's issuer, exactly
    issuer: String,
    /// The person's `sub` there
    subject: String,
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    at: Where,
}

impl User {
    pub(super) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Add(New {
                username,
                roles,
                whose,
                at,
            }) => {
                plain(&username)?;
                if at.aws {
                    let password = at
                        .hand_over(&whose.tenant, "add", (username.as_str(), roles))
                        .await?;
                    told!(
                        account(&username, &password),
                        "added {username}, who signs in with {password}"
                    );
                    return Ok(());
                }
                let body = json!({ "username": username, "roles": roles });
                let told = whose.ask(Method::POST, "/users", Some(&body)).await?;
                let password = password(&told);
                told!(
                    account(&username, password),
                    "added {username}, who signs in with {password}"
                );
            }
            Self::Reset(One { username, whose, at }) => {
                plain(&username)?;
                if at.aws {
                    let user = (username.as_str(), Vec::new());
                    let password = at.hand_over(&whose.tenant, "reset", user).await?;
                    told!(
                        account(&username, &password),
                        "{username} signs in with {password} from now on"
                    );
                    return Ok(());
                }
                let told = whose
                    .ask(Method::POST, &format!("/users/{username}/reset"), None)
                    .await?;
                let password = password(&told);
                told!(
                    account(&username, password),
                    "{username} signs in with {password} from now on"
                );
            }
            Self::Share(share) => return share.run().await,
            Self::Remove(One { username, whose, at }) => {
                plain(&username)?;
                if at.aws {
                    outln!("{}", at.ask(&whose.tenant, &["remove", &username])?.trim_end());
                    return Ok(());
                }
                whose
                    .ask(Method::DELETE, &format!("/users/{username}"), None)
                    .await?;
                told!(json!({ "removed": username }), "removed {username}");
            }
            Self::End(Person {
                issuer,
                subject,
                whose,
                at,
            }) => {
                if at.aws {
                    let told = at.ask(&whose.tenant, &["end", &issuer, &subject])?;
                    outln!("{}", told.trim_end());
                    return Ok(());
                }
                let body = json!({ "issuer": issuer, "subject": subject });
                whose.ask(Method::POST, "/people/end", Some(&body)).await?;
                told!(body, "ended every sign-in of {subject} at {issuer}");
            }
            Self::Erase(Erased { name, whose, at }) => {
                let (name, mut waited) = (name.as_deref(), false);
                loop {
                    let told = match at.aws {
                        true => {
                            let asked: Vec<&str> = std::iter::once("erase").chain(name).collect();
                            let told = at.ask(&whose.tenant, &asked)?;
                            serde_json::from_str(&told).map_err(Failure::other)?
                        }
                        false => {
                            let body = json!({ "name": name });
                            whose.ask(Method::POST, "/people/erase", Some(&body)).await?
                        }
                    };
                    let erased = told.get("erased").and_then(Value::as_array);
                    let erased = erased.map(Vec::as_slice).unwrap_or_default();
                    if erased.is_empty() {
                        return Err(Failure::other("there is nobody of that name to erase"));
                    }
                    // Agents have to hear first that their tasks are canceled.
                    if erased.iter().any(|one| one["doneAt"].is_null()) {
                        if !std::mem::replace(&mut waited, true) {
                            super::out::complain(format_args!(
                                "waiting until their agents have heard that tasks are canceled, ten minutes at most …"
                            ));
                        }
                        tokio::time::sleep(AGAIN).await;
                        continue;
                    }
                    told!(told, "{told:#}");
                    break;
                }
            }
            Self::List(All { whose, at }) => {
                let told = match at.aws {
                    true => {
                        let told = at.ask(&whose.tenant, &["list"])?;
                        serde_json::from_str(&told).map_err(Failure::other)?
                    }
                    false => whose.ask(Method::GET, "/users", None).await?,
                };
                let users = told.get("users").and_then(Value::as_array);
                for user in users.into_iter().flatten() {
                    let text = |name: &str| user.get(name).and_then(Value::as_str).unwrap_or_default();
                    let roles = user.get("roles").and_then(Value::as_array);
                    let roles: Vec<&str> = roles.into_iter().flatten().filter_map(Value::as_str).collect();
                    let line = [text("username"), text("displayName"), &roles.join(" ")].join("  ");
                    told!(user, "{}", line.trim_end());
                }
            }
        }
        Ok(())
    }
}

fn account(username: &str, password: &str) -> Value {
    json!({ "username": username, "password": password })
}

/// The name becomes a part of an address.
fn plain(username: &str) -> Result<(), Failure> {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._@+-".contains(&b);
    match !username.is_empty() && username.bytes().all(fits) {
        true => Ok(()),
        false => Err(Failure::other(format!(
            "a user cannot be named {username:?}: use lower-case letters, digits and ._@+-"
        ))),
    }
}

fn password(told: &Value) -> &str {
    told.get("password").and_then(Value::as_str).unwrap_or_default()
}

impl Where {
    /// Makes a user with a new password, and has the program for AWS store what is known of them; the password. What hashes it is
    /// no part of that program, and the password never reaches it.
    async fn hand_over(
        &self,
        tenant: &Tenant,
        what: &str,
        (username, roles): (&str, Vec<String>),
    ) -> Result<String, Failure> {
        let password = idp::new_password(&SystemEntropy);
        let new = idp::NewUser {
            username: username.to_owned(),
            display_name: display_name(username),
            password: password.clone(),
            roles,
        };
        let user = idp::new_user(&new, SystemClock.now(), &SystemEntropy).await;
        let user = serde_json::to_string(&user.map_err(Failure::other)?).map_err(Failure::other)?;
        self.tell(tenant, &[what], &user)?;
        Ok(password.expose_secret().to_owned())
    }

    /// Has the program for AWS do it; what it says.
    fn ask(&self, tenant: &Tenant, what: &[&str]) -> Result<String, Failure> {
        self.tell(tenant, what, "")
    }

    /// The same with something to read.
    fn tell(&self, tenant: &Tenant, what: &[&str], input: &str) -> Result<String, Failure> {
        let mut child = operator()?
            .arg("user")
            .args(what)
            .args(["--tenant", tenant.name(), "--stage", &self.stage])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Failure::other)?;
        // Where it does not read on, it says itself why.
        let _ended_early = child
            .stdin
            .take()
            .map(|mut pipe| pipe.write_all(input.as_bytes()));
        let output = child.wait_with_output().map_err(Failure::other)?;
        if !output.status.success() {
            return Err(Failure::other("nothing was changed or told"));
        }
        String::from_utf8(output.stdout).map_err(Failure::other)
    }
}
