//! The command line of `switchyard`: starts the local system, talks to a running one, and plans what is deployed to AWS.
//!
//! Not here: the system itself (`infra/local`), and what is done by AWS's own API (`infra/operator`).

#![warn(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nobody reads: `out` does not"
)]

#[macro_use]
mod out;

mod agent;
mod agents;
mod audit;
mod brand;
mod chat;
mod checked;
mod client;
mod completions;
mod deliveries;
mod deploying;
mod dev;
mod doctor;
mod eval;
mod export;
mod here;
mod issuer;
mod keys;
mod lines;
mod logs;
mod mcp;
mod models_here;
mod mqtt;
mod new_agent;
pub mod onboarding;
mod openapi;
mod orders;
mod page;
mod place;
mod plan;
mod pooled;
mod register;
mod registered;
mod rotating;
mod rotation;
mod sam_env;
mod status;
mod tasks;
mod tenant;
mod tenant_at;
mod tenant_aws;
mod tenant_export;
mod token;
mod trying;
mod up;
mod usage;
mod user;
mod verify;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::client::ClientError;
use local::{ChangeError, StartError};

/// A multi-tenant agent orchestrator
///
/// Every tenant's users talk to one host agent; it finds the right specialist, hands the work over and brings the answer
/// back. `switchyard up` runs the whole system on this machine: it needs no account and no keys, and nothing leaves the
/// machine unless you say so.
#[derive(Parser)]
#[command(
    name = "switchyard",
    version = env!("SWITCHYARD_VERSION"),
    args_conflicts_with_subcommands = true,
    arg_required_else_help = false
)]
#[command(
    after_help = "Without a command, `switchyard up` is run, and takes its options.\n\nExamples:\n  switchyard up\n  switchyard chat --tenant acme \"Will it \
                  rain in Oslo tomorrow?\"\n  switchyard agents\n\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 no answer yet, \
                  130 interrupted."
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    up: up::Up,
    /// Print an object of JSON a line
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Start everything in one process (the default command)
    Up(Box<up::Up>),
    /// Talk to a tenant's host agent from the terminal
    Chat(chat::Chat),
    /// Say what runs: where, for which tenants, with which agents
    Status(status::Status),
    /// List the tasks of this terminal's session, the newest first
    Tasks(tasks::Tasks),
    /// Show a task's timeline
    Task(tasks::TaskCommand),
    /// Show what the running system logs
    Logs(logs::Logs),
    /// Open a tenant's page in the browser
    Open(status::Open),
    /// Register, list, check, disable and remove agents
    #[command(subcommand)]
    Agent(agent::Agent),
    /// List the registered agents
    Agents(agents::Agents),
    /// List push notifications and their state, or deliver them again
    Deliveries(deliveries::Deliveries),
    /// Import a tenant's orders
    #[command(subcommand)]
    Orders(orders::Orders),
    /// Make a short-lived token, to call an agent by hand
    Token(token::Token),
    /// Add, list, change and remove tenants
    #[command(subcommand)]
    Tenant(tenant::TenantCommand),
    /// Add, list, reset and remove a tenant's users
    #[command(subcommand)]
    User(user::User),
    /// Let people sign in to the chat at other OpenID providers
    #[command(subcommand)]
    Issuer(issuer::Issuer),
    /// Show how many tokens a tenant's language models used, and the limit
    Usage(usage::Usage),
    /// Show who did what, and whether that is what was sealed
    Audit(audit::Audit),
    /// Play labelled prompts against whatever decides for a tenant, and say how many are right; nothing is done
    Eval(eval::Eval),
    /// Deploy the platform to AWS, or remove it
    #[command(subcommand)]
    Platform(tenant_aws::PlatformCommand),
    /// Deploy the stack on AWS that many tenants share
    #[command(subcommand)]
    Pool(tenant_aws::PoolCommand),
    /// Deploy this release to AWS
    Upgrade(tenant_aws::Upgrade),
    /// Check that a system answers as it should
    Verify(verify::Verify),
    /// Look at this machine and at the running system, and say what is missing
    Doctor(doctor::Doctor),
    /// Rotate keys
    #[command(subcommand)]
    Keys(keys::Keys),
    /// Write the settings to run single functions outside of the system, against it
    SamEnv(sam_env::SamEnv),
    /// Pin the tools of an MCP server
    #[command(subcommand)]
    Mcp(mcp::McpCommand),
    /// Try an MQTT broker, keep tenants apart there, and register its agents
    #[command(subcommand)]
    Mqtt(mqtt::MqttCommand),
    /// Develop the page: start everything, and rebuild the page when its sources change
    Page(Box<page::Page>),
    /// Print the API document (OpenAPI 3.1)
    Openapi,
    /// Print completions for a shell
    Completions(completions::Completions),
}

/// Why a command failed: one sentence.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Change(#[from] ChangeError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("{0}")]
    Other(String),
    /// Not a failure of anything: the work goes on without us.
    #[error("{0}")]
    NotYet(String),
    /// Somebody pressed Ctrl-C.
    #[error("stopped waiting; the task goes on, ask again later")]
    Interrupted {
        /// Something was asked, and is worked on.
        work: bool,
    },
}

/// The exit code of a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

impl Failure {
    fn other(what: impl ToString) -> Self {
        Self::Other(what.to_string())
    }

    fn code(&self) -> u8 {
        match self {
            Self::NotYet(_) => 3,
            Self::Interrupted { .. } => INTERRUPTED,
            _ => 1,
        }
    }
}

/// The command line. The options of `up` are taken without its name, and shown by `up --help` alone.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command().mut_args(|argument| {
        let is_of_all = argument.is_global_set();
        argument.hide(!is_of_all)
    })
}

/// Runs the command line of the process.
#[must_use]
pub fn run() -> ExitCode {
    let matches = command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|fault| fault.exit());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(dispatch(cli)),
        Err(fault) => Err(Failure::other(format!("the runtime does not start: {fault}"))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Interrupted { work }) => {
            // The line with the terminal's `^C`, and what was begun on it.
            out::complain(format_args!(""));
            if work {
                out::complain(format_args!("switchyard: {}", Failure::Interrupted { work }));
            }
            // Not by returning: somebody may still read a line from the terminal.
            std::process::exit(INTERRUPTED.into())
        }
        Err(failure) => {
            out::complain(format_args!("switchyard: {failure}"));
            ExitCode::from(failure.code())
        }
    }
}

async fn dispatch(cli: Cli) -> Result<(), Failure> {
    out::set_json(cli.json);
    match cli.command.unwrap_or_else(|| Command::Up(Box::new(cli.up))) {
        Command::Up(up) => Box::pin(up.run()).await,
        Command::Chat(chat) => Box::pin(chat.run()).await,
        Command::Status(status) => status.run().await,
        Command::Tasks(tasks) => tasks.run().await,
        Command::Task(task) => task.run().await,
        Command::Logs(logs) => logs.run().await,
        Command::Open(open) => open.run(),
        Command::Agent(agent) => agent.run().await,
        Command::Agents(agents) => agents.run().await,
        Command::Deliveries(deliveries) => deliveries.run().await,
        Command::Orders(orders) => orders.run().await,
        Command::Usage(usage) => usage.run().await,
        Command::Audit(audit) => audit.run().await,
        Command::Eval(eval) => eval.run().await,
        Command::Token(token) => token.run().await,
        Command::Tenant(tenant) => tenant.run().await,
        Command::Issuer(issuer) => issuer.run().await,
        Command::User(user) => user.run().await,
        Command::Platform(platform) => platform.run(),
        Command::Pool(pool) => pool.run(),
        Command::Upgrade(upgrade) => upgrade.run(),
        Command::Verify(verify) => verify.run().await,
        Command::Doctor(doctor) => Box::pin(doctor.run()).await,
        Command::Keys(keys) => keys.run().await,
        Command::SamEnv(sam_env) => sam_env.run().await,
        Command::Mcp(mcp) => mcp.run().await,
        Command::Mqtt(mqtt) => mqtt.run().await,
        Command::Page(page) => Box::pin(page.run()).await,
        Command::Openapi => openapi::print(),
        Command::Completions(completions) => completions.run(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
