//! `switchyard audit`: who did what, and whether that is what was sealed.

use std::process::Stdio;

use clap::Args;
use domain::{Tenant, Timestamp};
use serde_json::Value;

use super::Failure;
use super::orders::operator;
use super::place::{RunningSystem, admin};
use crate::client::Call;

/// Show who did what, the newest first; or hold it against its seals
#[derive(Args)]
pub(super) struct Audit {
    #[command(flatten)]
    place: RunningSystem,
    /// The tenant; without it, what was done to the platform
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// Name what was changed, removed or inserted after it was sealed, and what is not sealed yet; fails where something was
    #[arg(long)]
    verify: bool,
    /// Not before this time, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Timestamp>,
    /// Look on AWS, with this machine's AWS credentials, profile and region
    #[arg(long, conflicts_with_all = ["data", "endpoints"])]
    aws: bool,
    /// The platform's stage on AWS
    #[arg(long, default_value = "prod", requires = "aws")]
    stage: String,
}

fn time(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text).ok_or_else(|| "a time is such as 2026-01-31T12:00:00Z".to_owned())
}

impl Audit {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let told = match self.aws {
            true => self.on_aws()?,
            false => self.here().await?,
        };
        if crate::out::is_json() {
            crate::out::event(&told);
        } else if self.verify {
            for line in findings(&told) {
                outln!("{line}");
            }
        } else {
            for entry in listed(&told, "entries") {
                let field = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or("-").to_owned();
                let fields = ["at", "action", "actor", "object", "result", "source"].map(field);
                outln!("{}", fields.join("  "));
            }
        }
        match listed(&told, "faults").len() {
            0 => Ok(()),
            faults => Err(Failure::other(format!(
                "{faults} things are not as they were sealed"
            ))),
        }
    }

    async fn here(&self) -> Result<Value, Failure> {
        let of = self.tenant.as_ref();
        let of = of.map_or_else(
            || "/audit".to_owned(),
            |name| format!("/tenants/{}/audit", name.name()),
        );
        let since = self
            .since
            .map(|since| format!("&since={since}"))
            .unwrap_or_default();
        let path = format!("{of}?verify={}{since}", self.verify);
        self.place
            .ask(|endpoints| Call::get(admin(endpoints, &path)))
            .await
    }

    fn on_aws(&self) -> Result<Value, Failure> {
        let mut command = operator()?;
        command.args(["audit", "--stage", &self.stage]);
        if let Some(tenant) = &self.tenant {
            command.args(["--tenant", tenant.name()]);
        }
        if let Some(since) = self.since {
            command.args(["--since", &since.to_string()]);
        }
        command.args(self.verify.then_some("--verify"));
        let output = command
            .stderr(Stdio::inherit())
            .output()
            .map_err(Failure::other)?;
        if !output.status.success() {
            return Err(Failure::other("the audit was not read"));
        }
        serde_json::from_slice(&output.stdout).map_err(Failure::other)
    }
}

fn listed<'t>(told: &'t Value, name: &str) -> &'t [Value] {
    told.get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// What a look found, a line each.
fn findings(told: &Value) -> Vec<String> {
    let text = |of: &Value, name: &str| of.get(name).map(ToString::to_string).unwrap_or_default();
    let plain = |of: &Value| of.as_str().unwrap_or_default().to_owned();
    let mut lines = vec![format!(
        "entries: {}, seals: {}",
        text(told, "entries"),
        text(told, "seals")
    )];
    for fault in listed(told, "faults") {
        let what = fault.get("fault").map(plain).unwrap_or_default();
        let which = match fault.get("entry") {
            Some(entry) => plain(entry),
            None => format!("number {}", text(fault, "number")),
        };
        lines.push(format!("{what}: {which}"));
    }
    lines.extend(
        listed(told, "late")
            .iter()
            .map(|entry| format!("late: {}", plain(entry))),
    );
    let open = listed(told, "unsealed");
    lines.extend(
        open.iter()
            .map(|entry| format!("not sealed yet: {}", plain(entry))),
    );
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_finding_is_a_line() {
        let told = json!({
            "entries": 3, "seals": 1, "late": [], "unsealed": ["ENTRY#b"],
            "faults": [{"fault": "changed", "entry": "ENTRY#a"}, {"fault": "seal", "number": 2}],
        });
        let lines = [
            "entries: 3, seals: 1",
            "changed: ENTRY#a",
            "seal: number 2",
            "not sealed yet: ENTRY#b",
        ];
        assert_eq!(findings(&told), lines);
    }
}
