//! What IAM would say: the policies of roles, read from their template, and asked about each request.
//!
//! As much of IAM as the templates use: Allow and Deny, actions and resources with wildcards, conditions by `StringEquals` and `StringLike`
//! (also `ForAllValues:` and `…IfExists`) over the keys below, tags of the principal as policy variables, and trust policies.
//! A statement with anything else panics.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use serde_json::Value;

use crate::Stack;

/// What Lambda does with a function's role by itself.
const LAMBDAS_OWN: [&str; 5] = [
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ReceiveMessage",
];

/// The partition keys that a request to DynamoDB names.
pub const LEADING_KEYS: &str = "dynamodb:LeadingKeys";
/// The attributes that a request to DynamoDB names, of the top level alone.
pub const ATTRIBUTES: &str = "dynamodb:Attributes";
/// Whether a read from DynamoDB names its attributes.
pub const SELECT: &str = "dynamodb:Select";
/// What the keys of a listing of S3 begin with.
pub const PREFIX: &str = "s3:prefix";
/// The names of the tags that a request gives.
pub const TAG_KEYS: &str = "aws:TagKeys";
/// Before the name of a tag that a request gives.
pub const REQUEST_TAG: &str = "aws:RequestTag/";
/// Before the name of a tag of whoever asks.
pub const PRINCIPAL_TAG: &str = "aws:PrincipalTag/";
/// Before the name of a part of the context that KMS seals with.
pub const ENCRYPTION_CONTEXT: &str = "kms:EncryptionContext:";

/// One request to AWS.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// Such as `dynamodb:GetItem`.
    pub action: String,
    /// The ARN it is about.
    pub resource: String,
    /// What else conditions can ask of it, by condition key.
    pub context: BTreeMap<String, Vec<String>>,
}

impl Request {
    /// A request with nothing that a condition can ask for.
    #[must_use]
    pub fn new(action: impl Into<String>, resource: impl Into<String>) -> Self {
        Self {
            action: action.into(),
            resource: resource.into(),
            context: BTreeMap::new(),
        }
    }

    /// The same with these values of a condition key; without any it is not there.
    #[must_use]
    pub fn with<V: Into<String>>(mut self, key: &str, values: impl IntoIterator<Item = V>) -> Self {
        let values: Vec<String> = values.into_iter().map(Into::into).collect();
        if !values.is_empty() {
            self.context.insert(key.to_owned(), values);
        }
        self
    }

    /// The same with the tags of whoever asks.
    #[must_use]
    pub fn by(mut self, tags: &BTreeMap<String, String>) -> Self {
        for (name, value) in tags {
            self = self.with(&format!("{PRINCIPAL_TAG}{name}"), [value.as_str()]);
        }
        self
    }
}

/// The policies of one role, with what was asked of them.
#[derive(Debug)]
pub struct Policy {
    /// The role's ARN.
    pub arn: String,
    /// How long a session of it is at most, in seconds.
    pub longest_session: u64,
    statements: Vec<Statement>,
    trust: Vec<Statement>,
    used: Mutex<BTreeSet<(String, String)>>,
    refused: Mutex<Vec<Request>>,
}

#[derive(Debug)]
struct Statement {
    sid: String,
    allows: bool,
    /// Whom a trust policy speaks of; nobody in a policy of a role.
    principals: Vec<String>,
    actions: Vec<String>,
    /// The same, as they are compared.
    asked: Vec<Vec<Piece>>,
    resources: Vec<String>,
    conditions: Vec<Condition>,
}

/// A condition on one key.
#[derive(Debug)]
struct Condition {
    key: String,
    /// `ForAllValues:`.
    of_all: bool,
    /// `…IfExists`.
    if_exists: bool,
    wildcards: bool,
    values: Vec<String>,
}

impl Policy {
    /// The policy of a function's role.
    #[must_use]
    pub fn of(stack: &Stack, function: &str) -> Self {
        let role = &stack.template.functions()[function]["Role"]["Fn::GetAtt"][0];
        Self::of_role(stack, role.as_str().expect("a role of its own"))
    }

    /// The policy of a role: its own policies, and those that the stack attaches to it.
    #[must_use]
    pub fn of_role(stack: &Stack, id: &str) -> Self {
        let role = stack.template.of_type("AWS::IAM::Role")[id];
        assert!(
            role.get("ManagedPolicyArns").is_none(),
            "{id}: no policies of others"
        );
        let own = stack.value(&role["Policies"]);
        let attached = stack.template.of_type("AWS::IAM::RolePolicy").into_iter();
        let attached = attached
            .filter(|(policy, _)| stack.makes(policy))
            .filter_map(|(policy, told)| {
                let to = told["RoleName"]["Ref"].as_str();
                (to.unwrap_or_else(|| panic!("{policy} is of no role of the stack")) == id)
                    .then(|| stack.value(told))
            });
        let policies = own.as_array().into_iter().flatten().cloned().chain(attached);
        let statements: Vec<Statement> = policies
            .flat_map(|policy| Statement::all(&policy["PolicyDocument"]))
            .collect();
        assert!(
            statements
                .iter()
                .all(|rule| !rule.sid.is_empty() && rule.principals.is_empty()),
            "{id}: each statement has a name, and speaks of its role"
        );
        let trust = Statement::all(&stack.value(&role["AssumeRolePolicyDocument"]));
        assert!(
            trust.iter().all(|rule| !rule.principals.is_empty()),
            "{id} trusts somebody"
        );
        Self {
            arn: stack.text(&serde_json::json!({ "Fn::GetAtt": [id, "Arn"] })),
            longest_session: role["MaxSessionDuration"].as_u64().unwrap_or(3600),
            statements,
            trust,
            used: Mutex::default(),
            refused: Mutex::default(),
        }
    }

    /// The policy of somebody outside the stacks, such as an operator.
    #[must_use]
    pub fn of_document(arn: &str, document: &Value) -> Self {
        Self {
            arn: arn.to_owned(),
            longest_session: 0,
            statements: Statement::all(document),
            trust: Vec::new(),
            used: Mutex::default(),
            refused: Mutex::default(),
        }
    }

    /// Whether it is allowed; remembered either way.
    pub fn allows(&self, request: &Request) -> bool {
        let matching = matching(&self.statements, request);
        let allowed = allowed(&matching);
        if allowed {
            let mut used = self.used.lock().expect("no panic under the lock");
            for rule in matching {
                used.insert((rule.sid.clone(), request.action.clone()));
            }
        } else {
            self.refused
                .lock()
                .expect("no panic under the lock")
                .push(request.clone());
        }
        allowed
    }

    /// Whether this principal, which is named by its ARN, may ask that of the role itself.
    #[must_use]
    pub fn trusts(&self, principal: &str, request: &Request) -> bool {
        let mut matching = matching(&self.trust, request);
        matching.retain(|rule| rule.principals.iter().any(|one| one == principal));
        allowed(&matching)
    }

    /// What was refused so far.
    #[must_use]
    pub fn refused(&self) -> Vec<Request> {
        self.refused.lock().expect("no panic under the lock").clone()
    }

    /// What is allowed and was never asked for: statement and action. Logs and the polling of queues are Lambda's business.
    #[must_use]
    pub fn unused(&self) -> BTreeSet<(String, String)> {
        let used = self.used.lock().expect("no panic under the lock");
        self.statements
            .iter()
            .filter(|rule| rule.allows)
            .flat_map(|rule| {
                rule.actions
                    .iter()
                    .map(|action| (rule.sid.clone(), action.clone()))
            })
            .filter(|(_, action)| !LAMBDAS_OWN.contains(&action.as_str()))
            .filter(|entry| !used.contains(entry))
            .collect()
    }

    /// What it allows of S3: each action with each resource that it is allowed for.
    #[must_use]
    pub fn s3(&self) -> Vec<(&str, &str)> {
        let of =
            |rule: &'_ Statement| rule.allows && rule.actions.iter().all(|action| action.starts_with("s3:"));
        let rules = self.statements.iter().filter(|rule| of(rule));
        let each = rules.flat_map(|rule| {
            let actions = rule.actions.iter();
            actions.flat_map(|action| {
                rule.resources
                    .iter()
                    .map(move |place| (action.as_str(), place.as_str()))
            })
        });
        each.collect()
    }

    /// The statements that allow something of DynamoDB: their ids with the leading keys they ask for.
    #[must_use]
    pub fn dynamodb(&self) -> BTreeMap<&str, Option<&[String]>> {
        self.statements
            .iter()
            .filter(|rule| rule.allows && rule.actions.iter().any(|action| action.starts_with("dynamodb:")))
            .map(|rule| {
                let keys = rule
                    .conditions
                    .iter()
                    .find(|condition| condition.key == LEADING_KEYS);
                (rule.sid.as_str(), keys.map(|keys| keys.values.as_slice()))
            })
            .collect()
    }
}

/// Whether a policy that stands alone, such as an authorizer's answer, allows this.
#[must_use]
pub fn document_allows(document: &Value, request: &Request) -> bool {
    let statements = Statement::all(document);
    allowed(&matching(&statements, request))
}

fn matching<'a>(statements: &'a [Statement], request: &Request) -> Vec<&'a Statement> {
    statements.iter().filter(|rule| rule.covers(request)).collect()
}

fn allowed(matching: &[&Statement]) -> bool {
    !matching.is_empty() && matching.iter().all(|rule| rule.allows)
}

/// Whether a condition key has any number of values, so that conditions on it say of which they speak.
fn holds_many(key: &str) -> bool {
    match key {
        LEADING_KEYS | ATTRIBUTES | TAG_KEYS => true,
        SELECT | PREFIX => false,
        _ => {
            let known = [REQUEST_TAG, PRINCIPAL_TAG, ENCRYPTION_CONTEXT];
            let known = known.iter().any(|known| key.starts_with(known));
            assert!(known, "the condition key {key} is not understood");
            false
        }
    }
}

/// One text or many.
fn list(told: &Value) -> Vec<String> {
    match told {
        Value::String(one) => vec![one.clone()],
        Value::Array(many) => many
            .iter()
            .map(|value| value.as_str().expect("text").to_owned())
            .collect(),
        other => panic!("no text: {other}"),
    }
}

impl Statement {
    fn all(document: &Value) -> Vec<Self> {
        match &document["Statement"] {
            Value::Array(many) => many.iter().map(Self::read).collect(),
            one => vec![Self::read(one)],
        }
    }

    fn read(told: &Value) -> Self {
        let parts = told.as_object().expect("a statement");
        let known = ["Sid", "Effect", "Principal", "Action", "Resource", "Condition"];
        let unknown = parts.keys().find(|key| !known.contains(&key.as_str()));
        assert_eq!(unknown, None, "a statement with parts that are not understood");
        assert!(
            parts.contains_key("Principal") != parts.contains_key("Resource"),
            "whom or what does this speak of? {told}"
        );
        let principals = parts.get("Principal").map(|told| {
            let kinds = told.as_object().expect("principals by kind");
            let unknown = kinds
                .keys()
                .find(|kind| !["AWS", "Service"].contains(&kind.as_str()));
            assert_eq!(unknown, None, "a principal that is not understood");
            kinds.values().flat_map(list).collect()
        });
        let resources = parts.get("Resource").map_or_else(|| vec!["*".to_owned()], list);
        let actions = list(&told["Action"]);
        let variable = actions.iter().find(|action| action.contains("${"));
        assert_eq!(variable, None, "a variable that is not understood");
        for resource in &resources {
            let _without_values = filled(resource, true, &BTreeMap::new());
        }
        let conditions = parts.get("Condition").into_iter();
        let conditions = conditions.flat_map(|told| told.as_object().expect("conditions"));
        Self {
            sid: told["Sid"].as_str().unwrap_or_default().to_owned(),
            allows: match told["Effect"].as_str() {
                Some("Allow") => true,
                Some("Deny") => false,
                other => panic!("the effect {other:?}"),
            },
            principals: principals.unwrap_or_default(),
            asked: actions.iter().map(|action| pattern(action)).collect(),
            resources,
            actions,
            conditions: conditions
                .flat_map(|(operator, keys)| {
                    let keys = keys.as_object().expect("condition keys").iter();
                    keys.map(|(key, values)| Condition::read(operator, key, values))
                })
                .collect(),
        }
    }

    fn covers(&self, request: &Request) -> bool {
        let Request {
            action,
            resource,
            context,
        } = request;
        let mut resources = self
            .resources
            .iter()
            .filter_map(|each| filled(each, true, context));
        self.asked.iter().any(|each| like(each, action))
            && resources.any(|each| like(&each, resource))
            && self.conditions.iter().all(|condition| condition.holds(context))
    }
}

impl Condition {
    fn read(operator: &str, key: &str, values: &Value) -> Self {
        let (of_all, rest) = match operator.strip_prefix("ForAllValues:") {
            Some(rest) => (true, rest),
            None => (false, operator),
        };
        let (if_exists, rest) = match rest.strip_suffix("IfExists") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let wildcards = match rest {
            "StringLike" => true,
            "StringEquals" => false,
            _ => panic!("the condition operator {operator} is not understood"),
        };
        assert_eq!(of_all, holds_many(key), "{operator} on {key}");
        let condition = Self {
            key: key.to_owned(),
            of_all,
            if_exists,
            wildcards,
            values: list(values),
        };
        // What it names is understood.
        for value in &condition.values {
            let _without_values = filled(value, condition.wildcards, &BTreeMap::new());
        }
        condition
    }

    fn holds(&self, context: &BTreeMap<String, Vec<String>>) -> bool {
        let fits = |value: &String| {
            let values = self.values.iter();
            let mut patterns = values.filter_map(|each| filled(each, self.wildcards, context));
            patterns.any(|pattern| like(&pattern, value))
        };
        match context.get(&self.key).map(Vec::as_slice) {
            // ForAllValues: also true where there are none, which is why Scan is denied.
            None => self.of_all || self.if_exists,
            Some(values) if self.of_all => values.iter().all(fits),
            Some([value]) => fits(value),
            Some(values) => panic!("{} has one value, not {values:?}", self.key),
        }
    }
}

/// What a value or a resource asks for. One with a variable that has no value is like nothing.
fn filled(value: &str, wildcards: bool, context: &BTreeMap<String, Vec<String>>) -> Option<Vec<Piece>> {
    let plain = |text: &str| match wildcards {
        true => pattern(text),
        false => literal(text),
    };
    let mut pieces = Vec::new();
    let mut rest = value;
    let mut whole = true;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').expect("a closed variable");
        assert!(
            name.starts_with(PRINCIPAL_TAG),
            "the variable {name} is not understood"
        );
        pieces.extend(plain(before));
        match context.get(name).map(Vec::as_slice) {
            Some([value]) => pieces.extend(literal(value)),
            _ => whole = false,
        }
        rest = after;
    }
    pieces.extend(plain(rest));
    whole.then_some(pieces)
}

/// A part of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// This byte.
    Byte(u8),
    /// `?`: one character (here: byte).
    One,
    /// `*`: any text.
    Any,
}

/// A text whose wildcards stand for themselves.
fn literal(text: &str) -> Vec<Piece> {
    text.bytes().map(Piece::Byte).collect()
}

/// A text with IAM's wildcards.
fn pattern(text: &str) -> Vec<Piece> {
    let piece = |byte| match byte {
        b'*' => Piece::Any,
        b'?' => Piece::One,
        byte => Piece::Byte(byte),
    };
    text.bytes().map(piece).collect()
}

/// Whether a text has this form.
fn like(pattern: &[Piece], text: &str) -> bool {
    let text = text.as_bytes();
    let (mut at, mut seen) = (0, 0);
    // Where the last star was, and how much of the text it stands for.
    let mut star: Option<(usize, usize)> = None;
    while seen < text.len() {
        match pattern.get(at) {
            Some(Piece::Any) => {
                star = Some((at, seen));
                at += 1;
            }
            Some(wanted) if *wanted == Piece::One || *wanted == Piece::Byte(text[seen]) => {
                (at, seen) = (at + 1, seen + 1)
            }
            _ => match star {
                None => return false,
                Some((place, taken)) => {
                    star = Some((place, taken + 1));
                    (at, seen) = (place + 1, taken + 1);
                }
            },
        }
    }
    pattern[at..].iter().all(|rest| *rest == Piece::Any)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn wildcards_are_iams() {
        for (form, text, expect) in [
            ("acme#*", "acme#host#task#1", true),
            ("acme#*", "acmes#host", false),
            ("acme#*", "globex#acme#", false),
            ("*#weather#task#*", "acme#weather#task#1", true),
            ("*#weather#task#*", "acme#host#task#1", false),
            ("due#?", "due#7", true),
            ("due#?", "due#77", false),
            ("", "", true),
            ("*", "", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b", false),
        ] {
            assert_eq!(like(&pattern(form), text), expect, "{form} {text}");
        }
    }

    /// A statement that allows reading an item on this condition.
    fn reads(condition: Value) -> Value {
        json!({ "Statement": [{
            "Effect": "Allow", "Action": ["dynamodb:GetItem"], "Resource": "arn:table", "Condition": condition,
        }] })
    }

    fn read() -> Request {
        Request::new("dynamodb:GetItem", "arn:table")
    }

    fn tags(tags: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        tags.iter().map(owned).collect()
    }

    /// "Multi-valued context keys": `ForAllValues` is true too where the key is not there; each value of a request has to fit.
    #[test]
    fn every_value_fits_or_there_is_none() {
        let document = reads(json!({ "ForAllValues:StringLike": { LEADING_KEYS: ["acme#*", "globex"] } }));
        for (keys, expect) in [
            (&[][..], true),
            (&["acme#1"], true),
            (&["acme#1", "globex"], true),
            (&["acme#1", "globex#1"], false),
        ] {
            let asked = read().with(LEADING_KEYS, keys.iter().copied());
            assert_eq!(document_allows(&document, &asked), expect, "{keys:?}");
        }
        // The values of an equality have no wildcards.
        let document = reads(json!({ "ForAllValues:StringEquals": { ATTRIBUTES: ["pk", "s*"] } }));
        assert!(document_allows(&document, &read().with(ATTRIBUTES, ["pk", "s*"])));
        assert!(!document_allows(
            &document,
            &read().with(ATTRIBUTES, ["pk", "sk"])
        ));
    }

    /// "If the key that you specify in a policy condition is not present in the request context, the values do not match", but with
    /// `IfExists`; several operators and several keys are all to hold.
    #[test]
    fn a_key_that_is_not_there_fits_where_it_may_be_missing() {
        let strict = reads(json!({ "StringEquals": { SELECT: "COUNT" } }));
        let lenient = reads(json!({
            "StringEqualsIfExists": { SELECT: "COUNT" },
            "ForAllValues:StringEquals": { ATTRIBUTES: ["pk"] },
        }));
        for (select, attribute, expect) in [
            (None, "pk", (false, true)),
            (Some("COUNT"), "pk", (true, true)),
            (Some("ALL_ATTRIBUTES"), "pk", (false, false)),
            (Some("COUNT"), "secret", (true, false)),
        ] {
            let asked = read().with(SELECT, select).with(ATTRIBUTES, [attribute]);
            let told = [&strict, &lenient].map(|document| document_allows(document, &asked));
            assert_eq!(told, [expect.0, expect.1], "{asked:?}");
        }
    }

    /// "Policy variables with no value": "there is no equal or like value". What a tag holds is no pattern.
    #[test]
    fn a_tag_of_the_principal_stands_for_itself_and_one_without_a_value_for_nothing() {
        let own = "${aws:PrincipalTag/tenant}#host#*";
        let document = reads(json!({ "ForAllValues:StringLike": { LEADING_KEYS: [own] } }));
        let asked = |tags: &BTreeMap<String, String>, key: &str| {
            document_allows(&document, &read().with(LEADING_KEYS, [key]).by(tags))
        };
        for (tag, key, expect) in [
            ("acme", "acme#host#1", true),
            ("acme", "globex#host#1", false),
            ("acme", "acmes#host#1", false),
            ("*", "acme#host#1", false),
            ("*", "*#host#1", true),
            ("acm?", "acme#host#1", false),
            ("", "acme#host#1", false),
        ] {
            assert_eq!(asked(&tags(&[("tenant", tag)]), key), expect, "{tag} {key}");
        }
        for others in [&[][..], &[("tenant_name", "acme")]] {
            for key in ["acme#host#1", "#host#1", own] {
                assert!(!asked(&tags(others), key), "{key} by {others:?}");
            }
        }
        // The other values of the list count.
        let document = reads(json!({ "ForAllValues:StringLike": { LEADING_KEYS: [own, "global"] } }));
        assert!(document_allows(&document, &read().with(LEADING_KEYS, ["global"])));
    }

    #[test]
    fn a_part_of_a_sealing_context_is_of_the_principal_and_one_of_those_listed() {
        let document = json!({ "Statement": {
            "Effect": "Allow", "Action": "kms:Decrypt", "Resource": "arn:key",
            "Condition": { "StringEquals": {
                "kms:EncryptionContext:tenant": "${aws:PrincipalTag/tenant}",
                "kms:EncryptionContext:secret": ["session-key", "sealing-keys"],
            } },
        } });
        for (context, expect) in [
            (&[("tenant", "acme"), ("secret", "session-key")][..], true),
            (&[("tenant", "acme"), ("secret", "sealing-keys")], true),
            (&[("tenant", "globex"), ("secret", "session-key")], false),
            (&[("tenant", "acme"), ("secret", "others")], false),
            (&[("tenant", "acme")], false),
            (&[("secret", "session-key")], false),
        ] {
            let asked = Request::new("kms:Decrypt", "arn:key").by(&tags(&[("tenant", "acme")]));
            let asked = context.iter().fold(asked, |asked, (name, value)| {
                asked.with(&format!("{ENCRYPTION_CONTEXT}{name}"), [*value])
            });
            assert_eq!(document_allows(&document, &asked), expect, "{context:?}");
        }
    }

    #[test]
    fn an_explicit_deny_counts_more_than_any_allow() {
        let document = json!({ "Statement": [
            { "Effect": "Allow", "Action": "dynamodb:*", "Resource": "*" },
            { "Effect": "Deny", "Action": ["dynamodb:Scan"], "Resource": "*" },
        ] });
        assert!(document_allows(&document, &read()));
        assert!(!document_allows(
            &document,
            &Request::new("dynamodb:Scan", "arn:table")
        ));
    }

    /// What is not understood is not guessed.
    #[test]
    fn what_is_not_understood_is_no_policy() {
        for condition in [
            json!({ "StringNotEquals": { SELECT: "COUNT" } }),
            json!({ "ForAnyValue:StringEquals": { LEADING_KEYS: ["a"] } }),
            json!({ "StringEquals": { LEADING_KEYS: ["a"] } }),
            json!({ "ForAllValues:StringEquals": { SELECT: ["COUNT"] } }),
            json!({ "StringEquals": { "aws:SourceIp": "10.0.0.1" } }),
            json!({ "StringEquals": { SELECT: "${aws:username}" } }),
            json!({ "StringEquals": { SELECT: "${*}" } }),
        ] {
            let document = reads(condition.clone());
            assert!(
                std::panic::catch_unwind(|| document_allows(&document, &read())).is_err(),
                "{condition}"
            );
        }
        for statement in [
            json!({ "Effect": "Allow", "Action": "a:B" }),
            json!({ "Effect": "Allow", "Action": "a:B", "NotResource": "*" }),
            json!({ "Effect": "Allow", "Action": "a:B", "Resource": "arn:${aws:username}" }),
            json!({ "Effect": "Allow", "Action": "a:${aws:PrincipalTag/tenant}", "Resource": "*" }),
            json!({ "Effect": "Allow", "Action": "a:B", "Principal": { "Federated": "x" } }),
        ] {
            let document = json!({ "Statement": [statement] });
            assert!(
                std::panic::catch_unwind(|| document_allows(&document, &read())).is_err(),
                "{document}"
            );
        }
    }

    /// A tag in a resource is the principal's, and its wildcards are none; without the tag the resource is nobody's.
    #[test]
    fn a_resource_may_be_the_principals_own() {
        let document = json!({ "Statement": [{
            "Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:bucket/${aws:PrincipalTag/tenant}#*",
        }] });
        for (tag, key, expect) in [
            ("acme", "acme#chat", true),
            ("acme", "globex#chat", false),
            ("*", "acme#chat", false),
            ("", "acme#chat", false),
        ] {
            let asked = Request::new("s3:GetObject", format!("arn:bucket/{key}"));
            assert!(!document_allows(&document, &asked), "without a tag");
            let asked = asked.by(&tags(&[("tenant", tag)]));
            assert_eq!(document_allows(&document, &asked), expect, "{tag} {key}");
        }
    }

    /// A session of each function of the pool has both tags, for an hour at most, and nobody else's session has.
    #[test]
    fn the_roles_of_tenants_are_assumed_by_their_function_with_both_tags_alone() {
        let stack = crate::stacks::pool();
        let roles = crate::stacks::tenant_roles(&stack);
        assert_eq!(roles.len(), 5);
        for (function, role) in &roles {
            let (own, of_tenant) = (Policy::of(&stack, function), Policy::of_role(&stack, role));
            assert_eq!(of_tenant.longest_session, 3600);
            for action in ["sts:AssumeRole", "sts:TagSession"] {
                let asked = |tags: &[(&str, &str)]| {
                    let keys = tags.iter().map(|(name, _)| *name);
                    let asked = Request::new(action, of_tenant.arn.as_str()).with(TAG_KEYS, keys);
                    tags.iter().fold(asked, |asked, (name, value)| {
                        asked.with(&format!("{REQUEST_TAG}{name}"), [*value])
                    })
                };
                let both = [("tenant", "acme.1"), ("tenant_name", "acme")];
                let more = [both[0], both[1], ("team", "x")];
                let empty = [("tenant", ""), both[1]];
                assert!(own.allows(&asked(&both)), "{function}");
                assert!(of_tenant.trusts(&own.arn, &asked(&both)), "{function}");
                for wrong in [&[][..], &both[..1], &both[1..], &more, &empty] {
                    assert!(
                        !of_tenant.trusts(&own.arn, &asked(wrong)),
                        "{function}: {wrong:?}"
                    );
                }
                for (other, others_role) in &roles {
                    if other != function {
                        let stranger = Policy::of(&stack, other);
                        assert!(
                            !of_tenant.trusts(&stranger.arn, &asked(&both)),
                            "{other} as {role}"
                        );
                        let others_role = Policy::of_role(&stack, others_role).arn;
                        assert!(!own.allows(&Request::new(action, others_role)), "{function}");
                    }
                }
                for stranger in [
                    "lambda.amazonaws.com",
                    "arn:aws:iam::123456789012:root",
                    &of_tenant.arn,
                ] {
                    assert!(!of_tenant.trusts(stranger, &asked(&both)), "{stranger}");
                }
            }
        }
    }

    /// What a stack attaches by a condition counts where the condition holds.
    #[test]
    fn an_attached_policy_counts_where_its_condition_holds() {
        let model = "arn:aws:bedrock:eu-north-1::foundation-model/a";
        let asked = Request::new("bedrock:InvokeModelWithResponseStream", model);
        for (stack, role) in [
            (crate::stacks::tenant("acme"), "HostAgentRole"),
            (crate::stacks::pool(), "HostAgentTenantRole"),
        ] {
            assert!(!Policy::of_role(&stack, role).allows(&asked));
            let listed = stack.with(&[("BedrockModels", &format!("{model},{model}b"))]);
            let policy = Policy::of_role(&listed, role);
            assert!(policy.allows(&asked));
            assert!(policy.allows(&Request::new(asked.action.as_str(), format!("{model}b"))));
            assert!(!policy.allows(&Request::new(asked.action.as_str(), format!("{model}c"))));
            let others = listed.template.of_type("AWS::IAM::Role");
            for other in others.keys().filter(|other| **other != role) {
                assert!(!Policy::of_role(&listed, other).allows(&asked), "{other}");
            }
        }
    }
}
