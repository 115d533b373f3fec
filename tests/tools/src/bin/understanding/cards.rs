//! What cards promise: that what an agent names as an example reaches it; that it is found by what it does not name; that two wishes of
//! one message reach two agents; and that nobody loses a prompt to agents that came later.

use std::collections::BTreeSet;

use domain::AgentType;
use llm::{AgentBrief, Agents, CardText, Model, NoDraft, Prompt, SkillText, Step, Turn};
use nlu::Engine;
use tools::evals;

/// How two wishes are joined.
const JOINED: [&str; 10] = [
    " and ",
    ", and ",
    ". ",
    "; ",
    "\n",
    ". Also, ",
    ", and also ",
    ". And ",
    " then ",
    " plus ",
];
/// How many pairs, and how many triples.
const JOINS: usize = 100;
/// How many agents of others come beside our own, how many prompts that were right may be wrong then, and how many asked about: as many as
/// are known.
const OTHERS: [(usize, usize, usize); 3] = [(1, 1, 2), (5, 4, 7), (20, 9, 9)];

/// A figure: its name, how many, of how many, and the least of a hundred.
pub(super) struct Figure(
    pub(super) &'static str,
    pub(super) usize,
    pub(super) usize,
    pub(super) usize,
);

impl Figure {
    pub(super) fn share(&self) -> usize {
        100 * self.1 / self.2.max(1)
    }
}

/// Whom a prompt reaches, and who is offered to its user.
async fn reached(model: &dyn Model, agents: &Agents, said: &str) -> (BTreeSet<AgentType>, Vec<AgentType>) {
    let prompt = Prompt {
        agents: agents.clone(),
        turns: vec![Turn::User(said.to_owned())],
        ..Prompt::default()
    };
    match model.step(&prompt, &mut NoDraft).await.expect("an answer").step {
        step @ Step::Call(_) => (step.sends().map(|(to, ..)| to.clone()).collect(), Vec::new()),
        Step::Choose { of, .. } => (BTreeSet::new(), of),
        Step::Say(_) => (BTreeSet::new(), Vec::new()),
    }
}

/// An agent whose card does not name this example.
fn without(agent: &AgentBrief, example: &str) -> AgentBrief {
    let kept: Vec<Vec<String>> = agent
        .skills()
        .iter()
        .map(|skill| {
            let others = skill.examples().iter().filter(|own| *own != example);
            others.cloned().collect()
        })
        .collect();
    let skills = agent
        .skills()
        .iter()
        .zip(&kept)
        .map(|(skill, examples)| SkillText {
            name: skill.name(),
            description: skill.description(),
            examples,
            ..SkillText::default()
        });
    let card = CardText {
        name: agent.name(),
        description: agent.description(),
    };
    AgentBrief::new(agent.agent_type().clone(), card, skills)
}

/// Plays all of them with the agents of a set.
pub(super) async fn play(model: &dyn Model, engine: &Engine, agents: &Agents) -> Vec<Figure> {
    let examples: Vec<(AgentType, String)> = agents
        .iter()
        .flat_map(|agent| {
            let examples = agent
                .skills()
                .iter()
                .flat_map(|skill| skill.examples().iter().cloned());
            examples.map(|example| (agent.agent_type().clone(), example))
        })
        .collect();
    let (mut routed, mut offered, mut first, mut near) = (0, 0, 0, 0);
    for (of, example) in &examples {
        let (sent, choice) = reached(model, agents, example).await;
        routed += usize::from(sent.len() == 1 && sent.contains(of));
        offered += usize::from(choice.contains(of));
        let left: Vec<AgentBrief> = agents
            .iter()
            .map(|agent| match agent.agent_type() == of {
                true => without(agent, example),
                false => agent.clone(),
            })
            .collect();
        let cards = llm::cards(engine, &left).await.expect("vectors");
        let read = engine.read(&[example], &cards).await.expect("vectors");
        let own = left.iter().position(|agent| agent.agent_type() == of);
        let ranked = read.first().map(nlu::Reading::ranked).unwrap_or_default();
        let rank = ranked
            .iter()
            .position(|(agent, _)| Some(*agent) == own)
            .unwrap_or(usize::MAX);
        first += usize::from(rank == 0);
        near += usize::from(rank < 3);
    }
    let count = examples.len();
    let mut figures = vec![
        Figure("an example reaches its agent", routed, count, 90),
        Figure("or that is offered", routed + offered, count, 96),
        Figure("left out of its card, it finds its agent first", first, count, 85),
        Figure("or among three", near, count, 90),
    ];
    for (name, many, least) in [
        ("two wishes reach both agents", 2, 95),
        ("three reach all three", 3, 95),
    ] {
        let mut right = 0;
        for at in 0..JOINS {
            let mut chosen: Vec<&(AgentType, String)> = Vec::new();
            // A step that shares no divisor with the count goes through all of them.
            let others = (0..count).filter_map(|step| examples.get((at * 7 + step * 31) % count));
            for one in others.filter(|_| count > 0) {
                if chosen.len() < many && chosen.iter().all(|(of, _)| *of != one.0) {
                    chosen.push(one);
                }
            }
            let wanted: BTreeSet<AgentType> = chosen.iter().map(|(of, _)| of.clone()).collect();
            let said: Vec<&str> = chosen
                .iter()
                .map(|(_, example)| example.trim_end_matches('.'))
                .collect();
            let (sent, choice) = reached(model, agents, &said.join(JOINED[at % JOINED.len()])).await;
            let asked: BTreeSet<AgentType> = choice.into_iter().collect();
            right += usize::from(sent == wanted || asked == wanted);
        }
        figures.push(Figure(name, right, JOINS, least));
    }
    figures
}

/// Says how many prompts that were right with our own agents alone are wrong, and how many are asked about, with others beside; whether
/// they are no more than is known.
pub(super) async fn beside_others(model: &dyn Model) -> bool {
    let own = evals::agents(&["own_cards"]);
    let all = evals::agents(&["own_cards", "foreign_cards"]);
    let others: Vec<AgentBrief> = all.iter().skip(own.len()).cloned().collect();
    let rows = evals::working("prompts");
    let mut right = Vec::new();
    for row in &rows {
        let (sent, choice) = reached(model, &own, &row.prompt).await;
        let wanted: BTreeSet<AgentType> = row.right.iter().cloned().collect();
        // What nobody of ours does may be for one of the others.
        if sent == wanted && choice.is_empty() && !wanted.is_empty() {
            right.push((row, wanted));
        }
    }
    let mut is_good = true;
    for (many, most_wrong, most_asked) in OTHERS {
        let with: Vec<AgentBrief> = own
            .iter()
            .cloned()
            .chain(others.iter().take(many).cloned())
            .collect();
        let with = Agents::from(with);
        let (mut wrong, mut asked) = (0, 0);
        for (row, wanted) in &right {
            let (sent, choice) = reached(model, &with, &row.prompt).await;
            asked += usize::from(!choice.is_empty());
            wrong += usize::from(choice.is_empty() && sent != *wanted);
        }
        let all = right.len();
        println!(
            "with {many:2} agents of others beside ours: of {all} right {wrong} wrong, {asked} asked about"
        );
        is_good &= wrong <= most_wrong && asked <= most_asked;
    }
    is_good
}
