//! What a message asks for by its words alone, whatever waits and whoever is there.

use auth::consent_code;
use domain::TaskId;
use words::phrases::words;

use super::lists;

/// What the words of a message ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// It brings the code of a consent.
    Code,
    /// One of the closed list for yes.
    Yes,
    /// One of the closed list for no, later, skip.
    No,
    /// What was asked of the user is done.
    Done,
    /// What is open?
    Open,
    /// How something is doing.
    Status(Target),
    /// Something is to end; what else is wanted beside it stands behind.
    Cancel(Target, Option<String>),
    /// What went wrong is to be tried again.
    Retry(Target),
    /// Nothing is asked for.
    Talk(Talk),
    /// An answer, or a request: the text without the chatter around it.
    Words(String),
}

/// Talk that no agent is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Talk {
    Greeting,
    Thanks,
    Bye,
    Chatter,
    About,
    Help,
}

/// Which tasks are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Target {
    /// By id.
    pub(crate) id: Option<TaskId>,
    /// All of them.
    pub(crate) all: bool,
    /// By these words: names of agents, words of what was asked.
    pub(crate) words: Vec<String>,
    /// Only tasks that are not over can be meant.
    pub(crate) open: bool,
}

/// Names and types of agents, as words.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names(Vec<String>);

impl Names {
    /// Of these names and types.
    pub(crate) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let known = |word: &String| word != "agent" && !lists::FILLER.contains(&word.as_str());
        Self(
            names
                .into_iter()
                .flat_map(lower)
                .map(|word| singular(&word))
                .filter(known)
                .collect(),
        )
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.0.contains(&singular(word))
    }
}

/// Longest message that can be anything but words for an agent.
const WORDS_MAX: usize = 24;

impl Wish {
    /// Reads a text; `names` are of agents that are there.
    pub(crate) fn of(text: &str, names: &Names) -> Self {
        if text.contains(consent_code::MASK) || consent_code::mask(text).is_some() {
            return Self::Code;
        }
        let all = lower(text);
        let whole = all.join(" ");
        let is = |list: &[&str]| list.contains(&whole.as_str());
        if is(lists::YES) {
            return Self::Yes;
        }
        if is(lists::NO) {
            return Self::No;
        }
        if is(lists::DONE) {
            return Self::Done;
        }
        let without = without_chatter(text);
        let core = lower(without);
        if lists::OPEN.contains(&core.join(" ").as_str()) {
            return Self::Open;
        }
        if all.len() > WORDS_MAX {
            return Self::Words(text.trim().to_owned());
        }
        let id = task_id(text);
        if let Some(talk) = talk(&all) {
            return Self::Talk(talk);
        }
        if let Some((target, rest)) = cancel(text, id) {
            return Self::Cancel(target, rest);
        }
        if let Some(target) = retry(without, id) {
            return Self::Retry(target);
        }
        if let Some(target) = status(&core, id, names) {
            return Self::Status(target);
        }
        Self::Words(without.to_owned())
    }
}

/// The words of a text, in small letters.
pub(crate) fn lower(text: &str) -> Vec<String> {
    words(text).iter().map(words::phrases::Word::lower).collect()
}

/// A word without its plural's ending.
pub(crate) fn singular(word: &str) -> String {
    let short = word.len() < 4 || word.ends_with("ss");
    let cut = word.strip_suffix('s').filter(|_| !short);
    cut.unwrap_or(word).to_owned()
}

/// A part of a text between punctuation or joining words.
struct Clause<'t> {
    text: &'t str,
    words: Vec<String>,
    /// A joining word alone parts it from what stands before.
    joined: bool,
}

fn clauses(text: &str) -> Vec<Clause<'_>> {
    let mut out: Vec<Clause<'_>> = Vec::new();
    let (mut start, mut end, mut joined) = (None::<usize>, 0, false);
    for word in words(text) {
        let gap = text.get(end..word.start).unwrap_or_default();
        if gap.contains(['.', ',', ';', '!', '?', '\n']) || gap.contains(": ") {
            out.extend(clause(text, start.take(), end, joined));
            joined = false;
        }
        if matches!(word.lower().as_str(), "and" | "then" | "also" | "but") {
            let before = start.is_some();
            out.extend(clause(text, start.take(), end, joined));
            joined |= before;
        } else if start.is_none() {
            start = Some(word.start);
        }
        end = word.end;
    }
    out.extend(clause(text, start, end, joined));
    out
}

fn clause(text: &str, start: Option<usize>, end: usize, joined: bool) -> Option<Clause<'_>> {
    let text = text.get(start?..end)?;
    let words = lower(text);
    Some(Clause { text, words, joined })
}

/// The text without clauses at its beginning that are mere chatter: "ok, thanks. And in Oslo?".
fn without_chatter(text: &str) -> &str {
    let text = text.trim();
    let mut rest = text;
    for clause in clauses(text) {
        let chatter = !clause.words.is_empty() && talk(&clause.words).is_some_and(|talk| talk != Talk::Help);
        if clause.joined || !chatter || clause.words.len() > 5 {
            break;
        }
        let behind = clause.text.as_ptr() as usize - text.as_ptr() as usize + clause.text.len();
        rest = text
            .get(behind..)
            .unwrap_or(text)
            .trim_start_matches(|c: char| !c.is_alphanumeric());
    }
    if rest.is_empty() { text } else { rest }
}

/// What a text is that asks for nothing.
fn talk(words: &[String]) -> Option<Talk> {
    let whole = words.join(" ");
    let is = |list: &[&str]| list.contains(&whole.as_str());
    if words.is_empty() {
        return Some(Talk::Help);
    }
    let greeted = |word: &String| lists::GREETING.contains(&word.as_str());
    let behind: Vec<&str> = words
        .iter()
        .skip_while(|word| greeted(word))
        .map(String::as_str)
        .collect();
    let behind = behind.join(" ");
    if is(lists::HELP) || lists::HELP.contains(&behind.as_str()) {
        return Some(Talk::Help);
    }
    if is(lists::ABOUT) || lists::ABOUT.contains(&behind.as_str()) {
        return Some(Talk::About);
    }
    let within = |word: &String| {
        let lists = [lists::THANKS, lists::GREETING, lists::BYE, lists::CHATTER];
        lists.iter().any(|list| list.contains(&word.as_str()))
    };
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let ended = [
        "all i needed",
        "that s all",
        "that is all",
        "that was all",
        "all i wanted",
    ];
    if has(lists::THANKS) && ended.iter().any(|end| whole.contains(end)) {
        return Some(Talk::Thanks);
    }
    if !words.iter().all(within) {
        return None;
    }
    let firm = [
        "ok", "okay", "fine", "alright", "lol", "haha", "hm", "hmm", "kidding", "yes", "no", "oh", "wow",
        "pity", "good", "mistake", "sorry", "wait", "window", "well", "sure", "oops", "right", "actually",
        "k",
    ];
    if has(&[
        "bye",
        "goodbye",
        "ciao",
        "cya",
        "tschüss",
        "adiós",
        "adios",
        "revoir",
        "さようなら",
    ]) || whole.ends_with("good night")
        || whole == "ha det"
    {
        Some(Talk::Bye)
    } else if has(lists::THANKS) {
        Some(Talk::Thanks)
    } else if has(lists::GREETING) {
        Some(Talk::Greeting)
    } else if has(&firm) {
        Some(Talk::Chatter)
    } else {
        None
    }
}

/// What is to be called off, and what is wanted beside that.
fn cancel(text: &str, id: Option<TaskId>) -> Option<(Target, Option<String>)> {
    let whole = lower(text).join(" ");
    if lists::CANCEL.contains(&whole.as_str()) {
        return Some((Target::default(), None));
    }
    let (mut target, mut rest, mut found): (Target, Vec<&str>, bool) = (Target::default(), Vec::new(), false);
    for clause in clauses(text) {
        let spoken = clause.words.join(" ");
        let verb = clause
            .words
            .iter()
            .position(|word| lists::CANCELS.contains(&word.as_str()));
        let opens = verb.is_some_and(|at| {
            clause
                .words
                .iter()
                .take(at)
                .all(|word| lists::FILLER.contains(&word.as_str()))
        });
        if lists::NEVER_MIND.contains(&spoken.as_str()) || spoken.starts_with("call off") {
            found = true;
        } else if let Some(at) = verb.filter(|_| opens) {
            found = true;
            let asks = ["canceled", "cancelled", "stopped"];
            let named: Vec<String> = clause.words.iter().skip(at + 1).cloned().collect();
            if named.iter().any(|word| asks.contains(&word.as_str())) {
                return None;
            }
            target.all |= named.iter().any(|word| lists::ALL.contains(&word.as_str()));
            let thing = named.iter().any(|word| lists::THINGS.contains(&word.as_str()));
            if thing && !named.iter().any(|word| lists::ASKING.contains(&word.as_str())) {
                return None;
            }
            target.words.extend(
                named
                    .into_iter()
                    .filter(|word| counts(word) && !lists::ASKING.contains(&word.as_str())),
            );
        } else if found && clause.joined && !opens_request(&clause.words) {
            // "cancel the report on salt and pepper": still what is called off.
            target
                .words
                .extend(clause.words.into_iter().filter(|word| counts(word)));
        } else if talk(&clause.words).is_none() {
            rest.push(clause.text);
        }
    }
    if !found {
        return None;
    }
    if let Some(id) = id {
        target.words.clear();
        target.id = Some(id);
    }
    let rest = rest.join(", ");
    let more = !lower(&rest)
        .iter()
        .all(|word| lists::FILLER.contains(&word.as_str()));
    Some((target, more.then_some(rest).filter(|_| id.is_none())))
}

fn opens_request(words: &[String]) -> bool {
    words
        .first()
        .is_some_and(|word| lists::REQUESTS.contains(&word.as_str()))
}

/// A word that says something of what is meant.
fn counts(word: &str) -> bool {
    ![lists::FILLER, lists::POINTING, lists::TASK, lists::ALL]
        .iter()
        .any(|list| list.contains(&word))
        && !is_hex(word)
}

/// What is to be tried again.
fn retry(text: &str, id: Option<TaskId>) -> Option<Target> {
    let all = clauses(text);
    let last = all.last()?;
    let spoken = last.words.join(" ");
    let known = [
        "try again",
        "try it again",
        "try that again",
        "do it again",
        "once more",
        "start over",
        "retry",
        "redo",
        "again",
    ];
    let way = known.iter().find(|way| {
        spoken == **way || spoken.starts_with(&format!("{way} ")) || spoken.ends_with(&format!(" {way}"))
    })?;
    let words: Vec<String> = lower(&spoken.replacen(way, "", 1))
        .into_iter()
        .filter(|word| counts(word))
        .collect();
    // "Tell me the weather again" is for an agent, as is whatever has more to it than a name.
    let named = matches!(*way, "retry" | "redo") && words.len() <= 4;
    (words.is_empty() || named || id.is_some()).then_some(Target {
        id,
        words,
        ..Target::default()
    })
}

/// Which tasks news are asked of.
fn status(words: &[String], id: Option<TaskId>, names: &Names) -> Option<Target> {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let spoken = words.join(" ");
    let news = has(lists::NEWS) && !spoken.contains("going to");
    let content: Vec<String> = words
        .iter()
        .filter(|word| counts(word) && !lists::NEWS.contains(&word.as_str()))
        .cloned()
        .collect();
    if id.is_some() {
        let piece = |word: &String| word.len() == 4 && word.bytes().all(|c| c.is_ascii_hexdigit());
        return (news || content.iter().all(piece) || spoken.starts_with("what about")).then_some(Target {
            id,
            ..Target::default()
        });
    }
    if !words
        .first()
        .is_some_and(|word| lists::NEWS_BEGINS.contains(&word.as_str()))
    {
        return None;
    }
    let tasks = has(&["tasks", "jobs"]);
    let all = tasks
        || (news && has(lists::ALL))
        || matches!(
            spoken.as_str(),
            "how are things" | "how is everything" | "how s everything"
        );
    if content.is_empty() {
        let asks = news || tasks || all || matches!(spoken.as_str(), "any luck");
        return asks.then_some(Target {
            all,
            ..Target::default()
        });
    }
    let named = content.iter().any(|word| names.has(word));
    let owned = has(&["my", "the"]) && has(&["how", "hows"]) && named;
    let task = has(lists::TASK);
    (news || owned).then_some(Target {
        // Without a name it is a status question only where it speaks of what is under way.
        open: !task && (!named || content.iter().any(|word| !names.has(word)) || !news && !has(&["my"])),
        words: content,
        ..Target::default()
    })
}

/// The first UUID in the text.
fn task_id(text: &str) -> Option<TaskId> {
    let fits = |c: &u8| c.is_ascii_hexdigit() || *c == b'-';
    let mut runs = text.as_bytes().split(|c| !fits(c)).filter(|run| run.len() >= 36);
    runs.find_map(|run| TaskId::parse(std::str::from_utf8(run).ok()?.trim_matches('-')).ok())
}

/// A piece of a UUID.
fn is_hex(word: &str) -> bool {
    matches!(word.len(), 8 | 12)
        && word.bytes().all(|c| c.is_ascii_hexdigit())
        && word.bytes().any(|c| c.is_ascii_digit())
}
