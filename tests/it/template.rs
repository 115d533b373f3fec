//! The templates against the code: settings, tables, policies, queues, routes. What is checked here is what no linter can
//! know.

use std::collections::{BTreeMap, BTreeSet};

use edge::config::Env;
use serde_json::{Value, json};
use store::schema::{self, EXPIRES_AT, PARTITION, SORT};
use system_testing::cloud::routes;
use system_testing::policy::{Policy, Request};
use system_testing::template::{ACCOUNT, REGION, Stack, Template};

const SLUG: &str = "0123456789abcdef0123456789abcdef";
const OTHER_SLUG: &str = "fedcba9876543210fedcba9876543210";
const THIRD_SLUG: &str = "00112233445566778899aabbccddeeff";
const FOURTH_SLUG: &str = "ffeeddccbbaa99887766554433221100";

fn platform() -> Stack {
    let given = [
        ("WeatherPath", SLUG),
        ("ReportPath", OTHER_SLUG),
        ("AirbnbPath", THIRD_SLUG),
        ("CalendarPath", FOURTH_SLUG),
        (
            "OperatorIssuer",
            r#"{"issuer":"https://operator.example","tenant":null,"keys":[]}"#,
        ),
    ];
    Stack::new(Template::platform(), "switchyard", &given)
}

fn tenant(name: &str) -> Stack {
    let given = [
        ("Tenant", name),
        ("TenantPrefix", name),
        ("HostPath", SLUG),
        ("HorizonPath", OTHER_SLUG),
        (
            "SessionPublicKey",
            r#"{"kty":"EC","crv":"P-256","x":"YQ","y":"YQ"}"#,
        ),
    ];
    Stack::new(Template::tenant(), &format!("switchyard-{name}"), &given).over(&platform())
}

/// Both stacks with their functions.
fn functions() -> Vec<(Stack, String)> {
    [platform(), tenant("acme")]
        .into_iter()
        .flat_map(|stack| {
            let ids: Vec<String> = stack
                .template
                .functions()
                .keys()
                .map(|id| (*id).to_owned())
                .collect();
            ids.into_iter().map(move |id| (stack.clone(), id))
        })
        .collect()
}

fn text_of(path: &str) -> String {
    let path = system_testing::folder().join("..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Whether a role may do something anywhere.
fn may(stack: &Stack, function: &str, action: &str) -> bool {
    let roles = stack.template.of_type("AWS::IAM::Role");
    let role = stack.template.functions()[function]["Role"]["Fn::GetAtt"][0]
        .as_str()
        .unwrap();
    let text = roles[role]["Policies"].to_string();
    text.contains(&format!("\"{action}\""))
}

/// Only the host may ask models, only those that the stack lists, and without a list none.
#[test]
fn only_listed_models_may_be_asked_and_only_by_the_host() {
    let stack = tenant("acme");
    let policies = stack.template.of_type("AWS::IAM::RolePolicy");
    let rows = [
        (
            "HostBedrockModels",
            json!("bedrock:InvokeModelWithResponseStream"),
            "BedrockModels",
        ),
        (
            "HostBedrockProfiles",
            json!([
                "bedrock:GetInferenceProfile",
                "bedrock:InvokeModelWithResponseStream"
            ]),
            "BedrockProfiles",
        ),
        (
            "HostModelKeys",
            json!("secretsmanager:GetSecretValue"),
            "ModelKeys",
        ),
    ];
    assert_eq!(policies.len(), rows.len());
    for (id, actions, list) in rows {
        let policy = policies[id];
        assert_eq!(policy["RoleName"], json!({"Ref": "HostAgentRole"}), "{id}");
        let statements = policy["PolicyDocument"]["Statement"].as_array().unwrap();
        assert_eq!(statements.len(), 1, "{id}");
        assert_eq!(statements[0]["Action"], actions, "{id}");
        assert_eq!(statements[0]["Resource"], json!({"Ref": list}), "{id}");
        assert_eq!(
            stack.template.resources()[id]["Condition"],
            format!("Has{list}"),
            "{id}"
        );
        let parameter = &stack.template.document["Parameters"][list];
        assert_eq!(parameter["Default"], "", "{id}");
        let pattern = parameter["AllowedPattern"].as_str().unwrap();
        let pattern = regex_lite::Regex::new(&format!("^{pattern}$")).unwrap();
        assert!(
            !pattern.is_match("*") && !pattern.is_match("arn:aws:bedrock:eu-north-1::foundation-model/*"),
            "{id}"
        );
    }
    // Nobody spends money without a limit.
    let rule = &stack.template.document["Rules"]["Limited"]["Assertions"][0]["Assert"]["Fn::Or"];
    let no_limit = json!({"Fn::Not": [{"Fn::Equals": [{"Ref": "TokensPerDay"}, ""]}]});
    assert!(rule.as_array().unwrap().contains(&no_limit), "{rule}");
    assert_eq!(
        stack.template.document["Parameters"]["TokensPerDay"]["Default"],
        ""
    );
    for (stack, function) in functions() {
        assert!(
            !may(&stack, &function, "bedrock:InvokeModelWithResponseStream"),
            "{function}"
        );
    }
}

/// They see the paths of the tenant's base as they are.
const AT_THE_TENANTS_BASE: [&str; 3] = [
    "ChatApiFunction",
    "OauthCallbackFunction",
    "WebhookReceiverFunction",
];

/// What every function reads, but this one has no use for.
fn of_no_use(stack: &Stack, id: &str) -> BTreeSet<&'static str> {
    let mut unused = BTreeSet::new();
    // Its role says so.
    if !may(stack, id, "sqs:SendMessage") {
        unused.extend(["AWS_ENDPOINT_URL_SQS", "WAKE_QUEUES"]);
    }
    if !may(stack, id, "secretsmanager:GetSecretValue") {
        unused.insert("AWS_ENDPOINT_URL_SECRETS_MANAGER");
    }
    let is_routed = routes(stack).into_iter().any(|route| route.function == id);
    if !is_routed {
        unused.insert("ANSWERS");
    }
    if !is_routed || AT_THE_TENANTS_BASE.contains(&id) {
        unused.insert("BASE_PATH");
    }
    unused
}

/// The settings that a function reads where it has these.
fn read_by(package: &str, variables: BTreeMap<String, String>) -> BTreeSet<String> {
    let functions = local::functions(&host_agent::Patience::default(), None);
    let function = functions.iter().find(|function| function.name == package);
    let mut env = Env::of(variables);
    let read = function
        .unwrap_or_else(|| panic!("the local system does not know {package}"))
        .read(&mut env);
    let asked = env.asked().clone();
    let told = read.err().map(|error| error.to_string());
    assert_eq!(told, None, "{package}");
    env.finish().unwrap();
    asked
}

#[test]
fn each_function_gets_exactly_the_settings_that_it_reads_and_they_are_good() {
    for (stack, id) in functions() {
        let package = stack.template.package(&id).to_owned();
        let mut read = read_by(&package, stack.environment(&id).into_iter().collect());
        // Lambda sets it.
        read.remove("AWS_REGION");
        let unused = of_no_use(&stack, &id);
        read.retain(|name| !unused.contains(name.as_str()));
        let given: BTreeSet<String> = stack.environment(&id).into_keys().collect();
        assert_eq!(
            given, read,
            "{id}: the template's variables and those that {package} reads"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_local_system_starts_each_function_from_the_settings_of_its_template() {
    let system = local::System::start(local::Options::default()).await.unwrap();
    let asked = axum::http::Request::get("/admin/environments/acme")
        .header(
            "authorization",
            format!("Bearer {}", system.endpoints().admin_token),
        )
        .body(axum::body::Body::empty())
        .unwrap();
    let told = tower::ServiceExt::oneshot(system.router(), asked).await.unwrap();
    let told = axum::body::to_bytes(told.into_body(), 1 << 20).await.unwrap();
    let told: BTreeMap<String, BTreeMap<String, String>> = serde_json::from_slice(&told).unwrap();
    system.stop().await;
    for (stack, id) in functions() {
        let unused = of_no_use(&stack, &id);
        let local: BTreeSet<&str> = told[&id]
            .keys()
            .map(String::as_str)
            .filter(|name| !unused.contains(name))
            .collect();
        let deployed = stack.environment(&id);
        assert_eq!(
            local,
            deployed.keys().map(String::as_str).collect(),
            "{id}: here and in the template"
        );
    }
    assert_eq!(told.len(), functions().len());
}

/// Who reads a variable, as the table of `edge::config` says it.
fn readers() -> BTreeMap<String, String> {
    let text = text_of("shared/edge/src/config.rs");
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | `"));
    rows.map(|row| {
        let mut cells = row.split('|').map(str::trim);
        let name = cells.next().unwrap_or_default().trim_end_matches('`');
        (name.to_owned(), cells.next().unwrap_or_default().to_owned())
    })
    .collect()
}

#[test]
fn the_table_of_settings_says_who_gets_each() {
    let readers = readers();
    for (stack, id) in functions() {
        let package = stack.template.package(&id);
        let given = stack.environment(&id);
        for (name, who) in &readers {
            let told = who.split(", ").any(|reader| reader == package);
            assert!(!told || given.contains_key(name), "{id} does not get {name}");
            assert!(
                told || who == "all" || !given.contains_key(name),
                "{name}: the table does not know of {package}"
            );
        }
        assert!(
            given.keys().all(|name| readers.contains_key(name)),
            "{id}: {given:?}"
        );
    }
}

#[test]
fn every_function_of_the_repository_is_in_a_template_under_its_own_name() {
    let folder = system_testing::folder().join("../functions");
    let there: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| entry.file_name().into_string().unwrap())
        // It holds connections to a broker: a process, which no gateway calls.
        .filter(|name| name != "mqtt_bridge")
        .collect();
    let deployed: BTreeSet<String> = functions()
        .iter()
        .map(|(stack, id)| {
            let package = stack.template.package(id);
            let camel: String = package
                .split('_')
                .map(|word| word[..1].to_uppercase() + &word[1..])
                .collect();
            // The one that is deployed once more, for what the calendar agent asks its users.
            if id != "CalendarCallbackFunction" {
                assert_eq!(*id, format!("{camel}Function"));
            }
            let code = stack.template.functions()[id.as_str()]["CodeUri"]
                .as_str()
                .unwrap();
            assert!(code.ends_with(&format!("functions/{package}/")), "{id}: {code}");
            package.to_owned()
        })
        .collect();
    assert_eq!(deployed, there);
}

#[test]
fn the_tables_are_those_that_the_store_creates() {
    let stack = platform();
    let tables = stack.template.of_type("AWS::DynamoDB::Table");
    let mut seen = BTreeSet::new();
    for table in schema::ALL {
        let wanted = format!("switchyard-prod-{}", table.name);
        let found = tables
            .values()
            .find(|properties| stack.text(&properties["TableName"]) == wanted);
        let found = stack.value(found.unwrap_or_else(|| panic!("no {wanted}")));
        seen.insert(wanted.clone());
        let keys = |partition: &str, sort: &str| json!([{ "AttributeName": partition, "KeyType": "HASH" }, { "AttributeName": sort, "KeyType": "RANGE" }]);
        assert_eq!(found["KeySchema"], keys(PARTITION, SORT), "{wanted}");
        let indexes: BTreeMap<String, Value> = found["GlobalSecondaryIndexes"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|index| (index["IndexName"].as_str().unwrap().to_owned(), index.clone()))
            .collect();
        let expected: BTreeMap<String, Value> = table
            .indexes
            .iter()
            .map(|index| {
                let projection = if index.beside.is_empty() {
                    json!({ "ProjectionType": "KEYS_ONLY" })
                } else {
                    json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": index.beside })
                };
                let told = json!({
                    "IndexName": index.name, "KeySchema": keys(index.partition, index.sort),
                    "Projection": projection,
                });
                (index.name.to_owned(), told)
            })
            .collect();
        assert_eq!(indexes, expected, "{wanted}");
        let attributes: BTreeSet<&str> = found["AttributeDefinitions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|attribute| {
                assert_eq!(attribute["AttributeType"], "S");
                attribute["AttributeName"].as_str().unwrap()
            })
            .collect();
        let used = table
            .indexes
            .iter()
            .flat_map(|index| [index.partition, index.sort]);
        assert_eq!(
            attributes,
            [PARTITION, SORT].into_iter().chain(used).collect(),
            "{wanted}"
        );
        assert_eq!(found["BillingMode"], "PAY_PER_REQUEST", "{wanted}");
        // Under DynamoDB's own key: every table is encrypted, and AWS KMS has no bill for it.
        assert_eq!(found.get("SSESpecification"), None, "{wanted}");
        assert_eq!(
            found["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"], true,
            "{wanted}"
        );
        assert_eq!(
            found["TimeToLiveSpecification"],
            json!({ "AttributeName": EXPIRES_AT, "Enabled": true }),
            "{wanted}"
        );
        assert_eq!(found["DeletionProtectionEnabled"], true, "{wanted}");
    }
    assert_eq!(seen.len(), tables.len(), "no table besides");
    for (id, table) in stack.template.resources() {
        if table["Type"] == "AWS::DynamoDB::Table" {
            assert_eq!(
                (&table["DeletionPolicy"], &table["UpdateReplacePolicy"]),
                (&json!("RetainExceptOnCreate"), &json!("Retain")),
                "{id}"
            );
        }
    }
}

#[test]
fn queues_repeat_only_what_failed_and_keep_dead_letters() {
    let mut triggered = 0;
    for (stack, id) in functions() {
        let function = stack.template.functions()[id.as_str()].clone();
        for event in function["Events"]
            .as_object()
            .into_iter()
            .flat_map(|events| events.values())
        {
            if event["Type"] != "SQS" {
                continue;
            }
            triggered += 1;
            let event = &event["Properties"];
            assert_eq!(
                event["FunctionResponseTypes"],
                json!(["ReportBatchItemFailures"]),
                "{id}"
            );
            let queue_id = event["Queue"]["Fn::GetAtt"][0].as_str().unwrap();
            let queues = stack.template.of_type("AWS::SQS::Queue");
            let queue = queues[queue_id];
            let (visible, limit) = (
                queue["VisibilityTimeout"].as_u64().unwrap(),
                function["Timeout"].as_u64().unwrap(),
            );
            assert!(
                visible >= limit,
                "{id}: {visible} s of invisibility for {limit} s of work"
            );
            // Less than that, and no worker would ever begin to ask a model: six seconds of it are for an end in good order,
            // some for the start.
            let model = llm::ChainLimits::default().whole.as_secs();
            assert!(
                id != "HostAgentFunction" || limit >= model + 25,
                "{limit} s for a model's {model} s"
            );
            let dead = queue["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]
                .as_str()
                .unwrap();
            let kept = |queue: &Value| queue["MessageRetentionPeriod"].as_u64().unwrap();
            assert!(
                kept(queues[dead]) > kept(queue),
                "{dead} keeps what it gets for longer"
            );
            // The sweeper, and whoever is configured by hand, find the queue by this name.
            let agent = stack.environment(&id)["WAKE_QUEUES"].clone();
            let agent: BTreeMap<String, String> = serde_json::from_str(&agent).unwrap();
            assert_eq!(agent.len(), 1, "{id} wakes itself alone");
            assert_eq!(
                agent.values().next().unwrap(),
                &stack.text(&json!({ "Ref": queue_id }))
            );
            let alarm = stack
                .template
                .of_type("AWS::CloudWatch::Alarm")
                .values()
                .any(|alarm| {
                    alarm["Dimensions"][0]["Value"]["Fn::GetAtt"][0] == *dead && alarm["Threshold"] == 1
                });
            assert!(alarm, "nobody hears of {dead}");
        }
    }
    assert_eq!(triggered, 6, "host, horizon, weather, airbnb, calendar, report");
    for stack in [platform(), tenant("acme")] {
        for (id, queue) in stack.template.of_type("AWS::SQS::Queue") {
            assert_eq!(queue["SqsManagedSseEnabled"], true, "{id}");
        }
    }
}

#[test]
fn the_sweeper_knows_the_queue_of_every_agent_of_every_tenant() {
    let known = platform().environment("TaskSweeperFunction")["WAKE_QUEUES"].clone();
    let known: BTreeMap<String, String> = serde_json::from_str(&known).unwrap();
    for name in ["acme", "globex-2"] {
        let mut wanted = BTreeMap::new();
        for (stack, ids) in [
            (
                platform(),
                &["WeatherQueue", "AirbnbQueue", "CalendarQueue", "ReportQueue"][..],
            ),
            (tenant(name), &["HostQueue", "HorizonQueue"]),
        ] {
            for id in ids {
                let url = stack.text(&json!({ "Ref": id }));
                wanted.insert(id.trim_end_matches("Queue").to_lowercase(), url);
            }
        }
        let meant: BTreeMap<String, String> = known
            .iter()
            .map(|(agent, url)| (agent.clone(), url.replace("{tenant}", name)))
            .collect();
        assert_eq!(meant, wanted);
        let policy = Policy::of(&platform(), "TaskSweeperFunction");
        for url in meant.values() {
            let send = Request {
                action: "sqs:SendMessage".to_owned(),
                resource: format!(
                    "arn:aws:sqs:{REGION}:{ACCOUNT}:{}",
                    url.rsplit('/').next().unwrap()
                ),
                leading_keys: Vec::new(),
                attributes: Vec::new(),
            };
            assert!(policy.allows(&send), "{url}");
        }
    }
}

#[test]
fn every_policy_denies_scans_names_its_actions_and_belongs_to_one_function() {
    let mut roles = BTreeSet::new();
    for (stack, id) in functions() {
        let role = stack.template.functions()[id.as_str()]["Role"]["Fn::GetAtt"][0].clone();
        assert!(
            roles.insert((stack.template.package(&id).to_owned(), role.to_string())),
            "{id} shares a role"
        );
        let document =
            stack.value(&stack.template.of_type("AWS::IAM::Role")[role.as_str().unwrap()]["Policies"]);
        for statement in document[0]["PolicyDocument"]["Statement"].as_array().unwrap() {
            let allows = statement["Effect"] == "Allow";
            for action in statement["Action"].as_array().unwrap() {
                let action = action.as_str().unwrap();
                assert!(!action.contains('*'), "{id}: {action}");
                assert!(
                    !(allows && ["dynamodb:Scan", "dynamodb:DeleteTable"].contains(&action)),
                    "{id}: {action}"
                );
            }
            assert!(
                !allows || !statement["Resource"].to_string().contains("\"*\""),
                "{id}: {statement}"
            );
        }
        let policy = Policy::of(&stack, &id);
        for table in schema::ALL {
            let scan = Request {
                action: "dynamodb:Scan".to_owned(),
                resource: format!(
                    "arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/switchyard-prod-{}",
                    table.name
                ),
                leading_keys: Vec::new(),
                attributes: Vec::new(),
            };
            assert!(!policy.allows(&scan), "{id} may scan {}", table.name);
        }
    }
}

const ACTIONS: [&str; 9] = [
    "GetItem",
    "BatchGetItem",
    "Query",
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "ConditionCheckItem",
    "BatchWriteItem",
    "Scan",
];

/// Partition keys of every kind there is, of a tenant.
fn keys_of(tenant: &str) -> Vec<String> {
    let mut keys = Vec::new();
    for agent in ["host", "horizon", "weather", "airbnb", "calendar", "report"] {
        for kind in ["task", "message", "context", "owner", "status"] {
            keys.push(format!("{tenant}#{agent}#{kind}#x"));
        }
    }
    for kind in [
        "session", "chat", "owner", "consent", "state", "user", "client", "code", "family", "agent", "tag",
        "type",
    ] {
        keys.push(format!("{tenant}#{kind}#x"));
    }
    keys.extend([
        format!("{tenant}#orders"),
        format!("{tenant}#agents"),
        format!("{tenant}#owner#x#grants"),
        tenant.to_owned(),
    ]);
    keys
}

/// Every table and index.
fn places() -> Vec<String> {
    let table = |name: &str| format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/switchyard-prod-{name}");
    schema::ALL
        .iter()
        .flat_map(|each| {
            let indexes = each
                .indexes
                .iter()
                .map(|index| format!("{}/index/{}", table(each.name), index.name));
            std::iter::once(table(each.name)).chain(indexes)
        })
        .collect()
}

#[test]
fn no_function_of_a_tenant_reaches_another_tenants_items() {
    let stack = tenant("acme");
    for id in stack.template.functions().keys() {
        let policy = Policy::of(&stack, id);
        for (sid, keys) in policy.dynamodb() {
            let keys = keys.unwrap_or_else(|| panic!("{id}: {sid} names no leading keys"));
            assert!(
                keys.iter().all(|key| key.starts_with("acme#") || key == "acme"),
                "{id}: {sid}: {keys:?}"
            );
        }
        let mut allowed = 0;
        for resource in places() {
            for action in ACTIONS {
                let ask = |key: &str| {
                    policy.allows(&Request {
                        action: format!("dynamodb:{action}"),
                        resource: resource.clone(),
                        leading_keys: vec![key.to_owned()],
                        attributes: Vec::new(),
                    })
                };
                // A name that begins like ours, and the keys of nobody.
                for stranger in ["globex", "acmes", "acm", "due", "global", ""] {
                    for key in keys_of(stranger) {
                        assert!(!ask(&key), "{id} may {action} {key} in {resource}");
                    }
                }
                for shard in 0..store::DUE_SHARDS {
                    assert!(!ask(&format!("due#{shard}")), "{id} may read what is due");
                }
                allowed += keys_of("acme").iter().filter(|key| ask(key)).count();
                // One foreign key among our own spoils a batch.
                let mixed = vec!["acme#host#task#1".to_owned(), "globex#host#task#1".to_owned()];
                let mixed = Request {
                    action: format!("dynamodb:{action}"),
                    resource: resource.clone(),
                    leading_keys: mixed,
                    attributes: Vec::new(),
                };
                assert!(!policy.allows(&mixed), "{id}: a batch over two tenants");
            }
        }
        assert!(allowed > 0, "{id} may do something");
    }
}

/// Settings, suspension and incarnation are one item.
#[test]
fn of_the_tenants_record_the_chat_writes_the_settings_alone() {
    let stack = tenant("acme");
    for id in stack.template.functions().keys() {
        let policy = Policy::of(&stack, id);
        let ask = |action: &str, attributes: &[&str]| {
            policy.allows(&Request {
                action: format!("dynamodb:{action}"),
                resource: format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/switchyard-prod-tenants"),
                leading_keys: vec!["acme".to_owned()],
                attributes: ["pk", "sk"]
                    .iter()
                    .chain(attributes)
                    .map(|&name| name.to_owned())
                    .collect(),
            })
        };
        let is_chat = *id == "ChatApiFunction";
        assert_eq!(ask("UpdateItem", &["settings"]), is_chat, "{id}");
        for more in ["status", "prefix", "media"] {
            assert!(!ask("UpdateItem", &["settings", more]), "{id} may write {more}");
        }
        for action in ["PutItem", "DeleteItem", "BatchWriteItem", "Scan"] {
            assert!(!ask(action, &["settings"]), "{id}: {action}");
        }
    }
}

#[test]
fn agents_reach_their_own_tasks_alone_and_only_the_sweeper_sees_what_is_due() {
    let tasks = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/switchyard-prod-tasks");
    for (stack, id) in functions() {
        let policy = Policy::of(&stack, &id);
        let due = Request {
            action: "dynamodb:Query".to_owned(),
            resource: format!("{tasks}/index/by_due"),
            leading_keys: vec!["due#3".to_owned()],
            attributes: Vec::new(),
        };
        assert_eq!(policy.allows(&due), id == "TaskSweeperFunction", "{id}");
        let own = match id.as_str() {
            "WeatherAgentFunction" => "weather",
            "ReportAgentFunction" => "report",
            "AirbnbAgentFunction" => "airbnb",
            "CalendarAgentFunction" | "CalendarCallbackFunction" => "calendar",
            "HorizonAgentFunction" => "horizon",
            "HostAgentFunction" | "ChatApiFunction" | "OauthCallbackFunction" | "WebhookReceiverFunction" => {
                "host"
            }
            _ => "",
        };
        for agent in ["weather", "airbnb", "calendar", "report", "horizon", "host"] {
            let read = Request {
                action: "dynamodb:GetItem".to_owned(),
                resource: tasks.clone(),
                leading_keys: vec![format!("acme#{agent}#task#1")],
                attributes: Vec::new(),
            };
            assert_eq!(
                policy.allows(&read),
                agent == own,
                "{id} and the tasks of {agent}"
            );
        }
    }
}

#[test]
fn the_routes_lead_to_the_functions_as_they_expect_it() {
    for stack in [platform(), tenant("acme")] {
        let routes = routes(&stack);
        let permitted: BTreeSet<String> = stack
            .template
            .of_type("AWS::Lambda::Permission")
            .values()
            .map(|permission| permission["FunctionName"]["Ref"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            permitted,
            routes.iter().map(|route| route.function.clone()).collect()
        );
        for route in &routes {
            let environment = stack.environment(&route.function);
            let answers = if route.streams { "streaming" } else { "buffered" };
            assert_eq!(environment["ANSWERS"], answers, "{}", route.function);
            let path = format!("/{}", route.segments.join("/"));
            // Documents before the path, which the function sees below it.
            if let Some(document) = path.strip_prefix("/.well-known/") {
                let agent = document.strip_prefix("oauth-protected-resource");
                let base = &environment["BASE_PATH"];
                let fits = match agent.and_then(|path| path.strip_suffix("/{proxy+}")) {
                    Some(agent) => base.starts_with(&format!("{agent}/")),
                    None => document == "{proxy+}" && base == "/idp",
                };
                assert!(fits, "{path} and {base}");
                continue;
            }
            if let Some(base) = environment.get("BASE_PATH") {
                // The unguessable part of an agent's address is below its route.
                let below = path.strip_suffix("/{proxy+}");
                assert!(
                    path == *base || below.is_some_and(|below| base.starts_with(below)),
                    "{path} and {base}"
                );
            }
        }
        // The addresses that the functions are told are those they are at.
        for (id, variable) in [
            ("RegistryFunction", "REGISTRY_URL"),
            ("IdpFunction", "IDP_URL"),
            ("WeatherAgentFunction", "AGENT_URL"),
            ("ReportAgentFunction", "AGENT_URL"),
            ("AirbnbAgentFunction", "AGENT_URL"),
            ("CalendarAgentFunction", "AGENT_URL"),
            ("CalendarCallbackFunction", "TENANT_BASE_URL"),
            ("HostAgentFunction", "HOST_AGENT_URL"),
            ("HorizonAgentFunction", "AGENT_URL"),
        ] {
            if stack.template.functions().contains_key(id) {
                let environment = stack.environment(id);
                let url = &environment[variable];
                assert!(
                    url.ends_with(&format!("amazonaws.com/prod{}", environment["BASE_PATH"])),
                    "{id}: {url}"
                );
            }
        }
    }
}

#[test]
fn a_changed_api_is_deployed_anew() {
    for (name, stack) in [
        ("template.yaml", platform()),
        ("infra/tenant.yaml", tenant("acme")),
    ] {
        let mut text = String::new();
        let (methods, answers) = ("AWS::ApiGateway::Method", "AWS::ApiGateway::GatewayResponse");
        for kind in ["AWS::ApiGateway::Resource", methods, answers] {
            for (id, properties) in stack.template.of_type(kind) {
                text.push_str(&format!("{id}{properties}"));
            }
        }
        // FNV-1a: any hash does that is the same everywhere.
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let wanted = format!("Deployment{:08X}", hash >> 32);
        let deployments = stack.template.of_type("AWS::ApiGateway::Deployment");
        let found: Vec<&&str> = deployments.keys().collect();
        assert_eq!(
            found,
            [&wanted.as_str()],
            "{name}: the deployment must have this name now"
        );
        let snapped = [methods, answers].map(|kind| stack.template.of_type(kind));
        let awaited = &stack.template.resources()[wanted.as_str()]["DependsOn"];
        let awaited: BTreeSet<&str> = awaited
            .as_array()
            .unwrap()
            .iter()
            .map(|id| id.as_str().unwrap())
            .collect();
        assert_eq!(
            awaited,
            snapped.iter().flat_map(|kind| kind.keys().copied()).collect(),
            "{name}: a deployment of all methods, and of what the gateway says itself"
        );
    }
}

#[test]
fn agents_addresses_cannot_be_guessed() {
    for (template, names) in [
        (
            Template::platform(),
            &["WeatherPath", "AirbnbPath", "CalendarPath", "ReportPath"][..],
        ),
        (Template::tenant(), &["HostPath", "HorizonPath"]),
    ] {
        for name in names {
            let parameter = &template.document["Parameters"][name];
            assert_eq!(parameter["AllowedPattern"], "[0-9a-f]+", "{name}");
            assert!(
                parameter["MinLength"].as_u64() >= Some(32),
                "{name}: 128 bits, four a digit"
            );
            assert!(parameter.get("Default").is_none(), "{name} has no default");
        }
    }
}

#[test]
fn secrets_and_logs_are_each_functions_own() {
    for (stack, id) in functions() {
        let function = stack.template.functions()[id.as_str()];
        let group = function["LoggingConfig"]["LogGroup"]["Ref"].as_str().unwrap();
        assert_eq!(group, format!("{}Logs", id.trim_end_matches("Function")));
        assert!(
            stack.template.of_type("AWS::Logs::LogGroup")[group]["RetentionInDays"].is_object(),
            "{group} is kept forever"
        );
        // What the environment names is what the policy lets it read.
        let policy = Policy::of(&stack, &id);
        for (name, value) in stack.environment(&id) {
            // An empty one names no secret: the function does without.
            if name.ends_with("_SECRET") && !value.is_empty() {
                let read = Request {
                    action: "secretsmanager:GetSecretValue".to_owned(),
                    resource: value,
                    leading_keys: Vec::new(),
                    attributes: Vec::new(),
                };
                assert!(policy.allows(&read), "{id} may read its {name}");
            }
        }
        let unread: Vec<_> = policy
            .unused()
            .into_iter()
            .filter(|(_, action)| action == "secretsmanager:GetSecretValue")
            .collect();
        assert_eq!(unread, [], "{id} may read a secret that it is not told of");
    }
}

/// CloudFront's function, run by the machine's own Node.
#[test]
fn what_stands_in_front_gives_the_challenge_its_name_back() {
    let front = Template::read("infra/front.yaml");
    let functions = front.of_type("AWS::Lambda::Function");
    let code = functions["HeaderFunction"]["Code"]["ZipFile"].as_str().unwrap();
    let run = |headers: Value| -> Value {
        let event =
            json!({"Records": [{"cf": {"response": {"status": "401", "headers": headers, "body": "x"}}}]});
        let script = format!(
            "{code}\nexports.handler({event}).then((answer) => console.log(JSON.stringify(answer)));"
        );
        let output = std::process::Command::new("node")
            .args(["--input-type=commonjs", "-e", &script])
            .output()
            .expect("node runs");
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let challenge = r#"Bearer realm="x", resource_metadata="https://h/y""#;
    let other = json!([{"key": "Content-Type", "value": "application/json"}]);
    let renamed = json!([{"key": "x-amzn-Remapped-WWW-Authenticate", "value": challenge}]);
    let answer = run(json!({"content-type": other, "x-amzn-remapped-www-authenticate": renamed}));
    assert_eq!(
        answer["headers"],
        json!({"content-type": other, "www-authenticate": [{"key": "WWW-Authenticate", "value": challenge}]})
    );
    assert_eq!((&answer["status"], &answer["body"]), (&json!("401"), &json!("x")));
    assert_eq!(
        run(json!({"content-type": other}))["headers"],
        json!({"content-type": other})
    );
    // It is called for answers of 400 and above too, by a version, and answers are nobody's to keep.
    let distribution = &front.of_type("AWS::CloudFront::Distribution")["Distribution"]["DistributionConfig"];
    let behavior = &distribution["DefaultCacheBehavior"];
    let called = &behavior["LambdaFunctionAssociations"][0];
    assert_eq!(
        (&called["EventType"], &called["LambdaFunctionARN"]),
        (&json!("origin-response"), &json!({"Ref": "HeaderVersion1"}))
    );
    // CachingDisabled.
    assert_eq!(behavior["CachePolicyId"], "4135ea2d-6df8-44a3-9df3-4b5a84be39ad");
    let hosts = front.document["Parameters"]["ApiHost"]["AllowedPattern"]
        .as_str()
        .unwrap();
    let hosts = regex_lite::Regex::new(&format!("^{hosts}$")).unwrap();
    for stack in [platform(), tenant("acme")] {
        let host = stack.output("ApiHost");
        assert!(hosts.is_match(&host), "{host}");
    }
    assert!(!hosts.is_match("evil.example"));
}

#[test]
fn nothing_is_reserved_for_the_sweeper_unless_somebody_says_so() {
    let stack = platform();
    let reserved = &stack.template.functions()["TaskSweeperFunction"]["ReservedConcurrentExecutions"];
    assert_eq!(
        reserved["Fn::If"][2],
        json!({"Ref": "AWS::NoValue"}),
        "{reserved}"
    );
    assert_eq!(
        stack.template.document["Parameters"]["SweeperConcurrency"]["Default"],
        ""
    );
    let given = stack.with(&[("SweeperConcurrency", "2")]);
    assert_eq!(given.text(reserved), "2");
}

#[test]
fn every_api_takes_so_many_requests_a_second_and_no_more() {
    let given = [
        ("Agents", "[{}]"),
        ("Requesters", r#"["acme.example"]"#),
        ("IotHost", "abc123-ats.iot.eu-north-1.amazonaws.com"),
    ];
    let iot = Stack::new(Template::read("infra/mqtt-iot.yaml"), "switchyard-mqtt", &given);
    for (stack, kind, settings) in [
        (platform(), "AWS::ApiGateway::Stage", "/MethodSettings/0"),
        (tenant("acme"), "AWS::ApiGateway::Stage", "/MethodSettings/0"),
        (iot, "AWS::ApiGatewayV2::Stage", "/DefaultRouteSettings"),
    ] {
        let stages = stack.template.of_type(kind);
        assert_eq!(stages.len(), 1, "{kind}");
        for stage in stages.values() {
            let settings = stage.pointer(settings).unwrap();
            for limit in ["ThrottlingRateLimit", "ThrottlingBurstLimit"] {
                let limit: u32 = stack.text(&settings[limit]).parse().unwrap();
                assert!((1..=10_000).contains(&limit), "{kind}: {settings}");
            }
        }
        for group in stack.template.of_type("AWS::Logs::LogGroup").values() {
            assert!(group["RetentionInDays"].is_object(), "{group}");
        }
    }
}
