//! Which model answers: the [`Model`] door, and [`Rules`], which decides by words alone where
//! neither a model nor an engine of sentences is there. A [`ModelList`] names hosted models: a [`Chain`] of them is one model.
//!
//! The room knows nothing of tasks in a table, or of who calls: whoever runs the loop of tools brings them.
//! What agents say of themselves (their cards) is foreign text: an [`AgentBrief`] holds it capped and cleaned, and
//! [`catalogue`] fences it before a language model may see it.
//!
//! ```
//! use llm::{AgentBrief, CardText, Prompt, Rules, SkillText, Step, Tool, Turn};
//! # use domain::AgentType;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let weather = AgentBrief::new(
//!     AgentType::parse("weather")?,
//!     CardText { name: "Weather", description: "Forecasts for any place." },
//!     [SkillText { name: "Forecast", examples: &["Will it rain in Oslo?".into()], ..SkillText::default() }],
//! );
//! let turns = vec![Turn::User("Will it rain in Bergen?".into())];
//! let prompt = Prompt { agents: vec![weather].into(), turns, ..Prompt::default() };
//! let Step::Call(calls) = Rules.decide(&prompt) else { unreachable!() };
//! assert!(matches!(&calls[0].tool, Tool::SendMessage { agent_type, .. } if agent_type.as_str() == "weather"));
//! # Ok(()) }
//! ```

mod agents;
mod brief;
mod budget;
mod hosted;
mod model;
mod models;
mod rules;

pub use agents::Agents;
pub use brief::{AgentBrief, CardText, SkillBrief, SkillText, catalogue, fence};
pub use budget::{Budget, BudgetError, Reservation, Unlimited};
pub use domain::{clean, clean_lines};
pub use hosted::{
    AwsSettings, Bedrock, Chain, ChainLimits, Dialogue, Fault, Form, Gathered, Link, ModelList,
    ModelListError, ModelParts, OpenAi, PROMPTS, Provider, SentenceModel, SentenceSetting,
};
pub use model::{
    About, Answer, Draft, Model, ModelError, NoDraft, PlannedTask, Prompt, Step, Tool, ToolCall, ToolOutcome,
    ToolResult, Turn, Why,
};
pub use models::offline;
pub use nlu::InputSchema;
pub use rules::{Clause, Rules, best_fitting, brought, cards, clauses, offer, summary};
