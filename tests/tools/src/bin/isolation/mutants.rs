//! Mutants of the pool: one thing is wrong, and what is asked of another tenant is asked again.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use store::Pooled;
use system_testing::cloud::{Call, Mistake, mixed_up};
use system_testing::policy::{LEADING_KEYS, PREFIX, Policy, Request};
use system_testing::template::{Stack, Template};

use crate::rows::{Person, Way};
use crate::{Outcome, WAYS, World};

/// The pool's isolated functions.
const ISOLATED: [&str; 5] = [
    "ChatApiFunction",
    "HorizonAgentFunction",
    "HostAgentFunction",
    "OauthCallbackFunction",
    "WebhookReceiverFunction",
];
/// The tags in a policy, as it stands there and as it stands in a text with variables of the template's own.
const TAGS: [&str; 4] = [
    "${aws:PrincipalTag/tenant}",
    "${aws:PrincipalTag/tenant_name}",
    "${!aws:PrincipalTag/tenant}",
    "${!aws:PrincipalTag/tenant_name}",
];
/// Which of the people attacks, and which is attacked: the one's prefix is its name, the other's is not.
const PAIR: (usize, usize) = (1, 0);

/// What came of a mutant.
struct Verdict {
    kind: &'static str,
    name: String,
    /// By what it was refused; nothing where it was not.
    refused: Option<String>,
    why: String,
}

/// The verdict on a mutant that came into play or did not.
fn verdict(kind: &'static str, name: String, came: bool, outcome: &Outcome) -> Verdict {
    let by = match outcome.denied {
        0 => format!("by the functions: {:?}", outcome.statuses),
        denied => format!("by IAM, {denied} times: {:?}", outcome.statuses),
    };
    let why = match (came, outcome.leaks.first()) {
        (_, Some(leak)) => leak.clone(),
        (false, None) => "it never came into play".to_owned(),
        (true, None) => String::new(),
    };
    let refused = why.is_empty().then_some(by);
    Verdict {
        kind,
        name,
        refused,
        why,
    }
}

/// A template that was changed, and what shows that it lets more through.
struct Changed {
    name: String,
    function: &'static str,
    template: Template,
    /// What nobody may ask without the change.
    probe: Option<Request>,
    /// Whether sandboxes are to ask for their sessions anew.
    cold: bool,
}

fn function_of(resource: &str) -> Option<&'static str> {
    let of = |function: &&str| resource.starts_with(function.trim_end_matches("Function"));
    ISOLATED.iter().copied().find(of)
}

/// Without the tag that stands in a text, for whoever reads it as a pattern.
fn without_tag(text: &str) -> Option<String> {
    let tag = TAGS.iter().find(|tag| text.contains(**tag))?;
    Some(text.replace(tag, "*"))
}

/// The same with the victim's own in its place, and something for each star.
fn victims(text: &str, victim: &domain::Tenant) -> String {
    let text = text
        .replace(TAGS[0], victim.prefix())
        .replace(TAGS[1], victim.name());
    text.replace('*', "x")
}

/// What a statement would allow somebody of the one tenant of the other's, if it did not ask for the tag.
fn probe(stack: &Stack, statement: &Value, what: &str, victim: &domain::Tenant) -> Request {
    let first = |value: &Value| match value {
        Value::Array(all) => all[0].as_str().expect("text").to_owned(),
        one => one.as_str().expect("text").to_owned(),
    };
    let resource = victims(&first(&stack.value(&statement["Resource"])), victim);
    let resource = match what.contains("arn:aws:s3") {
        true => victims(what, victim),
        false => resource,
    };
    let mut asked = Request::new(first(&statement["Action"]), resource);
    for (_, keys) in statement["Condition"].as_object().into_iter().flatten() {
        for (key, values) in keys.as_object().into_iter().flatten() {
            let value = match key.as_str() {
                LEADING_KEYS | PREFIX => victims(what, victim),
                _ => victims(&first(values), victim),
            };
            asked = asked.with(key, [value]);
        }
    }
    asked
}

/// A template with another value at a place; without one there, where there is none.
fn with(template: &Template, place: &str, value: Option<Value>) -> Template {
    let mut changed = template.clone();
    let (above, last) = place.rsplit_once('/').expect("a place");
    let above = changed.document.pointer_mut(above).expect("a place");
    match (above, value) {
        (Value::Array(list), None) => {
            list.remove(last.parse().expect("a number"));
        }
        (Value::Object(map), None) => {
            map.remove(&last.replace("~1", "/"));
        }
        (above, Some(value)) => *above.pointer_mut(&format!("/{last}")).expect("a place") = value,
        (other, None) => panic!("nothing is in {other}"),
    }
    changed
}

fn escaped(key: &str) -> String {
    key.replace('/', "~1")
}

/// Every condition of the roles that functions act as for a tenant, and every resource in them that has a tag, each wrong by itself.
fn policies(stack: &Stack, victim: &domain::Tenant) -> Vec<Changed> {
    let mut all = Vec::new();
    let template = &stack.template;
    for (id, resource) in template.resources() {
        let Some(function) = function_of(id) else { continue };
        let documents = match resource["Type"].as_str() {
            Some("AWS::IAM::Role") => vec!["Policies/0/PolicyDocument", "AssumeRolePolicyDocument"],
            Some("AWS::IAM::RolePolicy") => vec!["PolicyDocument"],
            _ => continue,
        };
        for document in documents {
            let place = format!("/Resources/{id}/Properties/{document}/Statement");
            let statements = template.document.pointer(&place).and_then(Value::as_array);
            let is_trust = document.starts_with("Assume");
            for (number, statement) in statements.into_iter().flatten().enumerate() {
                let place = format!("{place}/{number}");
                let called = format!("{id}.{}", statement["Sid"].as_str().unwrap_or("Trust"));
                let mut push = |name: String, template: Template, probe: Option<Request>| {
                    all.push(Changed {
                        name: format!("{called} {name}"),
                        function,
                        template,
                        probe,
                        cold: is_trust || id.ends_with("Assumes"),
                    });
                };
                if statement["Effect"] == "Deny" {
                    push("is not denied".to_owned(), with(template, &place, None), None);
                    continue;
                }
                if id.ends_with("Assumes") {
                    let anything = with(template, &format!("{place}/Resource"), Some(json!("*")));
                    push("of any role".to_owned(), anything, None);
                }
                for (operator, keys) in statement["Condition"].as_object().into_iter().flatten() {
                    for (key, values) in keys.as_object().into_iter().flatten() {
                        let place = format!("{place}/Condition/{}/{}", escaped(operator), escaped(key));
                        let each = match values {
                            Value::Array(each) => each.clone(),
                            one => vec![one.clone()],
                        };
                        let tagged = |value: &Value| without_tag(value.as_str().expect("text"));
                        if !each.iter().any(|value| tagged(value).is_some()) {
                            push(format!("without {key}"), with(template, &place, None), None);
                            continue;
                        }
                        for (at, value) in each.iter().enumerate() {
                            let Some(open) = tagged(value) else { continue };
                            let text = value.as_str().expect("text");
                            let asked = probe(stack, statement, text, victim);
                            // An equality knows no stars: it is left away.
                            let changed = match (operator.contains("Like"), values.is_array()) {
                                (true, true) => with(template, &format!("{place}/{at}"), Some(json!(open))),
                                (true, false) => with(template, &place, Some(json!(open))),
                                (false, _) => with(template, &place, None),
                            };
                            push(format!("{key} {text}"), changed, Some(asked));
                        }
                    }
                }
                let resources = match &statement["Resource"] {
                    Value::Array(each) => each.clone(),
                    _ => Vec::new(),
                };
                for (at, told) in resources.iter().enumerate() {
                    let text = told.to_string();
                    let Some(open) = without_tag(&text) else { continue };
                    let open: Value = serde_json::from_str(&open).expect("JSON");
                    let meant = stack.text(told);
                    let mut one = statement.clone();
                    one["Resource"] = json!([meant]);
                    let asked = probe(stack, &one, &meant, victim);
                    let changed = with(template, &format!("{place}/Resource/{at}"), Some(open));
                    push(format!("of {meant}"), changed, Some(asked));
                }
            }
        }
    }
    all
}

/// Variables and switches of the template that say whose a function is, each wrong or missing by itself.
fn settings(template: &Template, victim: (&str, &Pooled)) -> Vec<Changed> {
    let (base, pooled) = victim;
    let mut all = Vec::new();
    for function in ISOLATED {
        let properties = format!("/Resources/{function}/Properties");
        let variables = template
            .document
            .pointer(&format!("{properties}/Environment/Variables"));
        let variables = variables.and_then(Value::as_object).expect("variables");
        let mut push = |name: String, template: Template| {
            all.push(Changed {
                name: format!("{function} {name}"),
                function,
                template,
                probe: None,
                cold: false,
            });
        };
        let tenancy = with(template, &format!("{properties}/TenancyConfig"), None);
        push("is not isolated by Lambda".to_owned(), tenancy);
        let host = format!("{base}/a/host/{}", pooled.host_path);
        let issuers = json!([{ "issuer": base, "tenant": "{tenant_prefix}", "keys": [
            serde_json::from_str::<Value>(&pooled.session_public_key).expect("a key")] }]);
        let name = base.rsplit('/').next().unwrap_or_default();
        let wrong: [(&str, Option<String>); 7] = [
            ("TENANCY", None),
            ("TENANT_ROLE", None),
            ("BASE_PATH", Some(String::new())),
            ("BASE_PATH", Some(format!("/t/{name}"))),
            ("TENANT_BASE_URL", Some(base.to_owned())),
            ("HOST_AGENT_URL", Some(host)),
            ("TRUSTED_ISSUERS", Some(issuers.to_string())),
        ];
        for (variable, value) in wrong
            .into_iter()
            .filter(|(variable, _)| variables.contains_key(*variable))
        {
            let said = match value.as_deref() {
                None => "is not set",
                Some("") => "is empty",
                Some(_) => "is the other tenant's",
            };
            let place = format!("{properties}/Environment/Variables/{variable}");
            push(
                format!("{variable} {said}"),
                with(template, &place, value.map(Value::from)),
            );
        }
    }
    all
}

/// What a record says, each part of it another tenant's.
fn records(own: &Pooled, other: &Pooled) -> Vec<(String, Pooled)> {
    let with = |change: &dyn Fn(&mut Pooled)| {
        let mut changed = own.clone();
        change(&mut changed);
        changed
    };
    let mut all = vec![
        (
            "base_url".to_owned(),
            with(&|own| own.base_url.clone_from(&other.base_url)),
        ),
        (
            "host_path".to_owned(),
            with(&|own| own.host_path.clone_from(&other.host_path)),
        ),
        (
            "horizon_path".to_owned(),
            with(&|own| own.horizon_path.clone_from(&other.horizon_path)),
        ),
        (
            "session_public_key".to_owned(),
            with(&|own| own.session_public_key.clone_from(&other.session_public_key)),
        ),
    ];
    for (name, secret) in &other.secrets {
        let changed = with(&|own| {
            own.secrets.insert(name.clone(), secret.clone());
        });
        all.push((format!("the secret {name}"), changed));
    }
    all
}

/// What kind of thing a call is about: the service, the action, the table or index, and what its keys are of.
fn site(call: &Call, prefix: &str, name: &str) -> Option<(String, String, String)> {
    let text = String::from_utf8_lossy(&call.body);
    let target = call
        .headers
        .get("x-amz-target")
        .and_then(|target| target.to_str().ok());
    let own = format!("{prefix}#");
    let kinds = |text: &str| -> BTreeSet<String> {
        let each = text.match_indices(&own).map(|(at, own)| {
            let rest = &text[at + own.len()..];
            let parts = rest.split(['#', '"', '&', '?']).take(2);
            let words = parts.filter(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase()));
            words.collect::<Vec<_>>().join("#")
        });
        each.collect()
    };
    let Some(target) = target else {
        let path = call.path.replace("%23", "#");
        let at = kinds(&path).into_iter().next()?;
        return Some((format!("s3 {}", call.method), String::new(), at));
    };
    let (service, action) = target.split_once('.')?;
    if service.starts_with("TrentService") {
        let request: Value = serde_json::from_str(&text).ok()?;
        let context = &request["EncryptionContext"];
        let secret = context["secret"].as_str()?.to_owned();
        if context["tenant"] != prefix {
            return None;
        }
        return Some((format!("kms {action}"), String::new(), secret));
    }
    if !service.starts_with("DynamoDB") {
        return None;
    }
    let request: Value = serde_json::from_str(&text).ok()?;
    let tables: BTreeSet<String> = text
        .match_indices("switchyard-prod-")
        .map(|(at, _)| text[at..].split('"').next().unwrap_or_default().to_owned())
        .collect();
    let tables = tables.into_iter().collect::<Vec<_>>().join("+");
    let index = request["IndexName"].as_str().unwrap_or_default();
    let mut of: Vec<String> = kinds(&text).into_iter().collect();
    if of.is_empty() && !text.contains(&format!("{{\"S\":\"{name}\"}}")) {
        return None;
    }
    of.push(index.to_owned());
    Some((action.to_owned(), tables, of.join(" ")))
}

impl World {
    /// Sandboxes begin anew.
    fn forget(&self, only: Option<&str>) {
        for (full, function) in &self.cloud.functions {
            if full.starts_with("pool/") && only.is_none_or(|only| full.ends_with(only)) {
                function.forget();
            }
        }
    }

    /// Plays with a mistake; whether it was made, and what came of it.
    async fn mistaken(&self, mistake: Mistake, ways: &[Way], functions: &[&str]) -> (bool, Outcome) {
        let (attacker, victim) = self.pair(PAIR.0, PAIR.1);
        let both = (
            self.cloud.tenant(&attacker.tenant),
            self.cloud.tenant(&victim.tenant),
        );
        self.cloud.gate.mistakes.make(mistake, both);
        let outcome = self.attack((attacker, victim), ways, functions).await;
        (self.cloud.gate.mistakes.end() > 0, outcome)
    }

    /// The policies' and the settings' mutants.
    async fn of_templates(&mut self, verdicts: &mut Vec<Verdict>) {
        let whole = self.cloud.stacks["pool"].clone();
        let (attacker, victim) = self.pair(PAIR.0, PAIR.1);
        let (own, other) = (
            self.cloud.tenant(&attacker.tenant).clone(),
            self.cloud.tenant(&victim.tenant).clone(),
        );
        let tags = BTreeMap::from([
            ("tenant".to_owned(), own.prefix().to_owned()),
            ("tenant_name".to_owned(), own.name().to_owned()),
        ]);
        let pooled = self.cloud.pooled(&victim.tenant).clone();
        let changed = settings(&whole.template, (&victim.base.clone(), &pooled));
        let policies = policies(&whole, &other)
            .into_iter()
            .map(|changed| ("a policy", changed));
        let settings = changed.into_iter().map(|changed| ("a setting", changed));
        for (kind, changed) in policies.chain(settings) {
            let mut came = true;
            if let Some(asked) = changed.probe {
                let asked = asked.by(&tags);
                let role = format!("{}TenantRole", changed.function.trim_end_matches("Function"));
                let before = Policy::of_role(&whole, &role).allows(&asked);
                let mut wrong = whole.clone();
                wrong.template = changed.template.clone();
                let after = Policy::of_role(&wrong, &role).allows(&asked);
                came = !before && after;
                if before {
                    eprintln!("{}: allowed without any change: {asked:?}", changed.name);
                }
            }
            self.cloud.redeploy_pool(changed.template);
            if changed.cold {
                self.forget(Some(changed.function));
            }
            let ways: &[Way] = if kind == "a policy" { &WAYS[..1] } else { &WAYS };
            let pair = self.pair(PAIR.0, PAIR.1);
            let outcome = self.attack(pair, ways, &[changed.function]).await;
            verdicts.push(verdict(kind, changed.name, came, &outcome));
        }
        self.cloud.redeploy_pool(whole.template);
        self.forget(None);
    }

    /// The keys that functions build: each kind of call that they make for a tenant, made once more with another tenant's key.
    async fn of_keys(&self, verdicts: &mut Vec<Verdict>) {
        let (attacker, victim) = self.pair(PAIR.0, PAIR.1);
        let (own, other) = (
            self.cloud.tenant(&attacker.tenant),
            self.cloud.tenant(&victim.tenant),
        );
        *self.cloud.gate.heard.lock().expect("no panic under the lock") = Some(Vec::new());
        Person::settle(&self.cloud, &attacker.tenant).await;
        self.attack((victim, attacker), &WAYS, &[]).await;
        let own_pair = (attacker, attacker);
        self.attack(own_pair, &[Way::Place], &[]).await;
        let heard = self
            .cloud
            .gate
            .heard
            .lock()
            .expect("no panic under the lock")
            .take();
        let mut sites: BTreeMap<(String, (String, String, String)), Call> = BTreeMap::new();
        for call in heard.into_iter().flatten() {
            let isolated = ISOLATED
                .iter()
                .any(|function| call.function == format!("pool-{function}"));
            if let Some(site) = site(&call, own.prefix(), own.name()).filter(|_| isolated) {
                sites.insert((call.function.clone(), site), call);
            }
        }
        let before = self.kept(&victim.tenant).await;
        let mut tables = BTreeSet::new();
        for ((function, (action, table, of)), call) in &sites {
            let wrong = |text: &str| {
                let path = text.replace(&format!("{}%23", own.prefix()), &format!("{}%23", other.prefix()));
                mixed_up(&path, (own, other))
            };
            let (status, text) = self.cloud.again(call, wrong).await;
            let denied =
                text.contains("AccessDenied") || (action.starts_with("s3") && status.as_u16() == 403);
            let name = format!("{function} {action} {table} {of}");
            let mut outcome = Outcome::default();
            *outcome.statuses.entry(status.as_u16()).or_default() += 1;
            match denied {
                true => outcome.denied = 1,
                false => outcome.leaks.push(format!("{status} {text}")),
            }
            verdicts.push(verdict("a key", name, true, &outcome));
            if let Some((_, table)) = table.rsplit_once('-') {
                tables.insert((function.clone(), table.to_owned()));
            }
        }
        for (key, item) in &before {
            let now = self.kept(&victim.tenant).await;
            assert_eq!(
                now.get(key),
                Some(item),
                "a call with another tenant's key changed this"
            );
        }
        // The function itself, wrong about one table.
        for (function, table) in tables {
            let id = function.trim_start_matches("pool-").to_owned();
            self.forget(Some(&id));
            let mistake = Mistake::Keys {
                function,
                table: Some(table.clone()),
            };
            let (came, outcome) = self.mistaken(mistake, &WAYS[..1], &[&id]).await;
            // What no attack makes it write was made once more above.
            if came {
                let name = format!("{id} in the table {table}");
                verdicts.push(verdict("a function's keys", name, outcome.denied > 0, &outcome));
            }
        }
        self.forget(None);
    }

    /// Sessions with another tenant's tags, and the way of an event to its sandbox.
    async fn of_ways(&self, verdicts: &mut Vec<Verdict>) {
        for function in ISOLATED {
            for tags in [&["tenant"][..], &["tenant_name"], &["tenant", "tenant_name"]] {
                self.forget(Some(function));
                let mistake = Mistake::Tags {
                    function: format!("pool-{function}"),
                    tags,
                };
                let (came, outcome) = self.mistaken(mistake, &WAYS, &[function]).await;
                let name = format!("{function} {}", tags.join(" and "));
                verdicts.push(verdict("a tag of a session", name, came, &outcome));
                self.forget(Some(function));
            }
        }
        let (attacker, victim) = self.pair(PAIR.0, PAIR.1);
        for function in ISOLATED {
            victim.warm().await;
            self.rest().await;
            let (came, outcome) = self.mistaken(Mistake::Sandbox, &WAYS[..1], &[function]).await;
            let name = format!("{function} in a sandbox of the other tenant");
            verdicts.push(verdict("Lambda", name, came, &outcome));
        }
        for (mistake, kind, name) in [
            (
                Mistake::Authorizer,
                "the authorizer",
                "says the other tenant's prefix",
            ),
            (Mistake::Header, "the gateway", "lets pass what a client says"),
        ] {
            let (came, outcome) = self.mistaken(mistake, &WAYS[..1], &[]).await;
            verdicts.push(verdict(kind, name.to_owned(), came, &outcome));
        }
        for (mistake, kind, name) in [
            (
                Mistake::Wakes,
                "the router of wakes",
                "invokes for the other tenant",
            ),
            (Mistake::Messages, "a message", "names the other tenant"),
        ] {
            let before = self.kept(&victim.tenant).await;
            let both = (
                self.cloud.tenant(&attacker.tenant),
                self.cloud.tenant(&victim.tenant),
            );
            self.cloud.gate.mistakes.make(mistake, both);
            let told = attacker.asks().await;
            self.rest().await;
            let came = self.cloud.gate.mistakes.end() > 0;
            let mut outcome = Outcome::default();
            let after = self.kept(&victim.tenant).await;
            let changed = before.iter().filter(|(key, item)| after.get(*key) != Some(*item));
            outcome
                .leaks
                .extend(changed.map(|(key, _)| format!("{key} was changed")));
            let new = after.keys().filter(|key| !before.contains_key(*key));
            outcome.leaks.extend(new.map(|key| format!("{key} is new")));
            let secret = victim
                .secrets
                .iter()
                .find(|secret| told.to_string().contains(secret.as_str()));
            outcome.leaks.extend(secret.cloned());
            verdicts.push(verdict(kind, name.to_owned(), came, &outcome));
        }
    }

    /// Records of which a part is another tenant's.
    async fn of_records(&self, verdicts: &mut Vec<Verdict>) {
        let (attacker, victim) = self.pair(PAIR.0, PAIR.1);
        let own = self.cloud.tenant(&attacker.tenant);
        let (before, other) = (
            self.cloud.pooled(&attacker.tenant),
            self.cloud.pooled(&victim.tenant),
        );
        for (name, changed) in records(before, other) {
            let tenants = self.cloud.store.tenants();
            assert!(tenants.place_in_pool(own, &changed).await.expect("the table"));
            self.forget(None);
            let outcome = self.attack((attacker, victim), &WAYS, &[]).await;
            verdicts.push(verdict("a record", name, true, &outcome));
            assert!(tenants.place_in_pool(own, before).await.expect("the table"));
            self.forget(None);
        }
    }
}

/// Plays every mutant, and prints the score; whether all were refused.
pub(crate) async fn play_all(world: &mut World, each: bool) -> bool {
    let mut verdicts = Vec::new();
    world.of_keys(&mut verdicts).await;
    world.of_ways(&mut verdicts).await;
    world.of_records(&mut verdicts).await;
    world.of_templates(&mut verdicts).await;
    let mut kinds: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for verdict in &verdicts {
        let (refused, all) = kinds.entry(verdict.kind).or_default();
        *all += 1;
        *refused += usize::from(verdict.refused.is_some());
        match &verdict.refused {
            Some(by) if each => println!("refused: {}: {}: {by}", verdict.kind, verdict.name),
            Some(_) => {}
            None => println!("SURVIVOR: {}: {}: {}", verdict.kind, verdict.name, verdict.why),
        }
    }
    for (kind, (refused, all)) in &kinds {
        println!("{kind}: {refused} of {all}");
    }
    let refused = verdicts
        .iter()
        .filter(|verdict| verdict.refused.is_some())
        .count();
    println!("{refused} of {} mutants refused by another layer", verdicts.len());
    refused == verdicts.len()
}
