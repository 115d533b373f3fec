//! What results of other agents may reach. Words of agents may steer the model that reads them: so what it writes from then on
//! goes only from open agents to open agents unasked. Whatever comes from a private agent, or goes to one, waits for its user's
//! word, as does all that goes to an agent which changes something.
//!
//! What a model decided before it read a result of the task comes of its user's words, but not of these alone: cards of agents
//! stood in its prompt, and answers of earlier tasks. So what is private goes to no open agent unasked there either: neither a
//! result that it would hand on, nor, with earlier private answers before its eyes, a text of its own to somebody else's agent.

use std::sync::Arc;

use a2a::OpenAgents;
use agent::ExecuteError;
use domain::{AgentId, AgentType, Job, ModelTurn, PlanStep, StepGuard, TaskPlan};

use crate::deps::Deps;
use crate::thinking::directory::{ChosenAgent, KnownAgents};
use crate::thinking::planning::Planning;
use crate::thinking::tools::Tools;

/// Most bytes of a text that a user is asked about.
const TEXT_MAX: usize = 8_192;

/// Whose words are handed on.
#[derive(Clone)]
struct Source {
    /// The agent; `None` for what the host told of other tasks.
    agent: Option<AgentId>,
    name: String,
    is_private: bool,
}

impl Tools<'_> {
    /// Has each new piece of work wait for its user's word that must not go unasked.
    pub(crate) async fn guard(
        &mut self,
        planning: &mut Planning<'_>,
        is_by_rule: bool,
    ) -> Result<(), ExecuteError> {
        let fresh = planning.fresh();
        let read = match is_by_rule || fresh.is_empty() {
            // Rules write nothing that they read.
            true => Vec::new(),
            false => self.read().await?,
        };
        for step in fresh {
            let Some(to) = self.choose(&step.agent_type, &step.instruction).await? else {
                continue;
            };
            let mut sources = read.clone();
            if !is_by_rule {
                let mut stood = self.used(&step, planning.steps()).await?;
                if to.is_foreign {
                    stood.extend(self.remembered().await?);
                }
                if read.is_empty() {
                    stood.retain(|source| source.is_private);
                    // Between private agents it goes as it was planned.
                    if !stood.is_empty() && self.is_private(&step.agent_type, &to).await? {
                        stood.clear();
                    }
                }
                sources.extend(stood);
            }
            let from = self.unallowed(&sources, &step.agent_type, &to).await?;
            if to.writes || !from.is_empty() {
                // What is shown is what is sent. Should that be another agent's work, its user is asked again.
                let text = llm::clean_lines(&step.instruction, TEXT_MAX);
                planning.guard(step.number, text, guard(&to, from));
            }
        }
        Ok(())
    }

    /// Has a step wait that would begin now, where its agent is another than its user was shown, or has come to change
    /// something since, or to be private where others were read before. True where it waits.
    pub(crate) fn guard_again(plan: &mut TaskPlan, number: u32, to: &ChosenAgent, jobs: &[Job]) -> bool {
        let Some(step) = plan.steps.iter_mut().find(|step| step.number == number) else {
            return false;
        };
        let from = match &step.guard {
            Some(guard) if guard.agent == to.id => return false,
            Some(guard) => guard.from.clone(),
            None => read_before(jobs, step, to),
        };
        if step.guard.is_none() && !to.writes && from.is_empty() {
            return false;
        }
        step.agent_name.clone_from(&to.name);
        step.instruction = llm::clean_lines(&step.instruction, TEXT_MAX);
        step.guard = Some(guard(to, from));
        true
    }

    /// Whose words the model has read on this task.
    async fn read(&mut self) -> Result<Vec<Source>, ExecuteError> {
        let task = self.run.task();
        let is_told = task.turns.iter().any(ModelTurn::was_told_of_others);
        let heard = task.jobs.iter().filter(|job| job.remote().is_some());
        let numbers: Vec<u32> = heard.map(|job| job.number).collect();
        let mut sources = Vec::new();
        if is_told {
            sources.push(Source {
                agent: None,
                name: "another task of yours".to_owned(),
                is_private: true,
            });
        }
        for number in numbers {
            sources.extend(self.of_job(number).await?);
        }
        Ok(sources)
    }

    /// Whose results a step is handed.
    async fn used(&mut self, step: &PlanStep, steps: &[PlanStep]) -> Result<Vec<Source>, ExecuteError> {
        let mut sources = Vec::new();
        for number in &step.uses {
            if let Some(source) = self.of_job(*number).await? {
                sources.push(source);
                continue;
            }
            let Some(used) = steps.iter().find(|step| step.number == *number) else {
                continue;
            };
            if let Some(by) = self.choose(&used.agent_type, &used.instruction).await? {
                sources.push(Source {
                    agent: Some(by.id),
                    name: by.name.clone(),
                    is_private: by.is_private || self.has_asked(&used.agent_type).await?,
                });
            }
        }
        Ok(sources)
    }

    /// Whose earlier answers of the conversation the model has read.
    async fn remembered(&mut self) -> Result<Vec<Source>, ExecuteError> {
        let mut sources = Vec::new();
        for job in self.thought.remembered.clone() {
            sources.push(self.source(&job).await?);
        }
        Ok(sources)
    }

    async fn of_job(&mut self, number: u32) -> Result<Option<Source>, ExecuteError> {
        let job = self.run.task().jobs.iter().find(|job| job.number == number);
        match job.cloned() {
            Some(job) => self.source(&job).await.map(Some),
            None => Ok(None),
        }
    }

    async fn source(&mut self, job: &Job) -> Result<Source, ExecuteError> {
        let known = self.known().await?;
        let (agent_type, agent, name) = (job.agent_type.clone(), job.agent_id, job.agent_name.clone());
        let is_private = job.protection.is_some()
            || job.wants_sign_in
            || known.says_private(&agent_type, &agent)
            || self.has_asked(&agent_type).await?;
        Ok(Source {
            agent: Some(agent),
            name,
            is_private,
        })
    }

    async fn is_private(&self, agent_type: &AgentType, to: &ChosenAgent) -> Result<bool, ExecuteError> {
        Ok(to.is_private || self.has_asked(agent_type).await?)
    }

    /// The names of those whose words must not go to this agent unasked.
    async fn unallowed(
        &self,
        sources: &[Source],
        agent_type: &AgentType,
        to: &ChosenAgent,
    ) -> Result<Vec<String>, ExecuteError> {
        let is_other = |source: &&Source| source.agent != Some(to.id);
        let others: Vec<&Source> = sources.iter().filter(is_other).collect();
        if others.is_empty() {
            return Ok(Vec::new());
        }
        let to_private = self.is_private(agent_type, to).await?;
        let mut names: Vec<String> = Vec::new();
        for source in others {
            if (to_private || source.is_private) && !names.contains(&source.name) {
                names.push(source.name.clone());
            }
        }
        Ok(names)
    }

    /// Whether an agent of this type has ever asked a user of this tenant for a sign-in.
    async fn has_asked(&self, agent_type: &AgentType) -> Result<bool, ExecuteError> {
        let deps = &self.agents.deps;
        Ok(deps.store.private_types().has(&deps.tenant, agent_type).await?)
    }

    /// Who there is.
    pub(crate) async fn known(&mut self) -> Result<Arc<KnownAgents>, ExecuteError> {
        if let Some(known) = &self.thought.known {
            return Ok(Arc::clone(known));
        }
        let known = self.agents.discover().await?;
        self.thought.known = Some(Arc::clone(&known));
        Ok(known)
    }
}

/// The agents whose words may go anywhere, as far as these rules are asked: open by what the directory says of them, and of a type that
/// has never asked a user of this tenant for a sign-in.
pub(crate) async fn open_agents(deps: &Deps, known: &KnownAgents) -> Result<OpenAgents, ExecuteError> {
    let mut open = known.open(&deps.tenant);
    let types: Vec<AgentType> = open.types().cloned().collect();
    for asked in deps.store.private_types().among(&deps.tenant, &types).await? {
        open.remove(&asked);
    }
    Ok(open)
}

/// Whose words were read before a step was written that now goes to a private agent.
fn read_before(jobs: &[Job], step: &PlanStep, to: &ChosenAgent) -> Vec<String> {
    let is_read = |job: &&Job| job.step < step.turn && job.remote().is_some() && job.agent_id != to.id;
    let mut names: Vec<String> = jobs
        .iter()
        .filter(is_read)
        .map(|job| job.agent_name.clone())
        .collect();
    names.dedup();
    names.retain(|_| to.is_private);
    names
}

fn guard(to: &ChosenAgent, from: Vec<String>) -> StepGuard {
    StepGuard {
        agent: to.id,
        from,
        writes: to.writes,
        word: domain::UserWord::Awaited,
    }
}
