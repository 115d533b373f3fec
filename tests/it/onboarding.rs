//! `switchyard tenant add|remove NAME --aws`: the printed calls of `infra/deploy.sh`, run with an `aws`, a `sam` and a
//! `curl` that only write down what they are asked. That what a plan holds makes a tenant that works is shown by `bootstraps::deployed`.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use serde_json::{Value, json};
use system_testing::binary;
use system_testing::template::{Stack, Template};

/// Stands for each command: writes its name, its arguments and what it gets on the standard input as one line of JSON.
const STAND_IN: &str = r#"#!/usr/bin/env python3
import json, os, sys
name, args = os.path.basename(sys.argv[0]), sys.argv[1:]
fed = sys.stdin.read() if "file:///dev/stdin" in args else None
with open(os.environ["ASKED"], "a") as asked:
    asked.write(json.dumps({"name": name, "args": args, "fed": fed}) + "\n")
if name == "cargo":
    os.execv(os.environ["SWITCHYARD"], ["switchyard", *args[args.index("--") + 1:]])
if "describe-stacks" in args:
    if "GONE" in os.environ and "-initech" in " ".join(args):
        sys.exit("An error occurred (ValidationError): Stack with id platform-initech does not exist")
    stack, query = args[args.index("--stack-name") + 1], args[args.index("--query") + 1]
    status = "StackStatus" in query
    if "ParameterKey=='Tenant'" in query:
        print(stack.split("-", 1)[1] if "-" in stack else "None")
        sys.exit(0)
    print("UPDATE_COMPLETE" if status else f"https://{stack}.example/{query.split(chr(39))[1]}")
if "get-caller-identity" in args:
    print("123456789012")
if "get-secret-value" in args:
    print(open(os.environ["KEY"]).read(), end="")
if "get-item" in args and "PREFIX" in os.environ:
    print(json.dumps({"Item": {"status": {"S": os.environ.get("STATUS", "active")}, "prefix": {"S": os.environ["PREFIX"]}}}))
if name == "curl" and "-X" not in args:
    print(json.dumps({"agents": [{"id": "own", "tenant": os.environ.get("PREFIX")}, {"id": "everybodys", "tenant": None}]}))
"#;

struct Shell {
    place: tempfile::TempDir,
}

/// One command that was run.
#[derive(Debug)]
struct Asked {
    name: String,
    args: Vec<String>,
    fed: Option<String>,
}

impl Asked {
    fn after(&self, flag: &str) -> &str {
        let at = self.args.iter().position(|arg| arg == flag);
        let value = at.and_then(|at| self.args.get(at + 1));
        value.unwrap_or_else(|| panic!("no {flag} in {self:?}"))
    }

    fn is(&self, name: &str, words: &[&str]) -> bool {
        self.name == name && words.iter().all(|word| self.args.iter().any(|arg| arg == word))
    }
}

impl Shell {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("bin");
        std::fs::create_dir(&folder).unwrap();
        for name in ["aws", "sam", "curl", "pip", "cargo", "cargo-lambda"] {
            let file = folder.join(name);
            std::fs::write(&file, STAND_IN).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { place }
    }

    fn keys(&self) -> PathBuf {
        // A folder whose name a careless shell would take apart.
        self.place.path().join("the operator's keys")
    }

    fn run(&self, script: &str) -> Vec<Asked> {
        self.run_with(script, &[])
    }

    fn run_with(&self, script: &str, settings: &[(&str, &str)]) -> Vec<Asked> {
        self.run_in(system_testing::folder().parent().unwrap(), script, settings)
    }

    fn run_in(&self, folder: &Path, script: &str, settings: &[(&str, &str)]) -> Vec<Asked> {
        let (done, asked) = self.done(folder, script, settings);
        assert!(done.status.success(), "{done:?}\n{script}");
        let lines = std::fs::read_to_string(&asked).unwrap();
        let read = |line: &str| {
            let told: Value = serde_json::from_str(line).unwrap();
            let texts = told["args"].as_array().unwrap().iter();
            Asked {
                name: told["name"].as_str().unwrap().to_owned(),
                args: texts.map(|arg| arg.as_str().unwrap().to_owned()).collect(),
                fed: told["fed"].as_str().map(str::to_owned),
            }
        };
        lines.lines().map(read).collect()
    }

    /// What a script says that fails.
    fn refused_with(&self, script: &str, settings: &[(&str, &str)]) -> String {
        let (done, _) = self.done(system_testing::folder().parent().unwrap(), script, settings);
        assert!(!done.status.success(), "{done:?}\n{script}");
        String::from_utf8_lossy(&done.stderr).into_owned()
    }

    fn done(
        &self,
        folder: &Path,
        script: &str,
        settings: &[(&str, &str)],
    ) -> (std::process::Output, PathBuf) {
        let asked = self.place.path().join("asked");
        let _none_before = std::fs::remove_file(&asked);
        let own = folder.join("acme-aws/session-key");
        let key = if own.exists() {
            own
        } else {
            self.keys().join("session-key")
        };
        let done = Command::new("sh")
            .args(["-c", &format!("PATH=\"$STAND_INS:$PATH\"\n{script}")])
            .env("STAND_INS", self.place.path().join("bin"))
            .env("ASKED", &asked)
            .env("KEY", key)
            .env("SWITCHYARD", binary::path("switchyard"))
            .env("AWS_REGION", "eu-north-1")
            .env("AWS_DEFAULT_REGION", "eu-north-1")
            .envs(settings.iter().copied())
            .current_dir(folder)
            .output()
            .unwrap();
        (done, asked)
    }
}

fn printed(arguments: &[&str]) -> String {
    let output = binary::run(arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The claims of the token that a request carries.
fn claims(asked: &Asked) -> Value {
    let header = asked
        .args
        .iter()
        .find_map(|arg| arg.strip_prefix("authorization: Bearer "));
    let payload = header.unwrap().split('.').nth(1).unwrap();
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(payload)
        .unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

const BASE: &str = "https://platform-initech.example/BaseUrl";

#[test]
fn the_commands_that_take_a_tenant_in_give_the_template_what_it_asks_for() {
    let shell = Shell::new();
    let keys = shell.keys();
    let given = ["--stage", "test", "--platform-stack", "platform", "--user", "ada"];
    let mut arguments = vec![
        "tenant",
        "add",
        "initech",
        "--aws",
        "--silo",
        "--out",
        keys.to_str().unwrap(),
    ];
    arguments.extend(given);
    let certificate = "arn:aws:acm:eu-north-1:123456789012:certificate/0f1e";
    // An address that a stack would not answer at, and half a domain.
    for address in [
        ["--public-url", "https://example.com/initech"],
        ["--public-url", "http://example.com"],
        ["--domain", "initech.example.com"],
        ["--certificate", certificate],
    ] {
        let refused = binary::run(&[&arguments[..], &address[..]].concat());
        assert!(!refused.status.success() && !keys.exists(), "{refused:?}");
    }
    arguments.extend(["--domain", "initech.example.com", "--certificate", certificate]);
    let script = printed(&arguments);
    assert_eq!(mode(&keys), 0o700);
    let mut secret_texts = Vec::new();
    for file in std::fs::read_dir(&keys).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{path:?}");
        secret_texts.push(std::fs::read_to_string(path).unwrap());
    }
    let asked = shell.run(&script);

    // Every parameter is the template's, every required one is given, and each looks as it must.
    let deploy = asked.iter().find(|asked| asked.is("sam", &["deploy"])).unwrap();
    let file = deploy
        .after("--parameter-overrides")
        .strip_prefix("file://")
        .unwrap()
        .to_owned();
    let parameters: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let parameters = parameters.as_object().unwrap();
    let given: Vec<(&str, &str)> = parameters
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
        .collect();
    let template = Template::tenant();
    // Panics where one is missing or unknown.
    let stack = Stack::new(template.clone(), "platform-initech", &given);
    assert_eq!(deploy.after("--stack-name"), "platform-initech");
    for (name, value) in &given {
        let told = &template.document["Parameters"][name];
        if let Some(pattern) = told["AllowedPattern"].as_str() {
            let fits = Command::new("python3")
                .args([
                    "-c",
                    "import re, sys; sys.exit(not re.fullmatch(sys.argv[1], sys.argv[2]))",
                    pattern,
                    value,
                ])
                .status();
            assert!(fits.unwrap().success(), "{name} is {value}, not {pattern}");
        }
        let least = told["MinLength"].as_u64().unwrap_or(0);
        let most = told["MaxLength"].as_u64().unwrap_or(u64::MAX);
        assert!((least..=most).contains(&(value.len() as u64)), "{name}");
    }
    assert_eq!(
        (parameters["Stage"].as_str(), parameters["Tenant"].as_str()),
        (Some("test"), Some("initech"))
    );
    assert_ne!(parameters["HostPath"], parameters["HorizonPath"]);
    assert_eq!(parameters["PlatformUrl"], "/switchyard/test/url");
    assert_eq!(parameters["CertificateArn"], certificate);
    assert!(deploy.is("sam", &["--tags", "stage=test", "tenant=initech"]));

    // Every secret of the template gets its value, after it is there.
    let secrets: BTreeSet<String> = template
        .of_type("AWS::SecretsManager::Secret")
        .values()
        .map(|properties| stack.text(&properties["Name"]))
        .collect();
    let put = |asked: &&Asked| asked.is("aws", &["secretsmanager", "put-secret-value"]);
    let filled: BTreeSet<String> = asked
        .iter()
        .filter(put)
        .map(|asked| asked.after("--secret-id").to_owned())
        .collect();
    assert_eq!(filled, secrets);
    let at = |found: &dyn Fn(&Asked) -> bool| asked.iter().position(found).unwrap();
    assert!(at(&|asked| asked.is("sam", &["deploy"])) < at(&|asked| asked.is("aws", &["put-secret-value"])));
    let providers = asked
        .iter()
        .filter(put)
        .find(|asked| asked.after("--secret-id").ends_with("oauth-providers"));
    let providers: Value = serde_json::from_str(providers.unwrap().fed.as_ref().unwrap()).unwrap();
    let prefix = parameters["TenantPrefix"].as_str().unwrap();
    assert!(prefix.starts_with("initech.") && prefix.len() == "initech.7f3a9c2e".len());
    assert_eq!(
        providers["idp"]["issuer"],
        format!("https://platform.example/IdpUrl/{prefix}")
    );

    // The authorization server knows the tenant, its issuer and its user; nothing is a placeholder any more.
    let items: Vec<Value> = asked
        .iter()
        .filter(|asked| asked.is("aws", &["dynamodb", "put-item"]))
        .inspect(|asked| assert_eq!(asked.after("--table-name"), "switchyard-test-identity"))
        .map(|asked| serde_json::from_str(asked.fed.as_ref().unwrap()).unwrap())
        .collect();
    let kinds: Vec<&str> = items
        .iter()
        .map(|item| item["sk"]["S"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["SESSIONS", "ada", "USER", "CLIENT"]);
    assert!(
        items[0]["body"]["S"]
            .as_str()
            .unwrap()
            .contains(&json!(BASE).to_string())
    );
    assert!(
        items[3]["body"]["S"]
            .as_str()
            .unwrap()
            .contains(&format!("{BASE}/callback"))
    );
    for asked in &asked {
        let text = format!("{:?}{:?}", asked.args, asked.fed);
        assert!(!text.contains(".invalid"), "{text}");
        for secret in &secret_texts {
            // On a command line others could read it.
            let shown = asked.args.iter().any(|arg| arg.contains(secret.trim_end()));
            assert!(!shown, "a file's content is an argument of {}", asked.name);
        }
    }
    let registered = asked.iter().find(|asked| asked.name == "curl").unwrap();
    assert!(
        registered
            .args
            .iter()
            .any(|arg| arg == "https://platform.example/RegistryUrl/agents")
    );
    let body: Value = serde_json::from_str(registered.after("-d")).unwrap();
    assert_eq!(
        body["cardUrl"],
        "https://platform-initech.example/HorizonAgentUrl/.well-known/agent-card.json"
    );
    let claims = claims(registered);
    assert_eq!(claims["iss"], BASE);
    assert_eq!(claims["aud"], "https://platform.example/RegistryUrl");
    assert_eq!(
        (&claims["tenant_id"], &claims["scope"]),
        (&json!("initech"), &json!("registry:write"))
    );

    let known = asked
        .iter()
        .find(|asked| asked.is("aws", &["update-item"]))
        .unwrap();
    let values: Value = serde_json::from_str(known.after("--expression-attribute-values")).unwrap();
    assert_eq!(values[":prefix"]["S"], prefix);
    assert!(items.iter().all(|item| {
        let key = item["pk"]["S"].as_str().unwrap();
        key.starts_with(&format!("{prefix}#"))
    }));

    // What is set stays where the tables know the tenant, and goes where they know one that was removed.
    for (status, kept) in [("active", true), ("removed", false)] {
        let other = if kept { prefix } else { "initech.00000000" };
        let again = shell.run_with(&script, &[("PREFIX", other), ("STATUS", status)]);
        let known = again
            .iter()
            .find(|asked| asked.is("aws", &["update-item"]))
            .unwrap();
        let sets = known.after("--update-expression");
        assert_eq!(sets.contains("if_not_exists(#settings"), kept, "{sets}");
    }

    // A run that broke off is simply repeated, and asks for the same.
    let calls = |asked: &[Asked]| -> Vec<String> {
        let of_aws = asked.iter().filter(|asked| asked.name != "curl");
        of_aws
            .map(|asked| format!("{:?}{:?}", asked.args, asked.fed))
            .collect()
    };
    assert_eq!(calls(&shell.run(&script)), calls(&asked));

    // Other keys are not made for a tenant that may be there.
    assert_eq!(binary::run(&arguments).status.code(), Some(1));
}

#[test]
fn the_commands_that_take_a_tenant_out_undo_what_was_done() {
    let shell = Shell::new();
    let keys = shell.keys();
    let given = [
        "initech",
        "--aws",
        "--stage",
        "test",
        "--platform-stack",
        "platform",
        "--user",
        "ada",
    ];
    let mut add = vec!["tenant", "add", "--silo"];
    add.extend(given);
    add.extend(["--out", keys.to_str().unwrap()]);
    let made = shell.run(&printed(&add));
    let mut remove = vec!["tenant", "remove"];
    remove.extend(given);
    let known = made
        .iter()
        .find(|asked| asked.is("aws", &["update-item"]))
        .unwrap();
    let values: Value = serde_json::from_str(known.after("--expression-attribute-values")).unwrap();
    let prefix = ("PREFIX", values[":prefix"]["S"].as_str().unwrap());
    let asked = shell.run_with(&printed(&remove), &[prefix]);

    // Once more, after the stack went: nothing is left to say to the registry.
    let again = shell.run_with(&printed(&remove), &[prefix, ("GONE", "")]);
    assert!(again.iter().all(|asked| asked.name != "curl"), "{again:?}");
    assert!(again.last().unwrap().is("sam", &["delete", "platform-initech"]));

    let keys_of = |item: Value| (item["pk"]["S"].clone(), item["sk"]["S"].clone());
    let mut put: Vec<_> = made
        .iter()
        .filter(|asked| asked.is("aws", &["put-item"]))
        .map(|asked| keys_of(serde_json::from_str(asked.fed.as_ref().unwrap()).unwrap()))
        .collect();
    let mut gone: Vec<_> = asked
        .iter()
        .filter(|asked| asked.is("aws", &["delete-item"]))
        .map(|asked| keys_of(serde_json::from_str(asked.after("--key")).unwrap()))
        .collect();
    // Its logo goes with it, whether or not it was given one since.
    let logo = |(_, sk): &(Value, Value)| sk.as_str().is_some_and(|sk| sk.starts_with("LOGO#"));
    assert_eq!(gone.iter().filter(|keys| logo(keys)).count(), 1, "{gone:?}");
    gone.retain(|keys| !logo(keys));
    // The tables know it by its name, and that it is removed.
    for (asked, keys) in [(&made, &mut put), (&asked, &mut gone)] {
        let known = asked.iter().filter(|asked| asked.is("aws", &["update-item"]));
        keys.extend(known.map(|asked| keys_of(serde_json::from_str(asked.after("--key")).unwrap())));
    }
    let last = asked
        .iter()
        .rfind(|asked| asked.is("aws", &["update-item"]))
        .unwrap();
    assert!(last.after("--update-expression").contains("#status = :removed"));
    put.sort_by_key(|key| format!("{key:?}"));
    gone.sort_by_key(|key| format!("{key:?}"));
    assert_eq!(gone, put);
    let ids = |asked: &[Asked], word: &str| -> BTreeSet<String> {
        let found = asked.iter().filter(|asked| asked.is("aws", &[word]));
        found.map(|asked| asked.after("--secret-id").to_owned()).collect()
    };
    assert_eq!(ids(&asked, "delete-secret"), ids(&made, "put-secret-value"));
    let removed: Vec<&Asked> = asked
        .iter()
        .filter(|asked| asked.is("curl", &["DELETE"]))
        .collect();
    assert_eq!(removed.len(), 1, "its own agent alone: {asked:?}");
    assert!(
        removed[0]
            .args
            .iter()
            .any(|arg| arg.ends_with("/RegistryUrl/agents/own"))
    );
    let last = asked.last().unwrap();
    assert!(
        last.is("sam", &["delete", "platform-initech", "--no-prompts"]),
        "{last:?}"
    );
}

#[test]
fn a_name_that_is_taken_is_not_given_to_other_keys_and_a_tenant_is_suspended_by_its_name() {
    let shell = Shell::new();
    let keys = shell.keys();
    let mut add = vec![
        "tenant",
        "add",
        "initech",
        "--aws",
        "--silo",
        "--out",
        keys.to_str().unwrap(),
    ];
    // In production an address is its own, and said before anything is made.
    let refused = binary::run(&add);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        !refused.status.success()
            && said.contains("the stage prod wants a domain of its own")
            && !keys.exists(),
        "{said}"
    );
    add.extend(["--public-url", "https://initech.example"]);
    let script = printed(&add);
    let refused = shell.refused_with(&script, &[("PREFIX", "initech.00000000")]);
    assert!(refused.contains("there is a tenant initech already"), "{refused}");
    for (word, status) in [("suspend", "suspended"), ("resume", "active")] {
        let asked = shell.run(&printed(&["tenant", word, "initech", "--aws", "--stage", "test"]));
        let due = asked
            .iter()
            .filter(|asked| asked.is("aws", &["query", "by_due", "switchyard-test-tasks"]));
        assert_eq!(
            (word, due.count()),
            (word, if status == "active" { 8 } else { 0 })
        );
        assert_eq!(asked[0].after("--table-name"), "switchyard-test-tenants");
        let values: Value = serde_json::from_str(asked[0].after("--expression-attribute-values")).unwrap();
        assert_eq!(values[":status"]["S"], status);
        assert!(
            asked[0]
                .after("--condition-expression")
                .contains("#status <> :removed")
        );
    }
}

/// The script is run by hand too.
#[test]
fn the_script_takes_no_names_that_it_could_misread() {
    let shell = Shell::new();
    for arguments in [
        [].as_slice(),
        &["tenant"],
        &["platform", "/nowhere/at/all"],
        &["tenant", "/nowhere/at/all"],
        &["leave", "initech"],
        &["remove", "../initech"],
        &["remove", "initech", "--stage", "$(id)"],
        &["remove", "initech", "--user", "a'b"],
        &["remove", "initech", "--user"],
    ] {
        let script = system_testing::folder().join("../infra/deploy.sh");
        let done = Command::new("sh")
            .args(["-c", "PATH=\"$STAND_INS:$PATH\" exec \"$0\" \"$@\""])
            .arg(script)
            .args(arguments)
            .env("STAND_INS", shell.place.path().join("bin"))
            .env("ASKED", shell.place.path().join("asked"))
            .output()
            .unwrap();
        assert!(
            matches!(done.status.code(), Some(1 | 2)),
            "{arguments:?}: {done:?}"
        );
        assert!(
            !shell.place.path().join("asked").exists(),
            "{arguments:?} did something"
        );
    }
}

#[test]
fn what_a_shell_could_misread_is_refused() {
    for arguments in [
        ["tenant", "add", "initech; rm -rf /", "--aws"].as_slice(),
        &["tenant", "add", "../initech", "--aws"],
        &["tenant", "add", "initech", "--aws", "--stage", "$(id)"],
        &["tenant", "add", "initech", "--aws", "--platform-stack", "a'b"],
        &["tenant", "add", "initech", "--aws", "--user", "a'b"],
        &["tenant", "add", "initech", "--stage", "prod"],
        &["tenant", "add", "pool", "--aws", "--pooled"],
        // Where it is to be, nobody says for the operator.
        &["tenant", "add", "initech", "--aws", "--stage", "test"],
        &["tenant", "add", "initech", "--aws", "--pooled", "--silo"],
        &[
            "tenant",
            "add",
            "initech",
            "--aws",
            "--pooled",
            "--domain",
            "a.example",
            "--certificate",
            "arn:aws:acm:x",
        ],
    ] {
        let place = tempfile::tempdir().unwrap();
        let mut all = arguments.to_vec();
        let folder = place.path().join("x");
        if arguments.contains(&"--aws") {
            all.extend(["--out", folder.to_str().unwrap()]);
        }
        let output = binary::run(&all);
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
        assert!(output.stdout.is_empty() && !folder.exists(), "{arguments:?}");
    }
}
