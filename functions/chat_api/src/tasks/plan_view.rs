//! The plan of a task as its owner sees it.

use domain::{Job, PlanStep, StepState, Task, TaskPlan, TaskState};
use serde_json::{Value, json};

use crate::tasks::history_view::job_state;

/// The plan of a task, with what its user is asked before it goes on.
pub(crate) fn plan_of(task: &Task) -> Option<Value> {
    let plan = task.plan.as_ref()?;
    let asked = match task.status.state {
        TaskState::InputRequired => plan.guarded(&task.jobs),
        _ => Vec::new(),
    };
    let asked: Vec<u32> = asked.iter().map(|step| step.number).collect();
    Some(self::plan(plan, (&task.jobs, &asked)))
}

/// A plan. How far a step is that has begun, its job says. What is sent with its user's word alone has `guard`: the
/// agents whose results would go to it, and whether the task waits for that word now.
pub(crate) fn plan(plan: &TaskPlan, (jobs, asked): (&[Job], &[u32])) -> Value {
    let guard = |step: &PlanStep| {
        let guard = step.guard.as_ref()?;
        Some(json!({"from": guard.from, "isAsked": asked.contains(&step.number)}))
    };
    let step = |step: &PlanStep| {
        let job = jobs.iter().find(|job| job.number == step.number);
        let (state, why) = match &step.state {
            StepState::Planned => (job.map_or("planned", |job| job_state(job).as_str()), None),
            StepState::Skipped { why } => ("skipped", Some(why)),
            StepState::Dropped => ("dropped", None),
            StepState::Unknown => ("unknown", None),
        };
        json!({
            "number": step.number,
            "agentType": step.agent_type,
            "agentName": step.agent_name,
            "instruction": step.instruction,
            "after": step.after,
            "uses": step.uses,
            "optional": step.optional,
            "state": state,
            "reason": why,
            "guard": guard(step),
        })
    };
    json!({
        "goal": plan.goal,
        "hash": plan.hash(),
        "isApproved": plan.is_approved(),
        "steps": plan.steps.iter().map(step).collect::<Vec<_>>(),
    })
}
