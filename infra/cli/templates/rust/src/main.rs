//! AGENT_NAME: an A2A agent on switchyard-agent. It counts the words of a text; put your own work in `execute`.
//!
//!     cargo run -- [--port 9100] [--data data] [--no-join]

use switchyard_agent::*;

struct Counting;

#[async_trait]
impl Executor for Counting {
    // It may be called again from its start at any time, on another machine too: `run.checkpoint()` says how far it got.
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        // Whoever streams, or gave a webhook, hears of what is recorded.
        run.working("Counting").await?;
        let asked = asked(run.task());
        let Some((_, text)) = asked.split_once(':') else {
            // The task waits for its user. `Outcome::AuthRequired` with a link is the same for a consent of your own.
            return Ok(Outcome::InputRequired("Which text? Write it behind a colon, as in 'count: hello world'.".into()));
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let table: String = words.iter().map(|word| format!("{word},{}\n", word.len())).collect();
        let said = format!("{} words, {} characters.", words.len(), text.trim().len());
        let count = Artifact::new("count", vec![Part::text(said)]);
        let listed = Artifact::new("words", vec![file("words.csv", "text/csv", table.as_bytes())]);
        Ok(Outcome::Completed { artifacts: vec![count, listed], say: None })
    }
}

// Hosts find the agent by these words alone: say what it does in a sentence, and what people ask in three to six examples.
fn described(url: Url) -> Card {
    let examples = ["Count the words: the quick brown fox", "How many words: all that glitters", "How long is this text: hi"];
    let counts = skill("count", "Counts how many words and characters a text has, and lists them as a table", &examples);
    card(url, "AGENT_NAME", "Counts the words and characters of a text", vec![counts])
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    serve(described, Counting).await
}

#[cfg(test)]
mod tests;
