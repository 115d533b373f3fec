//! `switchyard mcp pin`: what tools an MCP server has, what of them has changed, and the pins by which an agent knows them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use domain::SystemEntropy;
use outbound::mcp::{McpTool, Pins};
use serde_json::{Map, Value, json};
use url::Url;

use super::Failure;
use super::checked;
use local::mcp::client;

/// Pin the tools of an MCP server
#[derive(Subcommand)]
pub(super) enum McpCommand {
    /// Show a server's tools and what has changed in them, and print the setting that allows them as they are now
    Pin(Pin),
}

#[derive(Args)]
#[command(
    after_help = "Read the tools before you use the setting: their descriptions are the server's own words. The last line is the \
                  setting for the agent.\n\nExample:\n  switchyard mcp pin http://127.0.0.1:3000/sandbox/mcp"
)]
pub(super) struct Pin {
    /// The server's address
    #[arg(value_parser = checked::web_address)]
    url: Url,
    /// A file with the tools as they were last pinned: they are compared with it, then written to it. Without it nothing is
    /// written
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Pin only this tool; without it, all of them. May be repeated
    #[arg(long, value_name = "NAME")]
    tool: Vec<String>,
    /// Only show what has changed; exit code 1 if something has
    #[arg(long, requires = "file")]
    check: bool,
}

impl McpCommand {
    pub(super) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Pin(pin) => pin.run().await,
        }
    }
}

impl Pin {
    async fn run(self) -> Result<(), Failure> {
        let before = self.before()?;
        let tools = client(self.url.clone(), Arc::new(SystemEntropy)).tools().await;
        let tools = tools.map_err(|error| Failure::other(format!("{}: {error}", self.url)))?;
        let wanted = |tool: &&McpTool| self.tool.is_empty() || self.tool.contains(&tool.name);
        let tools: Vec<McpTool> = tools.iter().filter(wanted).cloned().collect();
        if let Some(missing) = self
            .tool
            .iter()
            .find(|name| !tools.iter().any(|tool| tool.name == **name))
        {
            return Err(Failure::other(format!("{} has no tool {missing}", self.url)));
        }
        let changes = changes(&before, &tools);
        if !crate::out::is_json() {
            changes.iter().for_each(|line| outln!("{line}"));
        }
        if self.check {
            if crate::out::is_json() {
                crate::out::event(&json!({ "changes": changes }));
            }
            return match changes.is_empty() {
                true => Ok(()),
                false => Err(Failure::other("the tools are not those that were pinned")),
            };
        }
        if changes.is_empty() && !crate::out::is_json() {
            outln!("Nothing has changed.");
        }
        if let Some(file) = &self.file {
            let definitions: Vec<&Map<String, Value>> = tools.iter().map(|tool| &tool.definition).collect();
            let text = format!("{:#}\n", json!(definitions));
            std::fs::write(file, text).map_err(|fault| cannot_be_used(file, &fault))?;
        }
        let pins = json!(Pins::of(&tools));
        told!(json!({"changes": changes, "tools": pins}), "MCP_TOOLS={pins}");
        Ok(())
    }

    /// The tools that were pinned before.
    fn before(&self) -> Result<Vec<McpTool>, Failure> {
        let Some(file) = &self.file else {
            return Ok(Vec::new());
        };
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(fault) => return Err(cannot_be_used(file, &fault)),
        };
        let read: Result<Vec<Map<String, Value>>, _> = serde_json::from_str(&text);
        let read = read.map_err(|fault| cannot_be_used(file, &fault))?;
        Ok(read.into_iter().map(McpTool::of).collect())
    }
}

fn cannot_be_used(file: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::other(format!("{} cannot be used: {why}", file.display()))
}

/// What is new, gone or changed, a line each; a change with what it was and what it is. The server's words are escaped.
fn changes(before: &[McpTool], now: &[McpTool]) -> Vec<String> {
    let mut lines = Vec::new();
    for tool in now {
        let name = tool.name.escape_debug();
        match before.iter().find(|known| known.name == tool.name) {
            None => {
                lines.push(format!("new: {name}"));
                lines.extend(
                    tool.definition
                        .iter()
                        .map(|(field, value)| format!("  {field}: {}", shown(value))),
                );
            }
            Some(known) if known.pin() != tool.pin() => {
                lines.push(format!("changed: {name}"));
                lines.extend(different(known, tool));
            }
            Some(_) => {}
        }
    }
    let gone = before
        .iter()
        .filter(|known| !now.iter().any(|tool| tool.name == known.name));
    lines.extend(gone.map(|known| format!("gone: {}", known.name.escape_debug())));
    lines
}

fn different(known: &McpTool, tool: &McpTool) -> Vec<String> {
    let mut fields: Vec<&String> = known.definition.keys().chain(tool.definition.keys()).collect();
    fields.sort_unstable();
    fields.dedup();
    let mut lines = Vec::new();
    for field in fields {
        let (was, is) = (known.definition.get(field), tool.definition.get(field));
        if was != is {
            lines.push(format!(
                "  {field} was: {}",
                was.map_or_else(|| "nothing".to_owned(), shown)
            ));
            lines.push(format!(
                "  {field} is:  {}",
                is.map_or_else(|| "nothing".to_owned(), shown)
            ));
        }
    }
    lines
}

/// On one line, with nothing in it that a terminal would obey or that hides from the eye.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let escaped = |letter: char| match letter {
        letter if letter.is_ascii_graphic() || letter == ' ' => letter.to_string(),
        letter if letter.is_alphanumeric() => letter.to_string(),
        letter => letter.escape_unicode().to_string(),
    };
    text.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, description: &str) -> McpTool {
        let definition = json!({"name": name, "description": description, "inputSchema": {"type": "object"}});
        McpTool::of(definition.as_object().unwrap().clone())
    }

    #[test]
    fn what_changed_is_shown_with_what_it_was() {
        let before = [tool("a", "Finds flats"), tool("b", "Books")];
        let now = [tool("a", "Finds flats\u{200b}\u{1b}[2K"), tool("c", "Pays")];
        let told = changes(&before, &now).join("\n");
        assert_eq!(
            told,
            "changed: a\n  description was: Finds flats\n  description is:  Finds flats\\u{200b}\\u{1b}[2K\n\
             new: c\n  description: Pays\n  inputSchema: {\"type\":\"object\"}\n  name: c\ngone: b"
        );
        assert!(changes(&before, &before).is_empty());
    }
}
