//! A deployment of a template: its parameters, what it imports, and the values that its intrinsic functions have then.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Template;

/// The region of the deployments in tests.
pub const REGION: &str = "eu-north-1";
/// Their account.
pub const ACCOUNT: &str = "123456789012";

/// A template with its parameters.
#[derive(Debug, Clone)]
pub struct Stack {
    /// The template.
    pub template: Template,
    name: String,
    parameters: BTreeMap<String, Value>,
    imports: BTreeMap<String, String>,
}

impl Stack {
    /// A stack of this name; parameters that are not given have their defaults, and those without one must be given.
    #[must_use]
    pub fn new(template: Template, name: &str, given: &[(&str, &str)]) -> Self {
        let declared = template.document["Parameters"].as_object().expect("parameters");
        let unknown = given.iter().find(|(name, _)| !declared.contains_key(*name));
        assert_eq!(unknown, None, "no such parameter");
        let parameters = declared.iter().map(|(parameter, told)| {
            let given = given.iter().find(|(known, _)| known == parameter);
            let value = match (given, told.get("Default")) {
                (Some((_, value)), _) => Value::from(*value),
                (None, Some(default)) => default.clone(),
                (None, None) => panic!("the parameter {parameter} must be given"),
            };
            (parameter.clone(), value)
        });
        Self {
            name: name.to_owned(),
            parameters: parameters.collect(),
            imports: BTreeMap::new(),
            template: template.clone(),
        }
    }

    /// Over what another stack exports, and over its parameters in Systems Manager.
    #[must_use]
    pub fn over(mut self, platform: &Self) -> Self {
        self.imports = platform.exports();
        let named: BTreeMap<String, String> = platform
            .template
            .of_type("AWS::SSM::Parameter")
            .values()
            .map(|own| (platform.text(&own["Name"]), platform.text(&own["Value"])))
            .collect();
        let declared = self.template.document["Parameters"]
            .as_object()
            .expect("parameters");
        for (parameter, told) in declared {
            if told["Type"] == "AWS::SSM::Parameter::Value<String>" {
                let name = self.text(&self.parameters[parameter]);
                let found = named.get(&name).unwrap_or_else(|| panic!("no parameter {name}"));
                self.parameters
                    .insert(parameter.clone(), Value::from(found.as_str()));
            }
        }
        self
    }

    /// The same with other values of some parameters.
    #[must_use]
    pub fn with(&self, given: &[(&str, &str)]) -> Self {
        let mut changed = self.clone();
        for (name, value) in given {
            let known = changed.parameters.get_mut(*name);
            *known.unwrap_or_else(|| panic!("no parameter {name}")) = Value::from(*value);
        }
        changed
    }

    /// The same by a newer template: parameters that it has besides have their defaults, or something of their form.
    #[must_use]
    pub fn now_by(&self, template: Template) -> Self {
        let declared = template.document["Parameters"].as_object().expect("parameters");
        let parameters = declared.iter().map(|(name, told)| {
            let known = self.parameters.get(name).or_else(|| told.get("Default"));
            let value = known.cloned().unwrap_or_else(|| Value::from("0".repeat(32)));
            (name.clone(), value)
        });
        Self {
            parameters: parameters.collect(),
            template: template.clone(),
            ..self.clone()
        }
    }

    /// What it exports, by the names of the exports.
    #[must_use]
    pub fn exports(&self) -> BTreeMap<String, String> {
        let outputs = self.template.document["Outputs"].as_object().expect("outputs");
        outputs
            .values()
            .filter_map(|output| {
                let name = self.text(output.pointer("/Export/Name")?);
                Some((name, self.text(&output["Value"])))
            })
            .collect()
    }

    /// An output.
    #[must_use]
    pub fn output(&self, name: &str) -> String {
        self.text(&self.template.document["Outputs"][name]["Value"])
    }

    /// Whether its functions may wake themselves by their own queues as often as they like.
    #[must_use]
    pub fn may_recurse(&self) -> bool {
        self.template.document["Globals"]["Function"]["RecursiveLoop"] == "Allow"
    }

    /// The environment of a function, as it is in the sandbox.
    #[must_use]
    pub fn environment(&self, function: &str) -> BTreeMap<String, String> {
        let variables = &self.template.functions()[function]["Environment"]["Variables"];
        let shared = &self.template.document["Globals"]["Function"]["Environment"]["Variables"];
        variables
            .as_object()
            .unwrap_or_else(|| panic!("{function} has no variables"))
            .iter()
            .chain(shared.as_object().into_iter().flatten())
            .map(|(name, value)| (name.clone(), self.text(value)))
            .collect()
    }

    /// The value as text, as Lambda and IAM want it.
    #[must_use]
    pub fn text(&self, value: &Value) -> String {
        match self.value(value) {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            other => panic!("no text: {other}"),
        }
    }

    /// The value with every intrinsic function resolved.
    #[must_use]
    pub fn value(&self, value: &Value) -> Value {
        match value {
            Value::Array(values) => values.iter().map(|value| self.value(value)).collect(),
            Value::Object(map) => match map.iter().next() {
                Some((name, argument)) if map.len() == 1 && (name == "Ref" || name.starts_with("Fn::")) => {
                    self.call(name, argument)
                }
                _ => Value::Object(
                    map.iter()
                        .map(|(key, value)| (key.clone(), self.value(value)))
                        .collect::<Map<_, _>>(),
                ),
            },
            plain => plain.clone(),
        }
    }

    fn call(&self, name: &str, argument: &Value) -> Value {
        match (name, argument) {
            ("Ref", Value::String(id)) => self.reference(id),
            ("Fn::GetAtt", Value::Array(path)) => match path.as_slice() {
                [Value::String(id), Value::String(attribute)] => self.attribute(id, attribute),
                _ => panic!("GetAtt of {argument}"),
            },
            ("Fn::Sub", Value::String(text)) => Value::from(self.substituted(text, &Map::new())),
            ("Fn::Sub", Value::Array(parts)) => match parts.as_slice() {
                [Value::String(text), Value::Object(own)] => Value::from(self.substituted(text, own)),
                _ => panic!("Sub of {argument}"),
            },
            ("Fn::ImportValue", export) => {
                let export = self.text(export);
                let found = self.imports.get(&export);
                Value::from(
                    found
                        .unwrap_or_else(|| panic!("nothing exports {export}"))
                        .as_str(),
                )
            }
            ("Fn::If", Value::Array(parts)) => match parts.as_slice() {
                [Value::String(condition), yes, no] => {
                    self.value(if self.holds(condition) { yes } else { no })
                }
                _ => panic!("If of {argument}"),
            },
            ("Fn::Join", Value::Array(parts)) => match parts.as_slice() {
                [Value::String(between), values] => match self.value(values) {
                    Value::Array(values) => {
                        let texts: Vec<String> = values.iter().map(|value| self.text(value)).collect();
                        Value::from(texts.join(between))
                    }
                    other => panic!("Join of {other}"),
                },
                _ => panic!("Join of {argument}"),
            },
            _ => panic!("{name} of {argument} is not understood"),
        }
    }

    /// Whether it has this resource, which can depend on a condition.
    #[must_use]
    pub fn makes(&self, id: &str) -> bool {
        let condition = self.resource(id).get("Condition");
        condition.is_none_or(|name| self.holds(name.as_str().expect("a condition's name")))
    }

    fn holds(&self, condition: &str) -> bool {
        self.condition(&self.template.document["Conditions"][condition])
    }

    /// What CloudFormation would say of its parameters, before it makes anything: the assertions of its rules that do not hold.
    #[must_use]
    pub fn refusals(&self) -> Vec<String> {
        let rules = self.template.document["Rules"].as_object();
        let applying = rules.into_iter().flat_map(|rules| rules.values()).filter(|rule| {
            let condition = rule.get("RuleCondition");
            condition.is_none_or(|condition| self.condition(condition))
        });
        let assertions = applying.flat_map(|rule| rule["Assertions"].as_array().expect("assertions"));
        assertions
            .filter(|assertion| !self.condition(&assertion["Assert"]))
            .map(|assertion| self.text(&assertion["AssertDescription"]))
            .collect()
    }

    fn condition(&self, told: &Value) -> bool {
        let parts = |name: &str| told.get(name).and_then(Value::as_array);
        if let Some(inner) = parts("Fn::Not") {
            return !self.condition(&inner[0]);
        }
        if let Some(some) = parts("Fn::Or") {
            return some.iter().any(|one| self.condition(one));
        }
        if let Some(all) = parts("Fn::And") {
            return all.iter().all(|one| self.condition(one));
        }
        match told
            .get("Fn::Equals")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
        {
            Some([one, other]) => self.text(one) == self.text(other),
            _ => panic!("the condition {told} is not understood"),
        }
    }

    fn substituted(&self, text: &str, own: &Map<String, Value>) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            let (name, after) = after.split_once('}').expect("a closed reference");
            if let Some(literal) = name.strip_prefix('!') {
                // "${!Literal}": a variable of somebody else's, such as IAM.
                out.push_str(&format!("${{{literal}}}"));
            } else if let Some(value) = own.get(name) {
                out.push_str(&self.text(value));
            } else if let Some((id, attribute)) = name.split_once('.') {
                out.push_str(&self.text(&self.attribute(id, attribute)));
            } else {
                out.push_str(&self.text(&self.reference(name)));
            }
            rest = after;
        }
        out.push_str(rest);
        out
    }

    fn reference(&self, id: &str) -> Value {
        if let Some(value) = self.parameters.get(id) {
            let told = &self.template.document["Parameters"][id];
            return match (value, told["Type"].as_str()) {
                (Value::String(text), Some("CommaDelimitedList")) => text.split(',').collect(),
                _ => value.clone(),
            };
        }
        if id == "AWS::NoValue" {
            return Value::Null;
        }
        let pseudo = match id {
            "AWS::Region" => Some(REGION),
            "AWS::AccountId" => Some(ACCOUNT),
            "AWS::Partition" => Some("aws"),
            "AWS::URLSuffix" => Some("amazonaws.com"),
            "AWS::StackName" => Some(self.name.as_str()),
            _ => None,
        };
        if let Some(value) = pseudo {
            return Value::from(value);
        }
        let resource = self.resource(id);
        let own = |name: &str| self.text(&resource["Properties"][name]);
        Value::from(match resource["Type"].as_str().unwrap_or_default() {
            "AWS::SQS::Queue" => format!(
                "https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{}",
                own("QueueName")
            ),
            "AWS::SecretsManager::Secret" => {
                format!(
                    "arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:{}-a1b2c3",
                    own("Name")
                )
            }
            "AWS::Logs::LogGroup" => own("LogGroupName"),
            "AWS::S3::Bucket" => own("BucketName"),
            "AWS::SNS::Topic" => format!("arn:aws:sns:{REGION}:{ACCOUNT}:{}", own("TopicName")),
            "AWS::Serverless::Function" => format!("{}-{id}", self.name),
            "AWS::ApiGateway::RestApi" => "abc123".to_owned(),
            "AWS::ApiGateway::Stage" => own("StageName"),
            "AWS::ApiGatewayV2::Api" => "def456".to_owned(),
            _ => id.to_owned(),
        })
    }

    fn attribute(&self, id: &str, attribute: &str) -> Value {
        let resource = self.resource(id);
        let kind = resource["Type"].as_str().unwrap_or_default();
        let own = |name: &str| self.text(&resource["Properties"][name]);
        Value::from(match (kind, attribute) {
            ("AWS::DynamoDB::Table", "Arn") => {
                format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{}", own("TableName"))
            }
            ("AWS::S3::Bucket", "Arn") => format!("arn:aws:s3:::{}", own("BucketName")),
            ("AWS::SQS::Queue", "Arn") => format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{}", own("QueueName")),
            ("AWS::SQS::Queue", "QueueName") => own("QueueName"),
            ("AWS::SSM::Parameter", "Value") => own("Value"),
            ("AWS::Logs::LogGroup", "Arn") => {
                format!(
                    "arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{}:*",
                    own("LogGroupName")
                )
            }
            ("AWS::KMS::Key", "Arn") => format!("arn:aws:kms:{REGION}:{ACCOUNT}:key/{}-{id}", self.name),
            ("AWS::IAM::Role", "Arn") => format!("arn:aws:iam::{ACCOUNT}:role/{}-{id}", self.name),
            ("AWS::Serverless::Function", "Arn") => {
                format!("arn:aws:lambda:{REGION}:{ACCOUNT}:function:{}-{id}", self.name)
            }
            ("AWS::ApiGateway::RestApi", "RootResourceId") => "root".to_owned(),
            _ => panic!("{id} ({kind}) has no attribute {attribute} that is known here"),
        })
    }

    fn resource(&self, id: &str) -> &Value {
        self.template.document["Resources"]
            .get(id)
            .unwrap_or_else(|| panic!("there is no {id}"))
    }
}
