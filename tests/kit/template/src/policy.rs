//! What IAM would say: the policies of a function's role, read from its template, and asked about each request.
//!
//! As much of IAM as the templates use: Allow and Deny, actions and resources with wildcards, `ForAllValues:StringLike`
//! on `dynamodb:LeadingKeys` and `dynamodb:Attributes`, and `StringLike` on `s3:prefix`. A statement with anything else panics.

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

/// One request to AWS.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// Such as `dynamodb:GetItem`.
    pub action: String,
    /// The ARN it is about.
    pub resource: String,
    /// The partition keys it names, where it is one to DynamoDB.
    pub leading_keys: Vec<String>,
    /// The attributes it names, of the top level alone, where it is one to DynamoDB.
    pub attributes: Vec<String>,
    /// What the keys of a listing begin with, where it is one of S3.
    pub prefix: Option<String>,
}

impl Request {
    /// A request that is about nothing but an ARN.
    #[must_use]
    pub fn new(action: &str, resource: String) -> Self {
        Self {
            action: action.to_owned(),
            resource,
            leading_keys: Vec::new(),
            attributes: Vec::new(),
            prefix: None,
        }
    }
}

/// The policies of one role, with what was asked of them.
#[derive(Debug)]
pub struct Policy {
    /// Whose it is.
    pub function: String,
    statements: Vec<Statement>,
    used: Mutex<BTreeSet<(String, String)>>,
    refused: Mutex<Vec<Request>>,
}

#[derive(Debug)]
struct Statement {
    sid: String,
    allows: bool,
    actions: Vec<String>,
    resources: Vec<String>,
    leading_keys: Option<Vec<String>>,
    attributes: Option<Vec<String>>,
    prefixes: Option<Vec<String>>,
}

impl Policy {
    /// The policy of a function's role.
    #[must_use]
    pub fn of(stack: &Stack, function: &str) -> Self {
        let role = &stack.template.functions()[function]["Role"]["Fn::GetAtt"][0];
        let role = role.as_str().expect("a role of its own");
        let role = &stack.template.of_type("AWS::IAM::Role")[role];
        assert!(
            role.get("ManagedPolicyArns").is_none(),
            "{function}: no policies of others"
        );
        let policies = stack.value(&role["Policies"]);
        let statements = policies
            .as_array()
            .expect("policies")
            .iter()
            .flat_map(|policy| {
                policy["PolicyDocument"]["Statement"]
                    .as_array()
                    .expect("statements")
            })
            .map(Statement::read)
            .collect();
        Self {
            function: function.to_owned(),
            statements,
            used: Mutex::default(),
            refused: Mutex::default(),
        }
    }

    /// Whether it is allowed; remembered either way.
    pub fn allows(&self, request: &Request) -> bool {
        let matching: Vec<&Statement> = self
            .statements
            .iter()
            .filter(|rule| rule.covers(request))
            .collect();
        let allowed = matching.iter().any(|rule| rule.allows) && matching.iter().all(|rule| rule.allows);
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
            .map(|rule| (rule.sid.as_str(), rule.leading_keys.as_deref()))
            .collect()
    }
}

impl Statement {
    fn read(told: &Value) -> Self {
        let list = |name: &str| -> Vec<String> {
            match &told[name] {
                Value::String(one) => vec![one.clone()],
                Value::Array(many) => many
                    .iter()
                    .map(|value| value.as_str().expect("text").to_owned())
                    .collect(),
                other => panic!("{name}: {other}"),
            }
        };
        let known = ["Sid", "Effect", "Action", "Resource", "Condition"];
        let unknown = told
            .as_object()
            .expect("a statement")
            .keys()
            .find(|key| !known.contains(&key.as_str()));
        assert_eq!(unknown, None, "a statement with parts that are not understood");
        let none = serde_json::Map::new();
        let conditions = told.get("Condition").map(|condition| {
            let only = condition.as_object().filter(|all| all.len() == 1);
            let only = only.and_then(|all| {
                let told = all
                    .get("ForAllValues:StringLike")
                    .or_else(|| all.get("StringLike"));
                told?.as_object()
            });
            only.unwrap_or_else(|| panic!("a condition that is not understood: {condition}"))
        });
        let conditions = conditions.unwrap_or(&none);
        let patterns = |name: &str| {
            let values = conditions.get(name)?.as_array().expect("a list");
            let text = |value: &Value| value.as_str().expect("text").to_owned();
            Some(values.iter().map(text).collect::<Vec<_>>())
        };
        let (leading_keys, attributes) = (patterns("dynamodb:LeadingKeys"), patterns("dynamodb:Attributes"));
        let prefixes = patterns("s3:prefix");
        // Without `ForAllValues` what is named is wanted, and may be no list.
        let is_single = told.pointer("/Condition/StringLike").is_some();
        assert_eq!(
            is_single,
            prefixes.is_some(),
            "a condition that is not understood"
        );
        let understood = [&leading_keys, &attributes, &prefixes]
            .into_iter()
            .flatten()
            .count();
        assert_eq!(
            conditions.len(),
            understood,
            "a condition that is not understood: {conditions:?}"
        );
        Self {
            sid: told["Sid"]
                .as_str()
                .expect("each statement has a name")
                .to_owned(),
            allows: match told["Effect"].as_str() {
                Some("Allow") => true,
                Some("Deny") => false,
                other => panic!("the effect {other:?}"),
            },
            actions: list("Action"),
            resources: list("Resource"),
            leading_keys,
            attributes,
            prefixes,
        }
    }

    fn covers(&self, request: &Request) -> bool {
        let Request {
            action,
            resource,
            leading_keys,
            attributes,
            prefix,
        } = request;
        let any = |patterns: &[String], text: &str| patterns.iter().any(|pattern| like(pattern, text));
        any(&self.actions, action)
            && any(&self.resources, resource)
            // ForAllValues: also true where there are none, which is why Scan is denied.
            && self.leading_keys.as_ref().is_none_or(|patterns| leading_keys.iter().all(|key| any(patterns, key)))
            && self.attributes.as_ref().is_none_or(|patterns| attributes.iter().all(|name| any(patterns, name)))
            && self.prefixes.as_ref().is_none_or(|patterns| prefix.as_ref().is_some_and(|prefix| any(patterns, prefix)))
    }
}

/// IAM's wildcards: `*` stands for any text, `?` for one character (here: byte).
fn like(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut seen) = (0, 0);
    // Where the last star was, and how much of the text it stands for.
    let mut star: Option<(usize, usize)> = None;
    while seen < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(wanted) if *wanted == b'?' || *wanted == text[seen] => (at, seen) = (at + 1, seen + 1),
            _ => match star {
                None => return false,
                Some((place, taken)) => {
                    star = Some((place, taken + 1));
                    (at, seen) = (place + 1, taken + 1);
                }
            },
        }
    }
    pattern[at..].iter().all(|rest| *rest == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_are_iams() {
        for (pattern, text, expect) in [
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
            assert_eq!(like(pattern, text), expect, "{pattern} {text}");
        }
    }
}
