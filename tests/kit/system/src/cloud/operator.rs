//! The operator's side of the deployment: what a shell asks of `aws` and `sam`. Both are stand-ins that hand each command to
//! the [`Cloud`], which does what AWS would: stacks come and go, secrets and tables outlive them where the template says so.
//! `cargo run` is the built command; `curl`, `jq` and the shell are the machine's own.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use store::{BlobKey, BlobScope, Blobs as _, ListedBlob};
use tokio::sync::{mpsc, oneshot};

use super::Cloud;
use crate::runtime_api::program;
use crate::template::{Stack, Template};

/// Hands its name, its arguments and what it is fed to the cloud, and does what that says.
const STAND_IN: &str = r#"#!/bin/sh
set -eu
name=${0##*/}
case $name in
  pip) exit 0 ;;
  cargo)
    while [ "$1" != -- ]; do shift; done
    shift
    exec "$SWITCHYARD" "$@"
    ;;
esac
place=$(mktemp -d)
trap 'rm -r "$place"' EXIT
printf '%s\n' "$@" >"$place/args"
files='{}' fed=null
: >"$place/fed"
for arg; do
  case $arg in
    file:///dev/stdin) cat >"$place/fed" && fed='$text' ;;
    file:///*) files=$(jq -n --argjson files "$files" --arg name "$arg" --rawfile text "${arg#file://}" '$files + {($name): $text}') ;;
  esac
done
jq -Rn --arg name "$name" --argjson files "$files" --rawfile text "$place/fed" \
  "{\$name, args: [inputs], fed: $fed, \$files}" "$place/args" |
  curl --silent --show-error --fail --noproxy '*' -H 'content-type: application/json' --data-binary @- "$CLOUD" >"$place/told"
jq -j .out "$place/told"
jq -j .error "$place/told" >&2
jq -e '.error == ""' "$place/told" >/dev/null
"#;

/// One command of a shell.
#[derive(Debug)]
pub struct Asked {
    /// `aws` or `sam`.
    pub name: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its standard input, where an argument names that.
    pub fed: Option<String>,
    /// The files that its arguments name, by argument.
    files: BTreeMap<String, String>,
}

impl Asked {
    /// The argument after this flag.
    ///
    /// # Panics
    /// Where the flag is not there.
    #[must_use]
    pub fn after(&self, flag: &str) -> &str {
        let at = self.args.iter().position(|arg| arg == flag);
        let value = at.and_then(|at| self.args.get(at + 1));
        value.unwrap_or_else(|| panic!("no {flag} in {self:?}"))
    }

    fn has(&self, flag: &str) -> bool {
        self.args.iter().any(|arg| arg == flag)
    }
}

/// What lies in the account beside the stacks.
#[derive(Default)]
pub struct Account {
    /// Which template a folder was built from.
    built: BTreeMap<String, String>,
    /// The secrets by name, with their ARNs; their values are the gate's.
    secrets: BTreeMap<String, String>,
    /// The tables, and whether each is protected from being deleted.
    tables: BTreeMap<String, bool>,
    /// The buckets.
    buckets: BTreeSet<String>,
    /// Stacks whose creation failed and was taken back.
    rolled_back: BTreeSet<String>,
    /// Whether the next creation of a stack fails half-way.
    creation_fails: bool,
    /// Where the templates are that are built, if not in the repository.
    release: Option<PathBuf>,
    /// The parameters that stacks were last given; what is not said anew stays.
    given: BTreeMap<String, BTreeMap<String, String>>,
}

/// What a command says: its output, or its error.
type Said = Result<String, String>;

type Commands = mpsc::UnboundedSender<(Asked, oneshot::Sender<Said>)>;

async fn hear(State(commands): State<Arc<Commands>>, Json(told): Json<Value>) -> Json<Value> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let asked = Asked {
        name: text(&told["name"]).expect("a name"),
        args: told["args"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(text)
            .collect(),
        fed: text(&told["fed"]),
        files: serde_json::from_value(told["files"].clone()).expect("files"),
    };
    let (say, said) = oneshot::channel();
    commands.send((asked, say)).expect("the cloud listens");
    let said = said.await.expect("the cloud answers");
    Json(
        json!({ "out": said.as_ref().map_or("", String::as_str), "error": said.as_ref().err().map_or("", String::as_str) }),
    )
}

impl Cloud {
    /// Runs a script of `sh` in a folder, with `aws` and `sam` for this cloud. All that it asked is told beside its output.
    ///
    /// # Panics
    /// Where a command is none that this cloud knows.
    pub async fn shell(&mut self, folder: &Path, script: &str) -> (Output, Vec<Asked>) {
        let bin = tempfile::tempdir().expect("a folder");
        for name in ["aws", "sam", "pip", "cargo", "cargo-lambda", "sleep"] {
            let file = bin.path().join(name);
            std::fs::write(&file, STAND_IN).expect("a file");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        }
        let (commands, mut asked) = mpsc::unbounded_channel();
        let router = Router::new()
            .route("/", post(hear))
            .with_state(Arc::new(commands));
        let control = self.serve_new(router).await;
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("PATH=\"$STAND_INS:$PATH\"\n{script}")])
            .env("STAND_INS", bin.path())
            .env("CLOUD", control)
            .env("SWITCHYARD", crate::binary::path("switchyard"))
            .env("AWS_REGION", crate::template::REGION)
            .env("AWS_DEFAULT_REGION", crate::template::REGION)
            .current_dir(folder)
            .stdin(Stdio::null());
        let mut done = tokio::task::spawn_blocking(move || shell.output());
        let mut all = Vec::new();
        loop {
            tokio::select! {
                output = &mut done => return (output.expect("no panic").expect("a shell"), all),
                Some((command, say)) = asked.recv() => {
                    let said = self.obey(&command).await;
                    all.push(command);
                    say.send(said).expect("the command waits");
                }
            }
        }
    }

    /// Whether the account is as empty as a new one.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        let kept = &self.account;
        self.stacks.is_empty() && kept.secrets.is_empty() && kept.tables.is_empty() && kept.buckets.is_empty()
    }

    /// From now on `sam build` builds the templates in this folder; with `None` those of the repository again.
    pub fn release(&mut self, folder: Option<&Path>) {
        self.account.release = folder.map(Path::to_owned);
    }

    /// What the programs of this release want of their environment, where a template of an older one is deployed: its own
    /// programs are not here.
    pub(super) fn wanted_besides(&self, stack: &Stack, function: &str) -> BTreeMap<String, String> {
        if self.account.release.is_none() {
            return BTreeMap::new();
        }
        let now = match stack.template.document["Parameters"].get("Tenant") {
            Some(_) => Template::tenant(),
            None => Template::platform(),
        };
        if !now.functions().contains_key(function) {
            return BTreeMap::new();
        }
        stack.now_by(now).environment(function)
    }

    /// The next creation of a stack fails when its tables and secrets are there, and AWS takes it back.
    pub fn fail_next_creation(&mut self) {
        self.account.creation_fails = true;
    }

    async fn obey(&mut self, asked: &Asked) -> Said {
        let words: Vec<&str> = asked.args.iter().map(String::as_str).collect();
        match (asked.name.as_str(), words.as_slice()) {
            // What a script waits for happens meanwhile: a sweep, and processes forget how a tenant stood (10 s).
            ("sleep", _) => {
                tokio::time::sleep(std::time::Duration::from_millis(2_500)).await;
                if self.stacks.contains_key("platform") {
                    self.sweep().await;
                }
                Ok(String::new())
            }
            ("aws", ["sts", "get-caller-identity", ..]) => Ok(format!("{}\n", crate::template::ACCOUNT)),
            ("aws", ["lambda", "get-account-settings", ..]) => Ok("1000\n".to_owned()),
            ("aws", ["cloudformation", "list-imports", ..]) => self.imports(asked),
            ("aws", ["cloudformation", "describe-stacks", ..]) => self.describe(asked),
            ("aws", ["cloudformation", "delete-stack", ..]) => {
                let stack = asked.after("--stack-name");
                self.account.rolled_back.remove(short(stack));
                self.delete_stack(stack)
            }
            (
                "aws",
                [
                    "cloudformation",
                    "wait",
                    "stack-delete-complete" | "stack-update-complete",
                    ..,
                ],
            ) => Ok(String::new()),
            ("aws", ["cloudformation", "update-stack", ..]) => self.update_stack(asked),
            ("aws", ["secretsmanager", action, ..]) => self.secret(action, asked),
            ("aws", ["dynamodb", action, ..]) => self.table(action, asked).await,
            ("aws", ["s3api", action, ..]) => self.bucket(action, asked).await,
            ("sam", ["build", ..]) => {
                let built = format!("{}/template.yaml", asked.after("--build-dir"));
                let template = asked.after("--template");
                let template = match &self.account.release {
                    Some(folder) => folder.join(template).to_string_lossy().into_owned(),
                    None => template.to_owned(),
                };
                self.account.built.insert(built, template);
                Ok(String::new())
            }
            ("sam", ["package", ..]) => {
                let source = self.account.built.get(asked.after("--template"));
                let source = source.expect("it was built").clone();
                let packaged = asked.after("--output-template-file").to_owned();
                self.account.built.insert(packaged, source);
                Ok(String::new())
            }
            ("sam", ["deploy", .., "--no-execute-changeset"]) => Ok(String::new()),
            ("sam", ["deploy", ..]) => self.deploy_stack(asked).await,
            ("sam", ["delete", ..]) => self.delete_stack(asked.after("--stack-name")),
            _ => panic!("what would AWS do? {asked:?}"),
        }
    }

    fn describe(&self, asked: &Asked) -> Said {
        let (stack, query) = (asked.after("--stack-name"), asked.after("--query"));
        let failed = self.account.rolled_back.contains(short(stack));
        let found = self.stacks.get(short(stack));
        if query == "Stacks[0].StackStatus" && (failed || found.is_some()) {
            let status = if failed {
                "ROLLBACK_COMPLETE"
            } else {
                "UPDATE_COMPLETE"
            };
            return Ok(format!("{status}\n"));
        }
        if failed {
            return Ok("None\n".to_owned());
        }
        let Some(found) = found else {
            return Err(format!(
                "An error occurred (ValidationError) when calling the DescribeStacks operation: Stack with id {stack} does not exist\n"
            ));
        };
        let between =
            |before: &str, after: &str| Some(query.strip_prefix(before)?.strip_suffix(after)?.to_owned());
        if let Some(output) = between("Stacks[0].Outputs[?OutputKey=='", "'].OutputValue") {
            return Ok(format!("{}\n", found.output(&output)));
        }
        let given = &self.account.given[short(stack)];
        if let Some(parameter) = between("Stacks[0].Parameters[?ParameterKey=='", "'].ParameterValue") {
            return Ok(format!(
                "{}\n",
                given.get(&parameter).map_or("None", String::as_str)
            ));
        }
        if query == "Stacks[0].Parameters[].ParameterKey" {
            let declared = found.template.document["Parameters"].as_object();
            let names: Vec<&str> = declared.expect("parameters").keys().map(String::as_str).collect();
            return Ok(format!("{}\n", names.join("\t")));
        }
        assert_eq!(query, "Stacks[0]", "what would AWS say? {asked:?}");
        let outputs = found.template.document["Outputs"].as_object().expect("outputs");
        let outputs: Vec<Value> = outputs
            .iter()
            .filter(|(_, told)| told.get("Condition").is_none())
            .map(|(name, _)| json!({ "OutputKey": name, "OutputValue": found.output(name) }))
            .collect();
        let parameters: Vec<Value> = given
            .iter()
            .map(|(name, value)| json!({ "ParameterKey": name, "ParameterValue": value }))
            .collect();
        Ok(json!({ "StackName": stack, "Outputs": outputs, "Parameters": parameters }).to_string())
    }

    /// The stacks that take something from the platform's.
    fn imports(&self, asked: &Asked) -> Said {
        let export = asked.after("--export-name");
        let platform = export
            .strip_suffix("-TablePrefix")
            .expect("an export of the platform");
        let over = self.stacks.keys().filter(|name| *name != "platform");
        let over: Vec<String> = over.map(|name| format!("{platform}-{name}")).collect();
        match over.is_empty() {
            true => Err(format!(
                "An error occurred (ValidationError) when calling the ListImports operation: Export '{export}' is not imported by any stack.\n"
            )),
            false => Ok(format!("{}\n", over.join("\t"))),
        }
    }

    fn secret(&mut self, action: &str, asked: &Asked) -> Said {
        let name = asked.after("--secret-id");
        let Some(arn) = self.account.secrets.get(name).cloned() else {
            return Err(format!(
                "An error occurred (ResourceNotFoundException): there is no secret {name}\n"
            ));
        };
        let mut values = self.gate.secrets.lock().expect("no panic under the lock");
        match action {
            "put-secret-value" => {
                let fed = asked.fed.clone().expect("a value by the standard input");
                values.insert(arn, fed);
                Ok("{}\n".to_owned())
            }
            "get-secret-value" => {
                let value = values.get(&arn).cloned();
                let value = match asked.after("--query") {
                    "VersionId" => value.map(|_| "a-version\n".to_owned()),
                    _ => value,
                };
                value.ok_or_else(|| "An error occurred (ResourceNotFoundException): no value\n".to_owned())
            }
            "delete-secret" => {
                values.remove(&arn);
                self.account.secrets.remove(name);
                Ok("{}\n".to_owned())
            }
            _ => panic!("what would AWS do? {asked:?}"),
        }
    }

    async fn table(&mut self, action: &str, asked: &Asked) -> Said {
        let table = asked.after("--table-name").to_owned();
        if action == "wait" {
            return Ok(String::new());
        }
        let Some(protected) = self.account.tables.get_mut(&table) else {
            return Err(format!(
                "An error occurred (ResourceNotFoundException): there is no table {table}\n"
            ));
        };
        let (operation, body) = match action {
            "put-item" => {
                let item: Value = serde_json::from_str(asked.fed.as_deref().expect("an item")).expect("JSON");
                ("PutItem", json!({ "TableName": table, "Item": item }))
            }
            "delete-item" => {
                let key: Value = serde_json::from_str(asked.after("--key")).expect("JSON");
                ("DeleteItem", json!({ "TableName": table, "Key": key }))
            }
            "get-item" => {
                let key: Value = serde_json::from_str(asked.after("--key")).expect("JSON");
                let body = json!({ "TableName": table, "Key": key, "ConsistentRead": true });
                let read = crate::dynamodb::call(&self.gate.database, "GetItem", &body).await;
                // The command says nothing at all where there is no item.
                return Ok(match read["Item"].is_object() {
                    true => format!("{read}\n"),
                    false => String::new(),
                });
            }
            "query" => {
                let values: Value =
                    serde_json::from_str(asked.after("--expression-attribute-values")).expect("JSON");
                let mut body = json!({ "TableName": table, "ExpressionAttributeValues": values,
                    "KeyConditionExpression": asked.after("--key-condition-expression"),
                    "ProjectionExpression": asked.after("--projection-expression") });
                for (flag, field) in [
                    ("--index-name", "IndexName"),
                    ("--filter-expression", "FilterExpression"),
                ] {
                    if asked.has(flag) {
                        body[field] = asked.after(flag).into();
                    }
                }
                let read = crate::dynamodb::call(&self.gate.database, "Query", &body).await;
                return Ok(format!("{read}\n"));
            }
            "describe-table" => {
                let protected = if *protected { "True" } else { "False" };
                return Ok(format!("ACTIVE\t{protected}\n"));
            }
            "update-item" => {
                let json = |flag: &str| -> Value { serde_json::from_str(asked.after(flag)).expect("JSON") };
                let mut body = json!({ "TableName": table, "Key": json("--key"),
                    "UpdateExpression": asked.after("--update-expression") });
                if asked.has("--condition-expression") {
                    body["ConditionExpression"] = asked.after("--condition-expression").into();
                }
                for (flag, field) in [
                    ("--expression-attribute-names", "ExpressionAttributeNames"),
                    ("--expression-attribute-values", "ExpressionAttributeValues"),
                ] {
                    if asked.has(flag) {
                        body[field] = json(flag);
                    }
                }
                ("UpdateItem", body)
            }
            "update-table" => {
                assert_eq!(
                    asked.args.last().map(String::as_str),
                    Some("--no-deletion-protection-enabled")
                );
                *protected = false;
                return Ok("{}\n".to_owned());
            }
            "delete-table" if *protected => {
                return Err(format!(
                    "An error occurred (ValidationException): {table} is protected\n"
                ));
            }
            "delete-table" => {
                self.account.tables.remove(&table);
                ("DeleteTable", json!({ "TableName": table }))
            }
            _ => panic!("what would AWS do? {asked:?}"),
        };
        crate::dynamodb::call(&self.gate.database, operation, &body).await;
        Ok("{}\n".to_owned())
    }

    async fn bucket(&mut self, action: &str, asked: &Asked) -> Said {
        let bucket = asked.after("--bucket");
        if !self.account.buckets.contains(bucket) {
            return Err(format!(
                "An error occurred (404) when calling {action}: Not Found\n"
            ));
        }
        let blobs = &self.gate.blobs;
        let listed = blobs.list(&BlobScope::All, None).await.expect("a folder");
        match action {
            "head-bucket" => {}
            "list-object-versions" => {
                let version = |one: &ListedBlob| json!({ "Key": one.key.path(), "VersionId": "1" });
                return Ok(format!("{}\n", listed.iter().map(version).collect::<Value>()));
            }
            "delete-objects" => {
                let told: Value = serde_json::from_str(asked.after("--delete")).expect("JSON");
                for one in told["Objects"].as_array().expect("objects") {
                    let key = BlobKey::parse(one["Key"].as_str().expect("a key")).expect("a blob's");
                    blobs.delete(&key).await.expect("a folder");
                }
            }
            "delete-bucket" if !listed.is_empty() => {
                return Err("An error occurred (BucketNotEmpty)\n".to_owned());
            }
            "delete-bucket" => _ = self.account.buckets.remove(bucket),
            _ => panic!("what would AWS do? {asked:?}"),
        }
        Ok("{}\n".to_owned())
    }

    async fn deploy_stack(&mut self, asked: &Asked) -> Said {
        let stack = asked.after("--stack-name");
        let name = short(stack);
        // Whose bill it is: CloudFormation gives these tags to all that a stack makes.
        let tagged = |tag: &str| asked.args.iter().any(|arg| arg.starts_with(tag));
        assert!(
            asked.args.iter().any(|arg| arg == "--tags") && tagged("stage="),
            "{asked:?}"
        );
        assert!(name == "platform" || tagged("tenant="), "{asked:?}");
        let built = self.account.built.get(asked.after("--template"));
        let template = Template::read(built.expect("it was built"));
        // "UsePreviousValue" for what is not said, and known to the new template too.
        let mut given = self.account.given.get(name).cloned().unwrap_or_default();
        given.retain(|name, _| template.document["Parameters"].get(name).is_some());
        if asked.args.iter().any(|arg| arg == "--parameter-overrides") {
            let said = asked.after("--parameter-overrides");
            match asked.files.get(said) {
                Some(file) => {
                    let said: BTreeMap<String, String> = serde_json::from_str(file).expect("parameters");
                    given.extend(said);
                }
                None => {
                    let (name, value) = said.split_once('=').expect("NAME=VALUE");
                    given.insert(name.to_owned(), value.to_owned());
                }
            }
        }
        // Where AWS would make an address up, this cloud says its own.
        given
            .entry("PublicUrl".to_owned())
            .or_insert_with(|| self.url(name));
        let kept = given.clone();
        let given: Vec<(&str, &str)> = given
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let mut new = Stack::new(template, stack, &given);
        if let Some(platform) = self.stacks.get("platform").filter(|_| name != "platform") {
            new = new.over(platform);
        }
        if let Some(refusal) = new.refusals().first() {
            return Err(format!("Template validation error: {refusal}\n"));
        }
        if self.account.rolled_back.contains(name) {
            return Err(format!(
                "Stack:{stack} is in ROLLBACK_COMPLETE state and can not be updated.\n"
            ));
        }
        let tables = named(&new, TABLE, "TableName");
        let protects = |id: &str| {
            let table = new.template.resources()[id];
            new.value(&table["Properties"]["DeletionProtectionEnabled"]) == true
        };
        let tables: BTreeMap<String, bool> = tables
            .into_iter()
            .map(|(called, id)| (called, protects(&id)))
            .collect();
        if !self.stacks.contains_key(name) {
            let secrets = named(&new, SECRET, "Name");
            let there = secrets
                .keys()
                .find(|name| self.account.secrets.contains_key(*name));
            let there = there.or_else(|| tables.keys().find(|name| self.account.tables.contains_key(*name)));
            if let Some(there) = there {
                return Err(format!(
                    "Resource of type with identifier {there} already exists\n"
                ));
            }
            if std::mem::take(&mut self.account.creation_fails) {
                // "RetainExceptOnCreate ... deletes the resource if the stack operation that created it is rolled back";
                // what is protected cannot be deleted, and is left.
                let left = tables.into_iter().filter(|(_, protected)| *protected);
                self.account.tables.extend(left);
                self.account.rolled_back.insert(name.to_owned());
                return Err(format!("Failed to create/update the stack: {stack}\n"));
            }
            if !tables.is_empty() {
                self.store.create_tables().await.expect("tables");
            }
        }
        self.imported(name, Some(&new))?;
        for (called, id) in named(&new, SECRET, "Name") {
            self.account
                .secrets
                .insert(called, new.text(&json!({ "Ref": id })));
        }
        self.account.given.insert(name.to_owned(), kept);
        self.account.tables.extend(tables);
        self.account
            .buckets
            .extend(named(&new, BUCKET, "BucketName").into_keys());
        self.deploy(name, new, &program);
        Ok(String::new())
    }

    /// The template that is there, with other values of some parameters.
    fn update_stack(&mut self, asked: &Asked) -> Said {
        let stack = asked.after("--stack-name");
        let name = short(stack);
        assert!(asked.args.iter().any(|arg| arg == "--use-previous-template"));
        let told = &asked.files[asked.after("--parameters")];
        let told: Vec<BTreeMap<String, Value>> = serde_json::from_str(told).expect("parameters");
        let mut given = self.account.given[name].clone();
        let mut named = BTreeSet::new();
        for parameter in told {
            let key = parameter["ParameterKey"].as_str().expect("a name").to_owned();
            if let Some(value) = parameter.get("ParameterValue") {
                given.insert(key.clone(), value.as_str().expect("text").to_owned());
            }
            named.insert(key);
        }
        let declared = self.stacks[name].template.document["Parameters"].as_object();
        let declared: BTreeSet<String> = declared.expect("parameters").keys().cloned().collect();
        assert_eq!(named, declared, "what is not named goes back to its default");
        if given == self.account.given[name] {
            return Err("An error occurred (ValidationError): No updates are to be performed.\n".to_owned());
        }
        let pairs: Vec<(&str, &str)> = given
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let mut new = Stack::new(self.stacks[name].template.clone(), stack, &pairs);
        if name != "platform" {
            new = new.over(&self.stacks["platform"]);
        }
        self.imported(name, Some(&new))?;
        self.account.given.insert(name.to_owned(), given);
        self.deploy(name, new, &program);
        Ok("{}\n".to_owned())
    }

    /// Refuses to take away or to change what another stack imports.
    ///
    /// "After another stack imports an output value, you can't delete the stack that is exporting the output value or modify
    /// the exported output value." (Fn::ImportValue)
    fn imported(&self, name: &str, new: Option<&Stack>) -> Result<(), String> {
        let (Some(before), true) = (self.stacks.get(name), self.stacks.len() > 1) else {
            return Ok(());
        };
        let after = new.map(Stack::exports).unwrap_or_default();
        // A tenant's stack exports nothing, and imports all that the platform's does.
        let changed = before
            .exports()
            .into_iter()
            .find(|(export, value)| after.get(export) != Some(value));
        match changed {
            None => Ok(()),
            Some((export, _)) => Err(format!(
                "Export {export} cannot be updated or deleted as it is in use by another stack\n"
            )),
        }
    }

    fn delete_stack(&mut self, stack: &str) -> Said {
        let name = short(stack);
        self.imported(name, None)?;
        let Some(gone) = self.stacks.remove(name) else {
            return Ok(String::new());
        };
        self.withdraw(name);
        self.account.given.remove(name);
        let retained = |id: &str| {
            gone.template.resources()[id]["DeletionPolicy"].as_str() == Some("RetainExceptOnCreate")
        };
        for (called, id) in named(&gone, SECRET, "Name") {
            if !retained(&id) {
                self.account.secrets.remove(&called);
            }
        }
        let tables: BTreeSet<String> = named(&gone, TABLE, "TableName").into_values().collect();
        assert!(
            tables.iter().all(|id| retained(id)),
            "a stack that takes its tables with it"
        );
        Ok(String::new())
    }
}

const SECRET: &str = "AWS::SecretsManager::Secret";
const TABLE: &str = "AWS::DynamoDB::Table";
const BUCKET: &str = "AWS::S3::Bucket";

/// The resources of a type by the names that the account knows them by, with their logical ids.
fn named(stack: &Stack, kind: &str, property: &str) -> BTreeMap<String, String> {
    let all = stack.template.of_type(kind);
    // What hangs on a condition is there only where somebody asks for it, and no test does.
    all.into_iter()
        .filter(|(id, _)| {
            stack.template.document["Resources"][*id]
                .get("Condition")
                .is_none()
        })
        .map(|(id, properties)| (stack.text(&properties[property]), id.to_owned()))
        .collect()
}

/// What the cloud calls a stack: a tenant's by the tenant, `platform` else.
fn short(stack: &str) -> &str {
    stack.split_once('-').map_or("platform", |(_, tenant)| tenant)
}
