//! The templates against the code: settings, tables, policies, queues, routes. What is checked here is what no linter can
//! know.

use std::collections::{BTreeMap, BTreeSet};

use edge::config::Env;
use serde_json::{Value, json};
use store::schema::{self, EXPIRES_AT, PARTITION, SORT};
use system_testing::cloud::routes;
use system_testing::policy::{LEADING_KEYS, PREFIX, Policy, Request};
use system_testing::template::stacks::{
    self, functions, functions_of_all, may, platform, pool, tags, tenant, working_role,
};
use system_testing::template::{ACCOUNT, REGION, Stack, Template};

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
    if !may(stack, id, "s3:GetObject") && !may(stack, id, "s3:ListBucket") {
        unused.extend(["AWS_ENDPOINT_URL_S3", "BLOBS_BUCKET"]);
    }
    if !may(stack, id, "secretsmanager:GetSecretValue") {
        unused.insert("AWS_ENDPOINT_URL_SECRETS_MANAGER");
    }
    // It acts for a tenant as another role does, and opens keys of the tenant's record by that.
    if !stacks::tenant_roles(stack).contains_key(id) {
        unused.extend(["AWS_ENDPOINT_URL_KMS", "AWS_ENDPOINT_URL_STS", "TENANT_ROLE"]);
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
    read_from(package, Env::of(variables))
}

fn read_from(package: &str, mut env: Env) -> BTreeSet<String> {
    let functions = local::functions(&host_agent::Patience::default(), None);
    let function = functions.iter().find(|function| function.name == package);
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

/// What a function of the pool reads once its tenant is known comes from its template, or from the tenant's record alone; and each variable
/// of the template is read by somebody: by the function, or by what builds it for its tenant.
#[test]
fn a_function_of_the_pool_gets_what_it_reads_from_its_template_and_its_tenants_record() {
    let stack = pool();
    let acme = domain::Tenant::from_prefix("acme.7f3a9c2e").unwrap();
    let pooled = store::Pooled {
        base_url: "https://pool.example/t/acme".to_owned(),
        host_path: "0f1e".to_owned(),
        horizon_path: "2d3c".to_owned(),
        session_public_key: r#"{"kty":"EC","crv":"P-256","x":"YQ","y":"YQ"}"#.to_owned(),
        ..store::Pooled::default()
    };
    // Lambda's own words; what says in a silo that its keys have changed, which in the pool are a changed record; and a
    // broker, which no agent of the pool is on, and no host of it knows of.
    let elsewhere = [
        "AGENT_MQTT_URL",
        "AWS_REGION",
        "KEYS_EDITION",
        "MQTT_BRIDGE_URL",
        "MQTT_BROKER",
        "TENANT_ID",
        "TENANT_PREFIX",
    ];
    for id in stacks::tenant_roles(&stack).keys() {
        let package = stack.template.package(id);
        let variables = stack.environment(id);
        let env = Env::of(variables.clone()).in_pool(&acme, &pooled).unwrap();
        let read = read_from(package, env);
        let unused = of_no_use(&stack, id);
        let known = |name: &&String| {
            let name = name.as_str();
            !elsewhere.contains(&name) && !unused.contains(name) && !domain::DEPLOYMENT.contains(&name)
        };
        let missing: Vec<&String> = read
            .iter()
            .filter(known)
            .filter(|name| !variables.contains_key(*name))
            .collect();
        assert_eq!(missing, Vec::<&String>::new(), "{id} reads what nobody says");
        let mut unread: BTreeSet<&str> = variables.keys().map(String::as_str).collect();
        unread.retain(|name| !read.contains(*name));
        let whoever_builds_it = BTreeSet::from(["TENANCY"]);
        assert_eq!(unread, whoever_builds_it, "{id} is told what nobody reads");
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
    for (stack, id) in functions_of_all() {
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
            let url = stack.text(&json!({ "Ref": queue_id }));
            let named = |variable: &str, id: &str| -> BTreeMap<String, String> {
                serde_json::from_str(&stack.environment(id)[variable]).unwrap()
            };
            let woken = match id.as_str() {
                // The pool's router hands a wake on to the function whose queue it would be.
                "WakeRouterFunction" => {
                    let agent = queue_id.trim_end_matches("Queue");
                    let function = format!("{agent}AgentFunction");
                    let arn = stack.text(&json!({ "Fn::GetAtt": [function, "Arn"] }));
                    let handed = &named("WAKE_FUNCTIONS", &id)[&agent.to_lowercase()];
                    assert_eq!(*handed, arn);
                    // What is lost then the sweeper finds: Lambda need not repeat it.
                    let told = stack.template.of_type("AWS::Lambda::EventInvokeConfig");
                    let retries = told
                        .values()
                        .find(|told| told["FunctionName"]["Ref"] == *function);
                    assert_eq!(retries.unwrap()["MaximumRetryAttempts"], 0, "{function}");
                    function
                }
                _ => id.clone(),
            };
            let agent = named("WAKE_QUEUES", &woken);
            assert_eq!(
                agent.into_values().collect::<Vec<_>>(),
                [url],
                "{woken} wakes itself alone"
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
    let pools = 2;
    assert_eq!(
        triggered,
        6 + pools,
        "host, horizon, weather, airbnb, calendar, report"
    );
    for stack in stacks::all() {
        for (id, queue) in stack.template.of_type("AWS::SQS::Queue") {
            assert_eq!(queue["SqsManagedSseEnabled"], true, "{id}");
        }
    }
}

#[test]
fn every_policy_denies_scans_names_its_actions_and_belongs_to_one_function() {
    let mut roles = BTreeSet::new();
    let own = functions_of_all().into_iter().map(|(stack, id)| {
        let role = &stack.template.functions()[id.as_str()]["Role"]["Fn::GetAtt"][0];
        let role = role.as_str().unwrap().to_owned();
        (stack, id, role)
    });
    let of_tenants = stacks::tenant_roles(&pool()).into_iter();
    let of_tenants = of_tenants.map(|(id, role)| (pool(), id, role));
    for (stack, id, role) in own.chain(of_tenants) {
        let name = stack.text(&json!({ "Ref": "AWS::StackName" }));
        assert!(
            roles.insert((name, stack.template.package(&id).to_owned(), role.clone())),
            "{id} shares a role"
        );
        let document = stack.value(&stack.template.of_type("AWS::IAM::Role")[role.as_str()]["Policies"]);
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
        let policy = Policy::of_role(&stack, &role);
        for table in schema::ALL {
            let scan = Request::new(
                "dynamodb:Scan",
                format!(
                    "arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/switchyard-prod-{}",
                    table.name
                ),
            );
            assert!(!policy.allows(&scan), "{id} may scan {}", table.name);
            let scan = scan.by(&tags("acme"));
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
    let own = stacks::of([tenant("acme")]);
    let pooled = stacks::tenant_roles(&pool()).into_keys().map(|id| (pool(), id));
    for (stack, id) in own.into_iter().chain(pooled) {
        let policy = Policy::of_role(&stack, &working_role(&stack, &id));
        let is_pooled = stacks::tenant_roles(&stack).contains_key(&id);
        let (prefix, name) = match is_pooled {
            true => ("${aws:PrincipalTag/tenant}#", "${aws:PrincipalTag/tenant_name}"),
            false => ("acme#", "acme"),
        };
        for (sid, keys) in policy.dynamodb() {
            let keys = keys.unwrap_or_else(|| panic!("{id}: {sid} names no leading keys"));
            assert!(
                keys.iter().all(|key| key.starts_with(prefix) || key == name),
                "{id}: {sid}: {keys:?}"
            );
        }
        let acme = tags("acme");
        for (action, resource) in policy.s3() {
            let bucket = format!("arn:aws:s3:::switchyard-prod-blobs-{ACCOUNT}-{REGION}");
            let own = resource.replace("${aws:PrincipalTag/tenant}", "acme");
            let ask = |tenant: &str| {
                let request = match action {
                    "s3:ListBucket" => {
                        Request::new(action, bucket.clone()).with(PREFIX, [format!("{tenant}#host#task#1/")])
                    }
                    _ => Request::new(action, own.replace("acme", tenant).replace('*', "1")),
                };
                policy.allows(&request.by(&acme))
            };
            assert!(ask("acme"), "{id} may {action} its own, {resource}");
            for stranger in ["globex", "acmes", "acm", "", "acme.7f3a9c2e"] {
                assert!(!ask(stranger), "{id} may {action} {stranger}'s");
            }
            let everything = Request::new("s3:ListBucket", bucket.clone()).by(&acme);
            assert!(!policy.allows(&everything), "{id} lists everything");
        }
        let mut allowed = 0;
        for resource in places() {
            for action in ACTIONS {
                let ask = |key: &str| {
                    policy.allows(
                        &Request::new(format!("dynamodb:{action}"), resource.clone())
                            .with(LEADING_KEYS, [key])
                            .by(&acme),
                    )
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
                // Without the tags of a session, or with those that look like a pattern, nobody reaches anything.
                let nobodys = [BTreeMap::new(), tags("*"), tags("acm?"), tags("")];
                for nobody in nobodys.into_iter().filter(|_| is_pooled) {
                    let reaches = |key: &String| {
                        let asked = Request::new(format!("dynamodb:{action}"), resource.clone());
                        policy.allows(&asked.with(LEADING_KEYS, [key.as_str()]).by(&nobody))
                    };
                    let reached = keys_of("acme").iter().any(reaches);
                    assert!(!reached, "{id} may {action} in {resource} by {nobody:?}");
                }
                allowed += keys_of("acme").iter().filter(|key| ask(key)).count();
                // One foreign key among our own spoils a batch.
                let mixed = ["acme#host#task#1", "globex#host#task#1"];
                let mixed = Request::new(format!("dynamodb:{action}"), resource.clone())
                    .with(LEADING_KEYS, mixed)
                    .by(&acme);
                assert!(!policy.allows(&mixed), "{id}: a batch over two tenants");
            }
        }
        assert!(allowed > 0, "{id} may do something");
    }
}

#[test]
fn the_routes_lead_to_the_functions_as_they_expect_it() {
    for stack in stacks::all() {
        let routes = routes(&stack);
        let permitted: BTreeSet<String> = stack
            .template
            .of_type("AWS::Lambda::Permission")
            .values()
            .map(|permission| permission["FunctionName"]["Ref"].as_str().unwrap().to_owned())
            .collect();
        let called = routes
            .iter()
            .flat_map(|route| [Some(&route.function), route.authorizer.as_ref()]);
        assert_eq!(permitted, called.flatten().cloned().collect());
        for route in &routes {
            let environment = stack.environment(&route.function);
            let answers = if route.streams { "streaming" } else { "buffered" };
            assert_eq!(environment["ANSWERS"], answers, "{}", route.function);
            let mut path = format!("/{}", route.segments.join("/"));
            // In the pool a name stands for each tenant's, which a variable names otherwise.
            let mut base = environment
                .get("BASE_PATH")
                .map(|base| base.replace("{tenant_name}", "{tenant}"));
            // What stands before the pool with the tenant's base as its origin's path asks for documents below that.
            if let Some(document) = path.strip_prefix("/t/{tenant}/.well-known/") {
                path = format!("/.well-known/{document}");
                base = base.and_then(|base| Some(base.strip_prefix("/t/{tenant}")?.to_owned()));
            }
            // Documents before the path, which the function sees below it.
            if let Some(document) = path.strip_prefix("/.well-known/") {
                let agent = document.strip_prefix("oauth-protected-resource");
                let base = base.expect("a base");
                let fits = match agent.and_then(|path| path.strip_suffix("/{proxy+}")) {
                    Some(agent) => base.starts_with(&format!("{agent}/")),
                    None => document == "{proxy+}" && base == "/idp",
                };
                assert!(fits, "{path} and {base}");
                continue;
            }
            if let Some(base) = base {
                // The unguessable part of an agent's address is below its route; a tenant's base has routes below it.
                let below = path.strip_suffix("/{proxy+}");
                let is_agents = below.is_some_and(|below| base.starts_with(below));
                let is_tenants = base == "/t/{tenant}" && path.starts_with("/t/{tenant}/");
                assert!(path == base || is_agents || is_tenants, "{path} and {base}");
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
                // In the pool the record says the tenant's base, which is below the pool's own where nothing stands before it.
                let url = match url.strip_prefix("{base_url}") {
                    Some(below) => format!("{}/t/{{tenant_name}}{below}", stack.output("BaseUrl")),
                    None => url.clone(),
                };
                assert!(
                    url.ends_with(&format!("amazonaws.com/prod{}", environment["BASE_PATH"])),
                    "{id}: {url}"
                );
            }
        }
    }
}

#[test]
fn the_schedules_that_are_documented_are_those_that_are_used() {
    let seconds = |waits: &[std::time::Duration]| {
        let waits: Vec<String> = waits.iter().map(|wait| wait.as_secs().to_string()).collect();
        waits.join(",")
    };
    let retries = seconds(agent::RetrySchedule::default().waits());
    let pushes = seconds(agent::PushSchedule::default().waits());
    for path in [
        "docs/retries.md",
        "shared/edge/src/config.rs",
        "template.yaml",
        "infra/tenant.yaml",
    ] {
        let text = std::fs::read_to_string(system_testing::root().join(path)).unwrap();
        for schedule in [&retries, &pushes] {
            assert!(text.contains(schedule.as_str()), "{path} does not say {schedule}");
        }
    }
}

/// What a tenant's record may say is a parameter of its template as it stands: nothing that the template makes of what is the platform's.
#[test]
fn what_a_record_may_say_is_a_parameter_of_the_tenants_template() {
    let template = Template::tenant();
    let functions = template.functions();
    for name in domain::DEPLOYMENT {
        let given = functions
            .values()
            .filter_map(|function| function["Environment"]["Variables"].get(name));
        let mut readers = 0;
        for value in given {
            let parameter = value["Ref"].as_str().unwrap_or_else(|| panic!("{name}: {value}"));
            let kind = &template.document["Parameters"][parameter]["Type"];
            assert!(
                kind == "String" || kind == "Number",
                "{name}: {parameter} is {kind}"
            );
            readers += 1;
        }
        assert!(readers > 0, "{name} is nothing of a tenant's functions");
    }
}

/// What the local system does like AWS is what the templates say.
#[test]
fn queues_and_sweeps_are_like_those_of_the_templates() {
    let like = local::LikeAws::default();
    for template in [Template::platform(), Template::tenant(), Template::pool()] {
        let queues = template.of_type("AWS::SQS::Queue");
        let mut read = 0;
        for (id, properties) in queues {
            // Dead letters have no letters of their own.
            if properties["RedrivePolicy"].is_null() {
                continue;
            }
            read += 1;
            assert_eq!(properties["VisibilityTimeout"], like.visibility.as_secs(), "{id}");
            assert_eq!(
                properties["RedrivePolicy"]["maxReceiveCount"], like.receives,
                "{id}"
            );
        }
        assert!(read > 0, "the test sees no queue");
    }
    // A sweep a minute, whose looks are five seconds apart.
    let looks = &platform().environment("TaskSweeperFunction")["SWEEP_LOOKS"];
    let looks: u64 = looks.parse().expect("a number");
    assert_eq!(like.sweep_every.as_secs(), 60 - 5 * (looks - 1));
}
