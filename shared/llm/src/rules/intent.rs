//! What the user wants that no agent is needed for: a task's status, calling it off, help.

use domain::TaskId;

use words::phrases::words;

/// What a prompt is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Intent {
    /// How a task is doing; the newest where no id is given.
    Status(Option<TaskId>),
    /// Calling a task off.
    Cancel(Option<TaskId>),
    /// What can be done here.
    Help,
    /// Thanks, and nothing else.
    Thanks,
    /// Everything else.
    Work,
}

/// Longest prompt that can be one of these; a longer one is work.
const WORDS_MAX: usize = 24;

pub(super) fn of(text: &str) -> Intent {
    let task_id = task_id(text);
    let words: Vec<String> = words(text)
        .iter()
        .map(|word| word.lower())
        .take(WORDS_MAX + 1)
        .collect();
    let without_id: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !is_hex(word) || task_id.is_none())
        .collect();
    if without_id.len() > WORDS_MAX {
        return Intent::Work;
    }
    let has = |list: &[&str]| without_id.iter().any(|word| list.contains(word));
    let only = |lists: &[&[&str]]| {
        without_id
            .iter()
            .all(|word| lists.iter().any(|list| list.contains(word)))
    };
    let task = has(&["task", "tasks", "job"]) || task_id.is_some();
    // "cancel my order" is work for an agent; "cancel it", "cancel the weather task" are not.
    if has(CANCEL)
        && (task || (has(POINTING) && only(&[CANCEL, POINTING, FILLER])))
        && !asks_whether(&without_id)
    {
        return Intent::Cancel(task_id);
    }
    let news = has(NEWS);
    if task_id.is_some() && (news || only(&[FILLER, POINTING, TASK])) {
        return Intent::Status(task_id);
    }
    if (task && news) || (has(NEWS_ALONE) && only(&[NEWS, NEWS_ALONE, FILLER, POINTING, TASK])) {
        return Intent::Status(task_id);
    }
    if !without_id.is_empty() && has(THANKS) && only(&[THANKS, FILLER, GREETING]) {
        return Intent::Thanks;
    }
    let asks_help = (has(HELP) && only(&[HELP, FILLER, POINTING, GREETING])) || is_phrase(&without_id);
    if without_id.is_empty() || asks_help || only(&[GREETING, FILLER]) && has(GREETING) {
        return Intent::Help;
    }
    Intent::Work
}

/// The first UUID in the text.
fn task_id(text: &str) -> Option<TaskId> {
    let bytes = text.as_bytes();
    let fits = |c: &u8| c.is_ascii_hexdigit() || *c == b'-';
    let mut runs = bytes.split(|c| !fits(c)).filter(|run| run.len() >= 36);
    runs.find_map(|run| TaskId::parse(std::str::from_utf8(run).ok()?.trim_matches('-')).ok())
}

fn is_hex(word: &str) -> bool {
    matches!(word.len(), 4 | 8 | 12) && word.bytes().all(|c| c.is_ascii_hexdigit())
}

/// True where the text calls off what was asked before, and asks for nothing: "never mind", "cancel", "forget it".
pub(super) fn calls_off(text: &str) -> bool {
    let words: Vec<String> = words(text)
        .iter()
        .map(|word| word.lower())
        .take(WORDS_MAX + 1)
        .collect();
    let only = |lists: &[&[&str]]| {
        words
            .iter()
            .all(|word| lists.iter().any(|list| list.contains(&word.as_str())))
    };
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let bare = has(CANCEL) && only(&[CANCEL, POINTING, FILLER, TASK]);
    let waved = has(NEVER_MIND) && only(&[NEVER_MIND, POINTING, FILLER]);
    !words.is_empty() && (bare || waved)
}

fn asks_whether(words: &[&str]) -> bool {
    words
        .iter()
        .any(|word| matches!(*word, "canceled" | "cancelled" | "stopped"))
}

fn is_phrase(words: &[&str]) -> bool {
    let line = words.join(" ");
    PHRASES
        .iter()
        .any(|phrase| line == *phrase || line.strip_prefix(phrase).is_some_and(|rest| rest == " please"))
        || GREETED.iter().any(|greeting| {
            line.strip_prefix(greeting)
                .is_some_and(|rest| PHRASES.contains(&rest.trim_start_matches(' ')))
        })
}

const CANCEL: &[&str] = &["cancel", "abort", "stop", "kill"];
const NEVER_MIND: &[&str] = &["never", "mind", "nevermind", "forget", "leave"];
const POINTING: &[&str] = &["it", "that", "this", "them", "everything", "request"];
const TASK: &[&str] = &["task", "tasks", "job", "id"];
const FILLER: &[&str] = &[
    "a", "an", "the", "my", "our", "your", "of", "on", "for", "with", "please", "can", "could", "you", "i",
    "me", "we", "want", "to", "now", "just", "how", "what", "s", "is", "are", "has", "have", "there", "so",
    "ok", "okay", "tell", "show", "give", "check", "get", "about", "last", "latest", "newest", "current",
    "and", "hey", "hello", "hi", "be", "will", "when", "any", "been", "does", "do", "look", "where", "yes",
    "no", "re", "at",
];
const NEWS: &[&str] = &[
    "status",
    "progress",
    "doing",
    "going",
    "done",
    "ready",
    "finished",
    "finish",
    "complete",
    "completed",
    "state",
    "running",
    "working",
    "yet",
    "update",
    "updates",
    "news",
    "result",
    "results",
    "canceled",
    "cancelled",
    "stopped",
    "long",
    "far",
    "still",
    "waiting",
    "coming",
    "along",
    "happened",
    "happening",
    "failed",
    "stuck",
];
/// Words that ask for news without saying of what.
const NEWS_ALONE: &[&str] = &[
    "status",
    "progress",
    "done",
    "ready",
    "finished",
    "complete",
    "completed",
    "update",
    "updates",
    "news",
    "running",
    "working",
    "far",
    "result",
    "results",
    "stuck",
];
const THANKS: &[&str] = &[
    "thanks", "thank", "thx", "cheers", "great", "perfect", "nice", "much", "very", "lot", "many",
];
const GREETING: &[&str] = &[
    "hi",
    "hello",
    "hey",
    "howdy",
    "moin",
    "good",
    "morning",
    "afternoon",
    "evening",
    "day",
    "greetings",
    "everyone",
];
const HELP: &[&str] = &["help", "capabilities", "commands", "menu"];
const GREETED: &[&str] = &["hi ", "hello ", "hey "];
const PHRASES: &[&str] = &[
    "what can you do",
    "what can you do for me",
    "what can i do",
    "what can i do here",
    "what can i ask",
    "what can i ask you",
    "what do you do",
    "who are you",
    "what are you",
    "how can you help",
    "how can you help me",
    "how does this work",
    "how do you work",
    "what agents are there",
    "which agents are there",
    "what agents do you have",
    "which agents do you have",
    "which agents do you know",
    "which agents can you reach",
    "list agents",
    "list the agents",
    "list all agents",
    "list your agents",
    "show me the agents",
    "what agents are available",
    "which agents are available",
    "what is this",
    "what else can you do",
];
