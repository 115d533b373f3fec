//! `switchyard mqtt import`: which agents of the broker the registry is to know.

use clap::Args;
use http::Method;
use mqtt_bridge::ImportRule;
use serde_json::{Value, json};

use crate::Failure;
use crate::client::Call;
use crate::place::{RunningSystem, admin};
use local::data::secrets::ImportChange;

#[derive(Args)]
#[command(
    after_help = "Examples:  switchyard mqtt import acme/lab/echo:echo            one agent, for every tenant\n           \
                  switchyard mqtt import acme/lab:press@globex         those of a unit, for one tenant\n           \
                  switchyard mqtt import --remove acme/lab/echo:echo\n           \
                  switchyard mqtt import                               lists the rules\n\n\
                  Agents are registered when their cards are found on the broker. Removing a rule removes no agent from the \
                  registry: `switchyard agent remove` does."
)]
pub(crate) struct Import {
    #[command(flatten)]
    place: RunningSystem,
    /// A rule: the agents of a unit, or one agent; the type to register them as; and the tenant, if not all. May be repeated
    #[arg(value_name = "ORG/UNIT[/AGENT]:TYPE[@TENANT]")]
    rules: Vec<ImportRule>,
    /// Remove this rule. May be repeated
    #[arg(long, value_name = "RULE")]
    remove: Vec<ImportRule>,
}

impl Import {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let change = ImportChange {
            add: self.rules,
            remove: self.remove,
        };
        let is_change = !change.add.is_empty() || !change.remove.is_empty();
        let rules: Vec<String> = match self.place.resting()? {
            Some(resting) => {
                let kept = resting.change(|stored| change.apply(stored))?;
                kept.mqtt_imports.into_iter().collect()
            }
            None => {
                let body = json!(change);
                let asked = self.place.ask(|endpoints| {
                    let url = admin(endpoints, "/mqtt/imports");
                    match is_change {
                        true => Call::with_body(Method::POST, url, &body),
                        false => Call::get(url),
                    }
                });
                let told = asked.await?;
                let rules = told.get("imports").and_then(Value::as_array).cloned();
                let rules = rules.unwrap_or_default().into_iter();
                rules
                    .filter_map(|rule| rule.as_str().map(str::to_owned))
                    .collect()
            }
        };
        if rules.is_empty() {
            told!(
                json!({"imports": rules}),
                "no agents of the broker are registered by rules"
            );
        }
        for rule in rules {
            told!(json!({"import": rule}), "{rule}");
        }
        Ok(())
    }
}
