//! Asks the agent as a host does, over a database in memory: `cargo test`.

use super::*;

#[tokio::test]
async fn it_counts() -> Result<(), Error> {
    let task = Trial::start(described, Counting).await?.ask("Count the words: the quick brown fox").await?;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert!(task["artifacts"].to_string().contains("4 words"));
    Ok(())
}

#[tokio::test]
async fn it_asks_for_what_it_lacks() -> Result<(), Error> {
    let trial = Trial::start(described, Counting).await?;
    let task = trial.ask("Count the words").await?;
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let task = trial.answer(&task, "count: all that glitters").await?;
    assert!(task["artifacts"].to_string().contains("3 words"));
    Ok(())
}
