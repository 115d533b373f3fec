//! What an agent's card does not promise: a deed that nobody there speaks of is refused before anybody is asked for consent.

use words::phrases::words;
use words::{REFUNDS_ABROAD, is_possessive};

use super::terms::{Term, Text, is_function_word, speaks, spelled};
use crate::AgentBrief;

/// Deeds that change something for the user, by how people ask for them, and the beginnings of words by which a card would
/// speak of them.
const DEEDS: &[(&str, &[&str], &[&str])] = &[
    ("cancel", &["cancel"], &["cancel", "call"]),
    (
        "refund",
        &["refund", "money back", "reimburse"],
        &["refund", "reimburs"],
    ),
    (
        "take back",
        &["return my", "return the", "send back", "give back", "take back"],
        &["return"],
    ),
    (
        "sell or buy",
        &[
            "buy",
            "purchase",
            "order me",
            "order us",
            "order a",
            "order an",
            "order some",
            "order two",
            "order three",
        ],
        &["buy", "purchas", "sell", "shop"],
    ),
    (
        "book",
        &[
            "book a meeting",
            "book a call",
            "book lunch",
            "schedule a meeting",
            "schedule a call",
            "schedule lunch",
            "set up a meeting",
            "set up a call",
        ],
        &["book", "arrang", "creat"],
    ),
    (
        "change",
        &[
            "change my order",
            "change the order",
            "change my delivery",
            "change the delivery",
            "change my booking",
            "reschedule",
            "move my",
        ],
        &["chang", "reschedul", "mov"],
    ),
];

/// To cancel, in other languages, as it stands behind a verb for wanting it.
const CANCELING_ABROAD: &[&str] = &[
    "cancelar",
    "stornieren",
    "annuler",
    "avbestille",
    "annuleren",
    "annullare",
    "avbeställa",
    "anulować",
];

/// Those of them that stand at the end of what is wanted.
const CANCELING_LAST: &[&str] = &["stornieren", "annuleren"];

/// Among so many first words of a clause it is what is wanted.
const WANTED: usize = 3;
/// Ends a verb, be it behind what is meant: "send order 1005 back".
const BACK: &str = "back";
/// Among so many words behind the verb.
const AHEAD: usize = 4;
/// What ends a clause.
const ENDS: [char; 9] = ['.', '!', '?', ';', ',', '\n', '–', '—', '¿'];
/// Words before the deed that ask for it politely.
const POLITE: &[&str] = &[
    "please", "can", "could", "would", "you", "i", "d", "ll", "like", "want", "to", "need", "a", "an", "the",
    "how", "do", "get", "my", "and", "also", "about", "what", "just", "ok", "for", "me", "we", "us", "have",
    "hey", "hi", "hello",
];

/// The deed that a text asks for and that the agent's card says nothing of, or says that it does not do it.
#[must_use]
pub fn lacking(agent: &AgentBrief, text: &str) -> Option<String> {
    let text = domain::to_read(text);
    unspoken(agent, text)
        .map(str::to_owned)
        .or_else(|| denied(agent, text))
}

/// The deed that the card denies by a tag, `not:refund,erstattung,geld+zurück`: the deed, then how else people call it. A word
/// that the card uses itself says nothing, and a question may only speak of the deed, unless it begins with it or names things
/// that the card knows nothing of: "¿me puedes comprar un billete?". Words with a `+` between them mean the deed together,
/// wherever they stand, and however they end.
fn denied(agent: &AgentBrief, text: &str) -> Option<String> {
    let asked = spelled(text);
    let tags = agent.skills().iter().flat_map(|skill| skill.tags());
    let told: Vec<String> = texts(agent).flat_map(spelled).collect();
    let means = |way: &str| match spelled(way).as_slice() {
        [] => false,
        [word] => asked.contains(word) && !told.contains(word),
        several => several
            .iter()
            .all(|word| asked.iter().any(|said| said.starts_with(word))),
    };
    let mut denied = tags.filter_map(|tag| tag.strip_prefix("not:"));
    let (ways, way) = denied.find_map(|ways| Some((ways, ways.split(',').find(|way| means(way))?)))?;
    let deed = ways.split(',').next()?.replace('+', " ");
    let asks = || clauses(text).any(|clause| begins(&clause, way)) || asks_abroad(text, way, &told);
    if way.contains('+') || !text.contains(['?', '？']) || asks() {
        return Some(deed);
    }
    let ways = spelled(ways);
    let things = Text::of(text).terms().into_iter();
    let things = things.filter(|term| term.is_matter() && !ways.contains(&term.text));
    let things: Vec<Term> = things.collect();
    let speaks_only =
        things.iter().all(Term::is_faint) || things.iter().any(|thing| told.contains(&thing.text));
    (!speaks_only).then_some(deed)
}

/// Whether a question in another language than English asks for a deed: "pode devolver o pedido 1005?", "kann ich die Bestellung
/// 1005 zurückgeben?". Nothing but words that hold sentences together stands before the verb, and what is meant behind it; or the
/// verb stands last, and before it something that the card speaks of.
fn asks_abroad(text: &str, way: &str, told: &[String]) -> bool {
    let spoken = Text::of(text).spoken;
    // Where verbs stand last.
    let is_last = spoken != 0 && (speaks(spoken, "de") || speaks(spoken, "nl"));
    let is_little = |word: &String| is_function_word(word) || word.chars().all(char::is_numeric);
    let asks = |clause: &str| {
        let words = spelled(clause);
        let Some((before, behind)) = words
            .iter()
            .position(|word| word == way)
            .and_then(|at| Some((words.get(..at)?, words.get(at + 1..)?)))
        else {
            return false;
        };
        let leads = before.first().is_some_and(is_little);
        let is_told = |word: &String| !is_little(word) && told.contains(word);
        match behind {
            [] => is_last && leads && before.iter().any(is_told),
            _ => leads && before.len() < WANTED && before.iter().all(is_little),
        }
    };
    !speaks(spoken, "en") && text.split(ENDS).any(asks)
}

fn unspoken(agent: &AgentBrief, text: &str) -> Option<&'static str> {
    let clauses: Vec<Vec<String>> = clauses(text).collect();
    let back = text.split(ENDS).any(wants_back);
    let is_refund = |word: &words::phrases::Word<'_>| REFUNDS_ABROAD.contains(&word.lower().as_str());
    // Looked up once, not for each clause of a text that may have hundreds.
    let is_question = text.contains(['?', '？']);
    let abroad = !is_question && words(text).iter().any(is_refund);
    let (deed, _, spoken) = DEEDS.iter().find(|(deed, ways, _)| {
        if *deed == "refund" && (back || abroad) {
            return true;
        }
        let asks = |core: &Vec<String>| {
            let begins = |way: &&str| begins(core, way);
            // "Quiero cancelar mi pedido"; a report on how one cancels something is none.
            let says = |word: &String| CANCELING_ABROAD.contains(&word.as_str());
            if *deed == "cancel"
                && (words::CANCELS_ABROAD.iter().any(begins)
                    || !is_question && core.iter().take(WANTED).any(says)
                    || core
                        .last()
                        .is_some_and(|last| CANCELING_LAST.contains(&last.as_str())))
            {
                return true;
            }
            // A refund is asked for in more ways than by a verb.
            let contains = |way: &&str| format!(" {} ", core.join(" ")).contains(&format!(" {way} "));
            ways.iter().any(begins) || *deed == "refund" && ways.iter().any(contains)
        };
        clauses.iter().any(asks)
    })?;
    let told = told(agent);
    let tags = agent.skills().iter().flat_map(|skill| skill.tags());
    let mut denied = tags.filter_map(|tag| tag.strip_prefix("not:"));
    let denies = denied.any(|deed| spoken.iter().any(|begin| deed.starts_with(begin)));
    (denies
        || !told
            .iter()
            .any(|word| spoken.iter().any(|begin| word.starts_with(begin))))
    .then_some(deed)
}

/// The words of each sentence and half of one, which may ask for something of its own.
fn clauses(text: &str) -> impl Iterator<Item = Vec<String>> {
    text.split(ENDS).map(core)
}

/// The words of a clause from where it says what is wanted, in small letters.
fn core(clause: &str) -> Vec<String> {
    let asked = words(clause);
    let asked = asked.iter().map(words::phrases::Word::lower);
    asked.skip_while(|word| POLITE.contains(&word.as_str())).collect()
}

/// Whether a clause says, behind words of wanting alone, that something of one's own is to come back: "I'd like my cash back".
fn wants_back(clause: &str) -> bool {
    let said: Vec<String> = words(clause).iter().map(words::phrases::Word::lower).collect();
    let wanted = said.iter().position(|word| !POLITE.contains(&word.as_str()));
    let Some((before, behind)) = wanted.and_then(|at| said.split_at_checked(at)) else {
        return false;
    };
    before.last().is_some_and(|word| is_possessive(word))
        && behind.iter().take(WANTED).skip(1).any(|word| word == BACK)
}

/// Whether words begin with a way to ask for a deed; its verb may end in `-ing`, and what is meant may stand before its "back".
fn begins(core: &[String], way: &str) -> bool {
    let mut said = core.iter();
    let mut way = way.split(' ');
    let verb = way.next().zip(said.next());
    verb.is_some_and(|(verb, said)| is_form(said, verb))
        && way.all(|word| match word {
            BACK => said.by_ref().take(AHEAD).any(|said| said == word),
            _ => said.next().is_some_and(|said| said == word),
        })
}

/// "canceling", "cancelling" and "purchasing" are forms of their verbs.
fn is_form(said: &str, verb: &str) -> bool {
    let is_stem = |stem: &str| {
        stem == verb || stem.strip_suffix('l') == Some(verb) || verb.strip_suffix('e') == Some(stem)
    };
    said == verb || said.strip_suffix("ing").is_some_and(is_stem)
}

/// The words of a card.
fn told(agent: &AgentBrief) -> Vec<String> {
    let all = texts(agent).flat_map(words);
    all.map(|word| word.lower()).collect()
}

/// What a card says in words.
fn texts(agent: &AgentBrief) -> impl Iterator<Item = &str> {
    let skills = agent.skills().iter().flat_map(|skill| {
        let examples = skill.examples().iter().map(String::as_str);
        examples.chain([skill.name(), skill.description()])
    });
    skills.chain([agent.name(), agent.description()])
}

#[cfg(test)]
mod tests {
    use crate::{CardText, SkillText};
    use domain::AgentType;

    use super::*;

    fn agent(description: &str) -> AgentBrief {
        let card = CardText {
            name: "Horizon",
            description,
        };
        AgentBrief::new(AgentType::parse("horizon").unwrap(), card, [SkillText::default()])
    }

    #[test]
    fn what_a_card_does_not_speak_of_is_lacking() {
        let reads = agent("Says how far your orders are: packed, shipped or delivered.");
        for (text, deed) in [
            ("cancel my order 1001", Some("cancel")),
            (
                "Please cancel my order 1005, I ordered the wrong size.",
                Some("cancel"),
            ),
            ("I want a refund", Some("refund")),
            ("how do I get a refund for the shoes", Some("refund")),
            ("i want my money back for order 1003", Some("refund")),
            ("order a pizza", Some("sell or buy")),
            (
                "Pity. And cancelling my order 1005, can you do that?",
                Some("cancel"),
            ),
            ("how about purchasing two more", Some("sell or buy")),
            ("I'd like my cash back for order 1005", Some("refund")),
            ("ok, can I have my 20 euros back?", Some("refund")),
            ("when do I get my parcel back?", None),
            ("is my parcel on its way back", None),
            ("Where is order 1003, and when does it come?", None),
            ("order me two large pizzas", Some("sell or buy")),
            ("order 1003 status", None),
            ("Where is my order 1001?", None),
            ("has my order been canceled?", None),
            ("Schedule lunch with Sam on Friday", Some("book")),
            ("Can you book a call with Ines?", Some("book")),
            ("an hour for a call with Ines", None),
            ("annule ma commande", Some("cancel")),
            ("quiero cancelar mi pedido 1005", Some("cancel")),
            ("¿se puede cancelar?", None),
            ("escribe un informe sobre cómo cancelar un contrato", None),
            ("storniere bitte alles", Some("cancel")),
            ("send order 1005 back", Some("take back")),
            ("I'd like to send my order back please", Some("take back")),
            ("Can you take order 1005 back?", Some("take back")),
            ("was order 1003 sent back to you", None),
            ("send me a note when the parcel with the shoes is back", None),
            ("ik wil bestelling 1005 graag annuleren", Some("cancel")),
            ("je voudrais être remboursé pour la commande 1005", Some("refund")),
            ("ich möchte eine Rückerstattung für 1003", Some("refund")),
        ] {
            assert_eq!(lacking(&reads, text).as_deref(), deed, "{text}");
        }
        assert_eq!(
            lacking(
                &agent("Looks orders up, and cancels them."),
                "cancel my order 1001"
            ),
            None
        );
    }

    #[test]
    fn what_a_tag_denies_is_lacking_in_the_words_of_its_languages() {
        let tags = [
            "not:refund,erstattung,reembolso,geld+zurück".to_owned(),
            "not:speed+up".to_owned(),
            "not:buy,comprar".to_owned(),
            "not:refund,soldi,dinheiro".to_owned(),
            "not:return,devolver,zurückgeben".to_owned(),
        ];
        let skill = SkillText {
            tags: &tags,
            examples: &[
                "What did I buy in May?".to_owned(),
                "Wo ist meine Bestellung, onde está o meu pedido?".to_owned(),
            ],
            ..SkillText::default()
        };
        let card = CardText {
            name: "Horizon",
            description: "Says how far your orders are.",
        };
        let agent = AgentBrief::new(AgentType::parse("horizon").unwrap(), card, [skill]);
        for (text, deed) in [
            ("Ich will eine Erstattung", Some("refund")),
            ("quiero el reembolso de la compra", Some("refund")),
            ("¿Hay reembolso?", None),
            ("¿me puedes comprar un billete de avión?", Some("buy")),
            ("¿me puedes decir si orders de comprar?", None),
            ("buy me a kettle", Some("sell or buy")),
            ("tell me what I did buy", None),
            ("Wo ist meine Bestellung", None),
            ("Ich möchte das Geld für Bestellung 1005 zurück", Some("refund")),
            ("Kann ich mein Geld zurückbekommen?", Some("refund")),
            ("Wann kommt die Bestellung zurück", None),
            ("speed up the delivery of 1003", Some("speed up")),
            ("Rivoglio i miei soldi per 1005", Some("refund")),
            ("Pode devolver o pedido 1005?", Some("return")),
            ("Kann ich die Bestellung 1005 zurückgeben?", Some("return")),
            ("Onde está o pedido que não quero devolver?", None),
            ("¿Hay que devolver?", None),
        ] {
            assert_eq!(lacking(&agent, text).as_deref(), deed, "{text}");
        }
    }
}
