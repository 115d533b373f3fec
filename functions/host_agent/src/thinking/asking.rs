//! Asking the model: within the time that is left, and with its words shown as they come to those who want them.

use std::time::Duration;

use agent::{DraftPen, ExecuteError, Run};
use llm::{Answer, Draft, Model, ModelError, NoDraft, Prompt};

use crate::thinking::addresses::{Addresses, GrowingText};

/// What is wanted beside the time that a chain of models may take: to make the prompt, and to store what they said.
const BESIDE: Duration = Duration::from_secs(5);

/// Asks for the answer of this number, which stands behind `lead`. Whoever follows the task may see its words before it is
/// whole.
///
/// # Errors
/// [`ExecuteError::TooLittleTime`] where the answer might not come within what is left of this execution.
pub(crate) async fn ask(
    model: &dyn Model,
    run: &Run,
    prompt: &Prompt,
    (number, lead): (usize, Option<&str>),
    addresses: &Addresses,
) -> Result<Result<Answer, ModelError>, ExecuteError> {
    in_time(model, run)?;
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let Some(drafting) = run.drafting(number).filter(|_| model.is_hosted()) else {
        return Ok(model.step(prompt, &mut NoDraft).await);
    };
    let mut words = Words {
        pen: drafting.pen(),
        lead,
        addresses,
        growing: GrowingText::new(addresses),
    };
    Ok(drafting.beside(model.step(prompt, &mut words)).await)
}

/// The same of an answer that may never be shown.
///
/// # Errors
/// As [`ask`].
pub(crate) async fn ask_aside(
    model: &dyn Model,
    run: &Run,
    prompt: &Prompt,
) -> Result<Result<Answer, ModelError>, ExecuteError> {
    in_time(model, run)?;
    Ok(model.step(prompt, &mut NoDraft).await)
}

fn in_time(model: &dyn Model, run: &Run) -> Result<(), ExecuteError> {
    let longest = model.longest() + BESIDE;
    match run.time_left() {
        Some(left) if left < longest && model.is_hosted() => Err(ExecuteError::TooLittleTime),
        _ => Ok(()),
    }
}

/// The model's words as the task's draft. No address is in it that the answer will not have.
struct Words<'a> {
    pen: DraftPen,
    lead: Option<&'a str>,
    addresses: &'a Addresses,
    growing: GrowingText<'a>,
}

impl Draft for Words<'_> {
    fn begins(&mut self, attempt: u32) {
        self.pen.begins(attempt);
        self.growing = GrowingText::new(self.addresses);
        if let Some(lead) = self.lead {
            self.pen.grows(&format!("{lead}\n\n"));
        }
    }

    fn grows(&mut self, text: &str) {
        self.pen.grows(&self.growing.grow(text));
    }
}
