//! What a text answers to a plan that waits for its user. By closed lists alone: what is agreed to here is done.

use domain::{StepState, Task, TaskPlan};

use super::wish::{Names, Wish, is_made_of, lower};
use super::{choices, lists};
use crate::rules::plans::{self, Asks};

/// What a user says to a plan that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlanAnswer {
    /// Begin.
    Go,
    /// Begin without these.
    Without(Vec<u32>),
    /// Try this one once more; all that failed where none is named.
    Retry(Option<u32>),
    /// Not this; go on without it.
    No,
}

/// What the text answers to the task's plan; none where it says something else.
pub(crate) fn answer(task: &Task, text: &str) -> Option<PlanAnswer> {
    let plan = task.plan.as_ref()?;
    let words = lower(text);
    match plans::asks(task)? {
        Asks::ToStart => {
            if is_made_of(&words, lists::YES) || is_made_of(&words, lists::START) {
                return Some(PlanAnswer::Go);
            }
            let left_out = behind(&words, lists::WITHOUT)?;
            let numbers = named(plan, &left_out);
            (!numbers.is_empty()).then_some(PlanAnswer::Without(numbers))
        }
        Asks::AfterFailure(_) => {
            if is_made_of(&words, lists::GO_ON) || behind(&words, lists::GO_ON_WITHOUT).is_some() {
                return Some(PlanAnswer::No);
            }
            let Wish::Retry(_) = Wish::of(text, &Names::default()) else {
                return None;
            };
            let number = words.iter().find_map(|word| word.parse::<u32>().ok());
            Some(PlanAnswer::Retry(number.map(|number| number.saturating_sub(1))))
        }
    }
}

/// The words behind one of these, where the text begins so.
fn behind(words: &[String], ways: &[&str]) -> Option<Vec<String>> {
    let text = words.join(" ");
    let mut ways: Vec<&&str> = ways.iter().collect();
    ways.sort_by_key(|way| std::cmp::Reverse(way.len()));
    let way = ways
        .into_iter()
        .find(|way| text == ***way || text.starts_with(&format!("{way} ")))?;
    let count = way.split(' ').count();
    Some(words.get(count..).unwrap_or_default().to_vec())
}

/// The steps that are named: by number, or by words that stand in only one of them.
fn named(plan: &TaskPlan, words: &[String]) -> Vec<u32> {
    let open: Vec<_> = plan
        .wanted()
        .filter(|step| step.state == StepState::Planned)
        .collect();
    let told: Vec<String> = open
        .iter()
        .map(|step| format!("{} {} {}", step.agent_name, step.agent_type, step.instruction))
        .collect();
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    let pieces = words.split(|word| lists::JOINING.contains(&word.as_str()));
    let mut numbers = Vec::new();
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        let digits = piece.iter().filter_map(|word| word.parse::<u32>().ok());
        let mut found: Vec<u32> = digits
            .filter_map(|number| number.checked_sub(1))
            .filter(|number| open.iter().any(|step| step.number == *number))
            .collect();
        if found.is_empty() {
            let picked = choices::picked_alone(&told, &piece.join(" "));
            found.extend(picked.and_then(|at| open.get(at)).map(|step| step.number));
        }
        if found.is_empty() {
            // One that is not known: nothing is begun that the user may not want.
            return Vec::new();
        }
        numbers.extend(found);
    }
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}
