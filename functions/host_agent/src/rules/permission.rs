//! What a user is shown before a text goes to an agent that must not get it unasked: both agents, and all of that text.

use domain::{PlanStep, StepGuard, Task};

use crate::rules::brought::{HANDED_OVER_MAX, text_of};
use crate::rules::sentences;

/// What its user is asked about these steps.
pub(crate) fn question(task: &Task, steps: &[&PlanStep], language: &str) -> String {
    let (mut told, key) = match steps {
        [only] => (vec![told(task, only, language)], "maySend"),
        several => {
            let told = several
                .iter()
                .map(|step| format!("{}. {}", step.number + 1, told(task, step, language)));
            (told.collect(), "whichMaySend")
        }
    };
    let first = steps.first().map_or(1, |step| step.number + 1).to_string();
    told.push(words::told_of(Some(language), key, &[("number", &first)]));
    told.join("\n\n")
}

/// "Calendar's answer would go to Reports: …"
fn told(task: &Task, step: &PlanStep, language: &str) -> String {
    let guard = step.guard.as_ref();
    let used = task.jobs.iter().filter(|job| step.uses.contains(&job.number));
    let results = used.map(|job| {
        let text = llm::clean_lines(&text_of(job), HANDED_OVER_MAX);
        let with = words::told(Some(language), "withItGoes", &job.agent_name);
        format!("\n\n{with}\n{text}")
    });
    format!(
        "{}\n{}{}",
        guard
            .map(|guard| why(guard, (&step.agent_name, language), |name| has_read(
                task, step, name
            )))
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

fn why(guard: &StepGuard, (to, language): (&str, &str), has_read: impl Fn(&str) -> bool) -> String {
    let names = guard.from.iter().map(String::as_str);
    let names: Vec<&str> = names.filter(|name| has_read(name)).collect();
    let key = match (names.as_slice(), guard.writes) {
        ([], false) => "wouldGo",
        ([], true) => "wouldChange",
        (_, false) => "wouldGoAfter",
        (_, true) => "wouldChangeAfter",
    };
    let from = sentences::listed(&names, language);
    words::told_of(Some(language), key, &[("name", to), ("from", &from)])
}

/// The hash of what is asked: of exactly these texts for these agents.
pub(crate) fn hash(steps: &[&PlanStep]) -> String {
    let hashes = steps.iter().map(|step| step.guarded_hash());
    hashes.collect::<Vec<_>>().join(" ")
}
