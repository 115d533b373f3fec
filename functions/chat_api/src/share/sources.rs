//! Whose words may stand in the answer of a task, and which of them are not for everybody: a host lets those of its open agents alone go
//! anywhere unasked, and so does a share.

use std::collections::{BTreeMap, BTreeSet};

use a2a::OpenAgents;
use domain::{AgentType, Job, ModelTurn, TOLD_BESIDE, Task};
use store::SharedAgent;

use crate::error::{Demanding, RouteError};
use crate::state::AppState;

/// What stands for the words of other tasks of the user's; no type of agents is called so.
const OTHERS: &str = "*";

/// Longest name of an agent that is shown.
const NAME_MAX: usize = 80;

/// Whose words may stand in a task's answer.
pub(crate) struct Sources {
    /// Each agent with its name, and whether it demanded something while it worked, whatever its card says now.
    agents: BTreeMap<SharedAgent, (String, bool)>,
    /// Whether the words of other tasks may.
    has_others: bool,
}

/// Whether somebody can be agreed to by that name.
pub(crate) fn is_name(text: &str) -> bool {
    text == OTHERS || AgentType::parse(text).is_ok()
}

impl Sources {
    /// Those of a task. Where a model wrote its answer, also those of the tasks of the chat that it had before its eyes.
    pub(crate) async fn of(room: &AppState, task: &Task) -> Result<Self, RouteError> {
        let told_of = || task.history.iter().chain(&task.status.message);
        let mut sources = Self {
            agents: BTreeMap::new(),
            has_others: task.turns.iter().any(ModelTurn::was_told_of_others)
                || told_of().any(|message| message.metadata.contains_key(TOLD_BESIDE)),
        };
        sources.take(&task.jobs);
        if !task.turns.is_empty() {
            let tasks = room.tasks();
            let (tenant, now) = (&room.tenant, room.clock.now());
            let of_chat = tasks.by_context(tenant, &room.agent, &task.owner, &task.context_id, now);
            let mut before = of_chat.await?;
            before.retain(|other| other.id != task.id && other.created_at <= task.updated_at);
            // Rules that give no work out have told of other tasks.
            let tells = |other: &Task| match other.turns.as_slice() {
                [] => other.jobs.is_empty(),
                turns => turns.iter().any(ModelTurn::was_told_of_others),
            };
            sources.has_others |= before.iter().any(tells);
            before.iter().for_each(|other| sources.take(&other.jobs));
        }
        Ok(sources)
    }

    fn take(&mut self, jobs: &[Job]) {
        for job in jobs {
            let agent = SharedAgent {
                agent_type: job.agent_type.clone(),
                id: job.agent_id,
            };
            let demanded = job.protection.is_some() || job.wants_sign_in;
            let (_, known) = self
                .agents
                .entry(agent)
                .or_insert_with(|| (domain::clean(&job.agent_name, NAME_MAX), false));
            *known |= demanded;
        }
    }

    /// Those whose words are not for everybody, each type once.
    pub(crate) fn demanding(&self, open: &OpenAgents) -> Vec<Demanding> {
        let mut seen = BTreeSet::new();
        let is_closed = |(agent, (_, demanded)): &(&SharedAgent, &(String, bool))| {
            *demanded || !open.has(&agent.agent_type, &agent.id)
        };
        let closed = self.agents.iter().filter(is_closed);
        let mut found: Vec<Demanding> = closed
            .filter(|(agent, _)| seen.insert(agent.agent_type.clone()))
            .map(|(agent, (name, _))| Demanding {
                id: agent.agent_type.to_string(),
                name: name.clone(),
            })
            .collect();
        if self.has_others {
            found.push(Demanding {
                id: OTHERS.to_owned(),
                name: "other tasks of yours".to_owned(),
            });
        }
        found
    }

    /// The agents, for whoever looks at them again.
    pub(crate) fn agents(&self) -> Vec<SharedAgent> {
        self.agents.keys().cloned().collect()
    }
}
