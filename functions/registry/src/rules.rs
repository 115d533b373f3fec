//! What a card must be to be admitted. Pure: given the card, the tags of its registration and the declared types,
//! either the tags each skill is found by, or every reason against it.

use std::collections::{BTreeMap, BTreeSet};

use domain::{AgentType, Tag, Tenant, TypeScope};
use serde_json::Value;

/// Largest card, as compact JSON; far below what an item of the table holds.
const MAX_CARD_BYTES: usize = 128 * 1024;
/// Most skills of a card.
const MAX_SKILLS: usize = 100;
/// Most different tags of a card: each is an item of the same transaction.
const MAX_TAGS: usize = 64;
/// Most reasons told at once.
const MAX_REASONS: usize = 50;

/// What a card is held against.
pub(crate) struct Terms<'a> {
    /// The tenant it is registered for; none for a global agent.
    pub(crate) tenant: Option<&'a Tenant>,
    /// Tags given at registration, for skills that have no `type:` tag of their own.
    pub(crate) added: &'a [Tag],
    /// The declared types.
    pub(crate) types: &'a BTreeMap<AgentType, TypeScope>,
}

/// Admits a card, or says everything that speaks against it.
pub(crate) fn admit(card: &Value, terms: &Terms<'_>) -> Result<Vec<Vec<Tag>>, Vec<String>> {
    if card.to_string().len() > MAX_CARD_BYTES {
        return Err(vec![format!("the card is larger than {MAX_CARD_BYTES} bytes")]);
    }
    let mut reasons: Vec<String> = match a2a::card::parse(card) {
        Ok(_) => Vec::new(),
        Err(fault) => fault.reasons.iter().map(|reason| clipped(reason, 300)).collect(),
    };
    let skills = card.get("skills").and_then(Value::as_array);
    let skills = skills.map(Vec::as_slice).unwrap_or_default();
    if skills.is_empty() && reasons.is_empty() {
        reasons.push("the card has no skills, so nothing finds the agent".to_owned());
    }
    if skills.len() > MAX_SKILLS {
        return Err(vec![format!("the card has more than {MAX_SKILLS} skills")]);
    }
    let mut admitted: Vec<Vec<Tag>> = skills
        .iter()
        .enumerate()
        .map(|(index, skill)| skill_tags(&label(skill, index), skill, terms, &mut reasons))
        .collect();
    let mut distinct: BTreeSet<Tag> = admitted.iter().flatten().cloned().collect();
    if distinct.len() > MAX_TAGS {
        reasons.push(format!("the card has more than {MAX_TAGS} different tags"));
    }
    // Plain words are found too, as far as there is room: a card from elsewhere is not refused for having many.
    for (skill, tags) in skills.iter().zip(&mut admitted) {
        for tag in words(skill).filter_map(indexed) {
            if !tags.contains(&tag) && (distinct.contains(&tag) || distinct.len() < MAX_TAGS) {
                distinct.insert(tag.clone());
                tags.push(tag);
            }
        }
    }
    if reasons.is_empty() {
        Ok(admitted)
    } else {
        reasons.truncate(MAX_REASONS);
        Err(reasons)
    }
}

/// The tags of a registration that an admitted card cannot have brought itself: what another look at the card needs.
pub(crate) fn added_tags(card: &Value, admitted: &[Vec<Tag>]) -> Vec<Tag> {
    let skills = card.get("skills").and_then(Value::as_array);
    let skills = skills.map(Vec::as_slice).unwrap_or_default();
    let mut added: Vec<Tag> = Vec::new();
    for (skill, tags) in skills.iter().zip(admitted) {
        let own: Vec<Tag> = words(skill)
            .filter_map(|word| Tag::parse(word).ok().or_else(|| indexed(word)))
            .collect();
        for tag in tags {
            if !own.contains(tag) && !added.contains(tag) {
                added.push(tag.clone());
            }
        }
    }
    added
}

fn skill_tags(label: &str, skill: &Value, terms: &Terms<'_>, reasons: &mut Vec<String>) -> Vec<Tag> {
    let mut tags: Vec<Tag> = words(skill).filter_map(|word| Tag::parse(word).ok()).collect();
    let typed = tags.iter().any(|tag| tag.key() == "type");
    let is_tenants = |tag: &Tag| tag.key() == "tenant_id";
    if typed {
        // That it changes something, whoever registers it may know better than its card says.
        let effects = terms.added.iter().filter(|tag| tag.key() == "effect");
        tags.extend(effects.cloned());
    }
    if !typed {
        tags.extend_from_slice(terms.added);
    } else if !tags.iter().any(is_tenants) {
        // A card says what it is; for whom it runs here, whoever registers it knows.
        tags.extend(terms.added.iter().filter(|tag| is_tenants(tag)).cloned());
    }
    let mut seen = BTreeSet::new();
    tags.retain(|tag| seen.insert(tag.clone()));

    let mut types = tags.iter().filter(|tag| tag.key() == "type").peekable();
    if types.peek().is_none() {
        reasons.push(format!("{label}: it has no `type:` tag"));
    }
    for type_ in types {
        check_type(label, type_, &tags, terms, reasons);
    }
    tags
}

fn check_type(label: &str, type_: &Tag, tags: &[Tag], terms: &Terms<'_>, reasons: &mut Vec<String>) {
    let name = type_.value();
    let Ok(parsed) = AgentType::parse(name) else {
        reasons.push(format!("{label}: `{name}` is not a type's name"));
        return;
    };
    let mut tenants = tags.iter().filter(|tag| tag.key() == "tenant_id").peekable();
    match (terms.types.get(&parsed), terms.tenant) {
        (None, _) => reasons.push(format!("{label}: the type `{name}` is not declared")),
        (Some(TypeScope::Global), owner) => {
            if tenants.peek().is_some() {
                reasons.push(format!(
                    "{label}: the type `{name}` is global, so a `tenant_id:` tag contradicts it"
                ));
            }
            if owner.is_some() {
                reasons.push(format!(
                    "{label}: the type `{name}` is global, so its agents belong to no tenant"
                ));
            }
        }
        (Some(TypeScope::Tenant), None) => {
            reasons.push(format!(
                "{label}: the type `{name}` is declared as tenant, so its agents must be registered for a tenant"
            ));
        }
        (Some(TypeScope::Tenant), Some(owner)) => {
            if tenants.peek().is_none() {
                reasons.push(format!(
                    "{label}: the type `{name}` is each tenant's own, so it needs the tag `tenant_id:{}`",
                    owner.name()
                ));
            }
            for other in tenants.filter(|tag| tag.value() != owner.name()) {
                reasons.push(format!(
                    "{label}: the tag `{other}` is not of the tenant it is registered for"
                ));
            }
        }
    }
}

/// What a plain word among a card's tags is found by: `tag:finance` for `finance`, `tag:hello-world` for `Hello world`. `None` for
/// what is a tag itself, and for what cannot be in one. The word stays as it is on the card, whose signature covers it.
pub(crate) fn indexed(word: &str) -> Option<Tag> {
    if Tag::parse(word).is_ok() {
        return None;
    }
    let words: Vec<String> = word.split_whitespace().map(str::to_lowercase).collect();
    Tag::parse(&format!("tag:{}", words.join("-"))).ok()
}

/// The type that a card's name gives, such as `currency-converter` for `Currency Converter`.
pub(crate) fn type_of_name(card: &Value) -> Option<AgentType> {
    let name = card.get("name").and_then(Value::as_str)?;
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    let parts: Vec<String> = parts
        .filter(|part| !part.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    AgentType::parse(&parts.join("-"))
        .ok()
        .filter(|_| name.is_ascii())
}

/// The names behind `type:` in a card's own tags.
pub(crate) fn type_names(card: &Value) -> impl Iterator<Item = String> {
    let skills = card.get("skills").and_then(Value::as_array);
    let words = skills.into_iter().flatten().take(MAX_SKILLS).flat_map(words);
    words.filter_map(|word| word.strip_prefix("type:").map(str::to_owned))
}

fn words(skill: &Value) -> impl Iterator<Item = &str> {
    let tags = skill.get("tags").and_then(Value::as_array);
    tags.map(Vec::as_slice)
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_str)
}

fn label(skill: &Value, index: usize) -> String {
    let id = skill
        .get("id")
        .and_then(Value::as_str)
        .filter(|id| !id.is_empty());
    match id {
        Some(id) => format!("skill `{}`", clipped(id, 60)),
        None => format!("skill {}", index + 1),
    }
}

/// Foreign text, short and without what would break a line.
fn clipped(text: &str, max: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(max).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn types() -> BTreeMap<AgentType, TypeScope> {
        [("weather", TypeScope::Global), ("horizon", TypeScope::Tenant)]
            .map(|(name, scope)| (AgentType::parse(name).unwrap(), scope))
            .into()
    }

    fn card(skills: &[(&str, &[&str])]) -> Value {
        let skills: Vec<Value> = skills
            .iter()
            .map(|(id, tags)| json!({"id": id, "name": id, "description": "d", "tags": tags}))
            .collect();
        json!({
            "name": "A", "description": "d", "version": "1", "protocolVersion": "0.3.0",
            "url": "https://agent.example/a2a", "preferredTransport": "JSONRPC", "capabilities": {},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": skills,
        })
    }

    fn judge(card: &Value, tenant: Option<&str>, added: &[&str]) -> Result<Vec<Vec<String>>, Vec<String>> {
        let tenant = tenant.map(|name| Tenant::parse(name).unwrap());
        let added: Vec<Tag> = added.iter().map(|tag| Tag::parse(tag).unwrap()).collect();
        let types = types();
        let terms = Terms {
            tenant: tenant.as_ref(),
            added: &added,
            types: &types,
        };
        let words = |tags: Vec<Tag>| tags.iter().map(ToString::to_string).collect();
        admit(card, &terms).map(|skills| skills.into_iter().map(words).collect())
    }

    #[test]
    fn a_card_is_admitted_with_the_tags_of_each_skill() {
        let own = card(&[("f", &["type:weather", "region:eu", "region:eu"])]);
        assert_eq!(
            judge(&own, None, &[]),
            Ok(vec![vec!["type:weather".into(), "region:eu".into()]])
        );

        let theirs = card(&[("o", &["type:horizon", "tenant_id:acme"])]);
        assert!(judge(&theirs, Some("acme"), &[]).is_ok());
        let anybodys = card(&[("o", &["type:horizon"])]);
        let tags = judge(&anybodys, Some("acme"), &["tenant_id:acme", "lang:py"]).unwrap();
        assert_eq!(tags, [vec!["type:horizon", "tenant_id:acme"]]);

        let foreign = card(&[("hello", &["hello world", "demo"]), ("own", &["type:weather"])]);
        let tags = judge(&foreign, None, &["type:weather", "lang:py"]).unwrap();
        let plain = ["type:weather", "lang:py", "tag:hello-world", "tag:demo"];
        assert_eq!(tags, [plain.to_vec(), vec!["type:weather"]]);

        // As many as there is room for, and none that a tag cannot hold.
        let many: Vec<String> = (0..150).map(|n| format!("word {n}")).collect();
        let mut words: Vec<&str> = many.iter().map(String::as_str).collect();
        words.extend(["type:weather", "c#", "type:weather", " "]);
        let tags = judge(&card(&[("many", &words)]), None, &[]).unwrap();
        assert_eq!((tags[0].len(), tags[0][1].as_str()), (MAX_TAGS, "tag:word-0"));
    }

    #[test]
    fn a_name_gives_a_type_where_it_can() {
        for (name, expect) in [
            ("Currency", Some("currency")),
            ("  IT Helpdesk (v2) ", Some("it-helpdesk-v2")),
            ("Währung", None),
            ("…", None),
            ("", None),
        ] {
            let named = type_of_name(&json!({ "name": name }));
            assert_eq!(named.as_ref().map(AgentType::as_str), expect, "{name}");
        }
    }

    #[test]
    fn a_refused_card_is_told_every_reason() {
        let check = |card: &Value, tenant, added: &[&str], expect: &[&str]| {
            let reasons = judge(card, tenant, added).unwrap_err();
            assert_eq!(reasons.len(), expect.len(), "{reasons:?}");
            for (reason, word) in reasons.iter().zip(expect) {
                assert!(reason.contains(word), "{reason} lacks {word}");
            }
        };
        let plain = card(&[("a", &["weather", "type:weather"]), ("b", &["demo"])]);
        check(&plain, None, &[], &["skill `b`: it has no `type:`"]);
        check(
            &card(&[("a", &["type:weather", "tenant_id:acme"])]),
            None,
            &[],
            &["contradicts"],
        );
        check(
            &card(&[("a", &["type:weather"])]),
            Some("acme"),
            &[],
            &["belong to no tenant"],
        );
        check(&card(&[("a", &["type:horizon"])]), None, &[], &["for a tenant"]);
        check(
            &card(&[("a", &["type:horizon"])]),
            Some("acme"),
            &[],
            &["needs the tag `tenant_id:acme`"],
        );
        check(
            &card(&[("a", &["type:horizon", "tenant_id:globex"])]),
            Some("acme"),
            &[],
            &["tenant_id:globex"],
        );
        check(
            &card(&[("a", &["type:horizon", "tenant_id:acme", "tenant_id:globex"])]),
            Some("acme"),
            &[],
            &["tenant_id:globex"],
        );
        check(&card(&[("a", &["type:new"])]), None, &[], &["not declared"]);
        // The tenant of a registration is not put beside another one's.
        check(
            &card(&[("a", &["type:horizon", "tenant_id:globex"])]),
            Some("acme"),
            &["tenant_id:acme"],
            &["tenant_id:globex"],
        );
        check(
            &card(&[("a", &["type:Weather"])]),
            None,
            &[],
            &["not a type's name"],
        );
        check(&card(&[("a", &["demo"])]), None, &["lang:py"], &["no `type:`"]);
        check(
            &card(&[("a", &["type:weather"]), ("b", &["type:horizon"])]),
            None,
            &[],
            &["skill `b`"],
        );
    }

    #[test]
    fn large_cards_are_refused() {
        let many: Vec<(&str, &[&str])> = vec![("s", &["type:weather"]); MAX_SKILLS + 1];
        assert!(judge(&card(&many), None, &[]).unwrap_err()[0].contains("skills"));
        let mut big = card(&[("a", &["type:weather"])]);
        big["description"] = json!("x".repeat(MAX_CARD_BYTES));
        assert!(judge(&big, None, &[]).unwrap_err()[0].contains("larger"));
        let tags: Vec<String> = (0..MAX_TAGS).map(|n| format!("n:{n}")).collect();
        let mut tags: Vec<&str> = tags.iter().map(String::as_str).collect();
        tags.push("type:weather");
        assert!(judge(&card(&[("a", &tags)]), None, &[]).unwrap_err()[0].contains("different tags"));
    }

    #[test]
    fn the_tags_of_a_registration_are_found_again() {
        let foreign = card(&[("hello", &["demo", "lang:py"]), ("own", &["type:weather"])]);
        let added: Vec<Tag> = ["type:weather", "team:x"]
            .map(|tag| Tag::parse(tag).unwrap())
            .into();
        let types = types();
        let terms = Terms {
            tenant: None,
            added: &added,
            types: &types,
        };
        let admitted = admit(&foreign, &terms).unwrap();
        assert_eq!(added_tags(&foreign, &admitted), added);
    }

    #[test]
    fn rubbish_is_refused_without_a_panic() {
        for rubbish in [
            json!(null),
            json!([]),
            json!("x"),
            json!({}),
            json!({"skills": 7}),
            json!({"skills": [7, {"tags": [1, null]}]}),
        ] {
            assert!(judge(&rubbish, None, &["type:weather"]).is_err(), "{rubbish}");
        }
    }
}
