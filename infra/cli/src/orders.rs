//! `switchyard orders import`: a tenant's orders out of a file, for its Horizon agent.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::{Args, Subcommand};
use domain::{Tenant, Timestamp};
use http::Method;
use serde::Deserialize;
use serde_json::json;
use store::{IMPORTED_MAX, ImportedOrder, OrderItem, OrderStatus};

use super::Failure;
use super::place::{self, RunningSystem, admin};
use crate::client::Call;

/// Import a tenant's orders
#[derive(Subcommand)]
pub(super) enum Orders {
    /// Import orders from a file: CSV with a header line (.csv) or JSON lines (.jsonl). Orders with a known id are replaced
    Import(Import),
}

#[derive(Args)]
pub(super) struct Import {
    #[command(flatten)]
    place: RunningSystem,
    /// The file. Fields: id, customer (a user's name), status, items (such as 2 x Lamp; 1 x Rope), placed_at, eta, updated_at
    /// (times as in RFC 3339)
    file: PathBuf,
    /// The tenant
    #[arg(long, value_name = "NAME")]
    tenant: Tenant,
    /// Import them on AWS, with this machine's AWS credentials, profile and region
    #[arg(long, conflicts_with_all = ["data", "endpoints"])]
    aws: bool,
    /// The platform's stage on AWS
    #[arg(long, default_value = "prod", requires = "aws")]
    stage: String,
}

impl Orders {
    pub(super) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Import(import) => import.run().await,
        }
    }
}

impl Import {
    async fn run(self) -> Result<(), Failure> {
        let orders = read(&self.file)?;
        if self.aws {
            return on_aws(&self.tenant, &self.stage, &orders);
        }
        place::tenant(&self.place.endpoints()?, &self.tenant)?;
        let name = self.tenant.name();
        let path = format!("/tenants/{name}/orders");
        let mut stored = 0;
        for batch in orders.chunks(IMPORTED_MAX) {
            let body = json!({ "orders": batch });
            let asked = self
                .place
                .ask(|endpoints| Call::with_body(Method::POST, admin(endpoints, &path), &body));
            asked.await.map_err(|fault| {
                let done = if stored == 0 {
                    "nothing was stored".to_owned()
                } else {
                    format!("the first {stored} are stored")
                };
                Failure::other(format!("{fault}; {done}"))
            })?;
            stored += batch.len();
        }
        let orders = if stored == 1 { "order" } else { "orders" };
        told!(
            json!({"imported": stored, "tenant": name.to_string()}),
            "imported {stored} {orders} for {name}"
        );
        Ok(())
    }
}

/// The program for AWS. It is one of its own, so that this one needs no client of AWS's sign-ins.
pub(super) fn operator() -> Result<Command, Failure> {
    let own = std::env::current_exe().map_err(Failure::other)?;
    let program = own.with_file_name("switchyard-operator");
    if !program.exists() {
        return Err(Failure::other(format!(
            "{} is not there; build it once: cargo build --manifest-path infra/operator/Cargo.toml --target-dir target",
            program.display()
        )));
    }
    Ok(Command::new(program))
}

/// Hands the orders to the program for AWS, a line each.
fn on_aws(tenant: &Tenant, stage: &str, orders: &[ImportedOrder]) -> Result<(), Failure> {
    let mut command = operator()?;
    let mut child = command
        .args(["orders", "--tenant", tenant.name(), "--stage", stage])
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|fault| Failure::other(format!("{}: {fault}", command.get_program().display())))?;
    let mut written = Ok(());
    if let Some(mut input) = child.stdin.take() {
        for order in orders {
            let line = serde_json::to_string(order).map_err(Failure::other)?;
            written = written.and_then(|()| writeln!(input, "{line}"));
        }
    }
    // Where it stops reading, it says itself why.
    let ended = child.wait().map_err(Failure::other)?;
    match (ended.success(), written) {
        (true, Ok(())) => Ok(()),
        _ => Err(Failure::other("the orders are not all stored")),
    }
}

/// A line of a table: as an order, but its items are one text.
#[derive(Deserialize)]
struct Line {
    id: String,
    customer: Option<String>,
    status: OrderStatus,
    #[serde(default)]
    items: String,
    placed_at: Timestamp,
    eta: Option<Timestamp>,
    updated_at: Option<Timestamp>,
}

fn read(file: &Path) -> Result<Vec<ImportedOrder>, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|fault| Failure::other(format!("{} cannot be read: {fault}", file.display())))?;
    let read = match file.extension().and_then(|end| end.to_str()) {
        Some("csv") => of_csv(&text),
        Some("jsonl" | "ndjson") => of_json(&text),
        _ => Err("its name must end in .csv or .jsonl".to_owned()),
    };
    read.map_err(|fault| Failure::other(format!("{}: {fault}; nothing was stored", file.display())))
}

fn of_csv(text: &str) -> Result<Vec<ImportedOrder>, String> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let lines = reader.deserialize().enumerate().map(|(index, line)| {
        let at = index + 2;
        let line: Line = line.map_err(|fault| format!("line {at}: {fault}"))?;
        Ok(ImportedOrder {
            items: items(&line.items)
                .ok_or_else(|| format!("line {at}: items must read `2 x Lamp; 1 x Rope`"))?,
            id: line.id,
            customer: line.customer,
            status: line.status,
            placed_at: line.placed_at,
            eta: line.eta,
            updated_at: line.updated_at,
        })
    });
    lines.collect()
}

fn of_json(text: &str) -> Result<Vec<ImportedOrder>, String> {
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let orders = lines.map(|(index, line)| {
        serde_json::from_str(line).map_err(|fault| format!("line {}: {fault}", index + 1))
    });
    orders.collect()
}

/// `2 x Lamp; Rope`: one of each where no number is said.
fn items(text: &str) -> Option<Vec<OrderItem>> {
    let items = text.split(';').map(str::trim).filter(|item| !item.is_empty());
    let item = |item: &str| match item.split_once([' ', 'x', '×']) {
        Some((number, name)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            let name = name.trim_start_matches([' ', 'x', '×']).trim();
            let quantity = number.parse().ok().filter(|quantity| *quantity > 0)?;
            (!name.is_empty()).then(|| OrderItem {
                name: name.to_owned(),
                quantity,
            })
        }
        _ => Some(OrderItem {
            name: item.to_owned(),
            quantity: 1,
        }),
    };
    items.map(item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_and_lines_of_json_say_the_same() {
        let table = "id,customer,status,items,placed_at,eta,updated_at\n\
                     7001, ada ,shipped,\"2 x Lamp, large; Rope\",2026-11-20T10:00:00Z,2026-11-30T00:00:00Z,\n\
                     7002,,placed,,2026-11-21T10:00:00Z,,\n";
        let lines = r#"{"id": "7001", "customer": "ada", "status": "shipped", "placed_at": "2026-11-20T10:00:00Z",
                "eta": "2026-11-30T00:00:00Z", "items": [{"name": "Lamp, large", "quantity": 2}, {"name": "Rope", "quantity": 1}]}
            {"id": "7002", "status": "placed", "placed_at": "2026-11-21T10:00:00Z"}"#;
        let lines = lines.replace(",\n  ", ",").replace("00Z\",\n", "00Z\",");
        let (table, lines) = (of_csv(table).unwrap(), of_json(&lines).unwrap());
        assert_eq!(table, lines);
        assert_eq!((table.len(), table[0].items[0].quantity), (2, 2));
    }

    #[test]
    fn a_bad_line_is_named() {
        let head = "id,customer,status,items,placed_at,eta,updated_at\n";
        for (line, word) in [
            ("1,ada,lost,,2026-11-20T10:00:00Z,,", "line 2"),
            ("1,ada,placed,0 x Lamp,2026-11-20T10:00:00Z,,", "items"),
            ("1,ada,placed,Lamp,yesterday,,", "line 2"),
            ("1,ada", "line 2"),
        ] {
            let fault = of_csv(&format!("{head}{line}\n")).unwrap_err();
            assert!(fault.contains(word), "{line}: {fault}");
        }
        assert!(of_json("{}").unwrap_err().starts_with("line 1: "));
        assert!(of_json("\n[").unwrap_err().starts_with("line 2: "));
    }
}
