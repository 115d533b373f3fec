//! What a user is shown before a text goes to an agent that must not get it unasked: both agents, and all of that text.

use domain::{PlanStep, StepGuard, Task};

use crate::rules::brought::{HANDED_OVER_MAX, text_of};

/// What its user is asked about these steps.
pub(crate) fn question(task: &Task, steps: &[&PlanStep]) -> String {
    match steps {
        [only] => format!("{}\n\nMay I send it? Say “yes” or “no”.", told(task, only)),
        several => {
            let told = several
                .iter()
                .map(|step| format!("{}. {}", step.number + 1, told(task, step)));
            let first = several.first().map_or(1, |step| step.number + 1);
            format!(
                "{}\n\nWhich of them may I send? Say “yes {first}”, “yes to all”, or “no”.",
                told.collect::<Vec<_>>().join("\n\n")
            )
        }
    }
}

/// "Calendar's answer would go to Reports: …"
fn told(task: &Task, step: &PlanStep) -> String {
    let guard = step.guard.as_ref();
    let used = task.jobs.iter().filter(|job| step.uses.contains(&job.number));
    let results = used.map(|job| {
        let text = llm::clean_lines(&text_of(job), HANDED_OVER_MAX);
        format!("\n\nWith it goes what {} answered:\n{text}", job.agent_name)
    });
    format!(
        "{}\n{}{}",
        guard
            .map(|guard| why(guard, &step.agent_name, |name| has_read(task, step, name)))
            .unwrap_or_default(),
        step.instruction,
        results.collect::<String>()
    )
}

/// Whether what this agent answered lay before whoever wrote the step; what it is only to bring is shown below.
fn has_read(task: &Task, step: &PlanStep, name: &str) -> bool {
    let mut used = task.jobs.iter().filter(|job| step.uses.contains(&job.number));
    !used.any(|job| job.agent_name == name && job.step >= step.turn)
}

fn why(guard: &StepGuard, to: &str, has_read: impl Fn(&str) -> bool) -> String {
    let names = guard.from.iter().map(String::as_str);
    let names: Vec<&str> = names.filter(|name| has_read(name)).collect();
    let from = words::listed(&names, "and");
    match (names.as_slice(), guard.writes) {
        ([], false) => format!("This would go to {to}:"),
        ([], true) => format!("This would go to {to}, which changes something by it:"),
        (_, false) => format!("This would go to {to}. It was written after {from} answered:"),
        (_, true) => {
            format!(
                "This would go to {to}, which changes something by it. It was written after {from} answered:"
            )
        }
    }
}

/// The hash of what is asked: of exactly these texts for these agents.
pub(crate) fn hash(steps: &[&PlanStep]) -> String {
    let hashes = steps.iter().map(|step| step.guarded_hash());
    hashes.collect::<Vec<_>>().join(" ")
}
