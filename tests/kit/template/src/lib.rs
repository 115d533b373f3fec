//! The CloudFormation templates as data: read from YAML, and resolved as far as a deployment with given parameters
//! would resolve them. What is not understood panics: a test of a template must not guess.

pub mod policy;
mod resolve;
pub mod stacks;
mod yaml;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

pub use resolve::{ACCOUNT, REGION, Stack};

/// The workspace's folder.
#[must_use]
pub fn root() -> &'static Path {
    let kit = Path::new(env!("CARGO_MANIFEST_DIR"));
    kit.ancestors().nth(3).unwrap_or(kit)
}

/// A template, with every short form (`!Ref`) written out (`{"Ref": …}`).
#[derive(Debug, Clone)]
pub struct Template {
    /// The whole document.
    pub document: Value,
}

impl Template {
    /// Reads a template by its path in the repository.
    #[must_use]
    pub fn read(path: &str) -> Self {
        let file = root().join(path);
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{path}: {error}"));
        let document = yaml::parse(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        Self { document }
    }

    /// The platform.
    #[must_use]
    pub fn platform() -> Self {
        Self::read("template.yaml")
    }

    /// A tenant.
    #[must_use]
    pub fn tenant() -> Self {
        Self::read("infra/tenant.yaml")
    }

    /// The pool of tenants.
    #[must_use]
    pub fn pool() -> Self {
        Self::read("infra/pool.yaml")
    }

    /// Every resource by its logical id.
    #[must_use]
    pub fn resources(&self) -> BTreeMap<&str, &Value> {
        let resources = self.document["Resources"].as_object().expect("resources");
        resources
            .iter()
            .map(|(id, resource)| (id.as_str(), resource))
            .collect()
    }

    /// The properties of the resources of a type, such as `AWS::SQS::Queue`, by logical id.
    #[must_use]
    pub fn of_type(&self, kind: &str) -> BTreeMap<&str, &Value> {
        self.resources()
            .into_iter()
            .filter(|(_, resource)| resource["Type"] == kind)
            .map(|(id, resource)| (id, &resource["Properties"]))
            .collect()
    }

    /// Every function by its logical id.
    #[must_use]
    pub fn functions(&self) -> BTreeMap<&str, &Value> {
        self.of_type("AWS::Serverless::Function")
    }

    /// The package that a function is built from.
    #[must_use]
    pub fn package(&self, function: &str) -> &str {
        self.resources()[function]["Metadata"]["BuildProperties"]["Binary"]
            .as_str()
            .unwrap_or_else(|| panic!("{function} names no binary"))
    }
}
