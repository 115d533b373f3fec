//! The templates against each other, and against what the repository holds. What needs the code itself is in `tests/it/template.rs`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use template_testing::policy::{ATTRIBUTES, LEADING_KEYS, PREFIX, Policy, Request};
use template_testing::stacks::{
    self, functions, functions_of_all, may, platform, pool, tags, tenant, working_role,
};
use template_testing::{ACCOUNT, REGION, Stack, Template, root};

fn text_of(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Only the host may ask models, only those that the stack lists, and without a list none.
pub(crate) fn only_listed_models_may_be_asked_and_only_by_the_host() {
    for (stack, role) in [(tenant("acme"), "HostAgentRole"), (pool(), "HostAgentTenantRole")] {
        listed_models_alone(&stack, role);
    }
    for (stack, function) in functions_of_all() {
        let asks = ["bedrock:InvokeModelWithResponseStream", "bedrock:InvokeModel"];
        assert!(!asks.iter().any(|ask| may(&stack, &function, ask)), "{function}");
    }
}

fn listed_models_alone(stack: &Stack, role: &str) {
    let mut policies = stack.template.of_type("AWS::IAM::RolePolicy");
    // What lets a function act as its role for a tenant is judged where that is evaluated.
    policies.retain(|_, policy| policy["PolicyName"] != "tenants");
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
        ("HostEmbedModel", json!("bedrock:InvokeModel"), "EmbedModel"),
        (
            "HostModelKeys",
            json!("secretsmanager:GetSecretValue"),
            "ModelKeys",
        ),
    ];
    assert_eq!(policies.len(), rows.len());
    for (id, actions, list) in rows {
        let policy = policies[id];
        assert_eq!(policy["RoleName"], json!({"Ref": role}), "{id}");
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

pub(crate) fn the_table_of_settings_says_who_gets_each() {
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
    // In the pool the tenant's record says some of them.
    for (stack, id) in stacks::of([pool()]) {
        let package = stack.template.package(&id);
        for name in stack.environment(&id).keys() {
            let who = readers
                .get(name)
                .unwrap_or_else(|| panic!("{id}: {name} is in no table"));
            let told = who == "all" || who.split(", ").any(|reader| reader == package);
            assert!(told, "{name}: the table does not know of {package}");
        }
    }
}

/// What a function may do for a tenant is the same in its own stack and in the pool, but for how it comes by its keys and its wakes: what
/// is allowed and needed by nobody is told of silos, and so of the pool.
pub(crate) fn a_function_of_the_pool_may_what_a_silos_may() {
    let statements = |stack: &Stack, role: &str, elsewhere: &[&str]| -> BTreeMap<String, Value> {
        let role = stack.template.of_type("AWS::IAM::Role")[role];
        let policies = stack.value(&role["Policies"]);
        let each = policies[0]["PolicyDocument"]["Statement"]
            .as_array()
            .unwrap()
            .iter();
        let named = each.map(|told| (told["Sid"].as_str().unwrap().to_owned(), told.clone()));
        named
            .filter(|(sid, _)| !elsewhere.contains(&sid.as_str()))
            .collect()
    };
    let (silo, pool) = (tenant("acme"), pool());
    for (id, role) in stacks::tenant_roles(&pool) {
        let of_silo = statements(
            &silo,
            &working_role(&silo, &id),
            &["OwnLogs", "OwnQueue", "OwnKeys"],
        );
        let of_silo = of_silo.into_iter().map(|(sid, told)| {
            let text = told
                .to_string()
                .replace("\"acme#", "\"${aws:PrincipalTag/tenant}#")
                .replace("/acme#", "/${aws:PrincipalTag/tenant}#")
                .replace("\"acme\"", "\"${aws:PrincipalTag/tenant_name}\"")
                .replace("switchyard-prod-acme-", "switchyard-prod-pool-");
            (sid, serde_json::from_str::<Value>(&text).unwrap())
        });
        let of_pool = statements(&pool, &role, &["Wake", "OwnKeys"]);
        assert_eq!(of_pool, of_silo.collect(), "{id}");
        // The wakes of an agent's own queue: it sends them, and in the pool the router takes them.
        let sends = |stack: &Stack| may(stack, &id, "sqs:SendMessage");
        assert_eq!(sends(&pool), sends(&silo), "{id}");
        assert!(!may(&pool, &id, "sqs:ReceiveMessage"), "{id}");
        let own = statements(&pool, &format!("{}Role", id.trim_end_matches("Function")), &[]);
        assert_eq!(own.into_keys().collect::<Vec<_>>(), ["OwnLogs"], "{id}");
    }
}

pub(crate) fn every_function_of_the_repository_is_in_a_template_under_its_own_name() {
    let folder = root().join("functions");
    let there: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| entry.file_name().into_string().unwrap())
        // It holds connections to a broker: a process, which no gateway calls.
        .filter(|name| name != "mqtt_bridge")
        .collect();
    let deployed: BTreeSet<String> = functions_of_all()
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

pub(crate) fn the_sweeper_knows_the_queue_of_every_agent_of_every_tenant() {
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
            let send = Request::new(
                "sqs:SendMessage",
                format!(
                    "arn:aws:sqs:{REGION}:{ACCOUNT}:{}",
                    url.rsplit('/').next().unwrap()
                ),
            );
            assert!(policy.allows(&send), "{url}");
        }
    }
}

/// Settings, suspension and incarnation are one item.
pub(crate) fn of_the_tenants_record_the_chat_writes_the_settings_alone() {
    for (stack, id) in stacks::of([tenant("acme"), pool()]) {
        let policy = Policy::of_role(&stack, &working_role(&stack, &id));
        let ask = |action: &str, attributes: &[&str]| {
            policy.allows(
                &Request::new(
                    format!("dynamodb:{action}"),
                    format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/switchyard-prod-tenants"),
                )
                .with(LEADING_KEYS, ["acme"])
                .with(ATTRIBUTES, ["pk", "sk"].iter().chain(attributes).copied())
                .by(&tags("acme")),
            )
        };
        let is_chat = id == "ChatApiFunction";
        assert_eq!(ask("UpdateItem", &["settings"]), is_chat, "{id}");
        for more in ["status", "prefix", "media"] {
            assert!(!ask("UpdateItem", &["settings", more]), "{id} may write {more}");
        }
        for action in ["PutItem", "DeleteItem", "BatchWriteItem", "Scan"] {
            assert!(!ask(action, &["settings"]), "{id}: {action}");
        }
    }
}

pub(crate) fn agents_reach_their_own_tasks_alone_and_only_the_sweeper_sees_what_is_due() {
    let tasks = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/switchyard-prod-tasks");
    for (stack, id) in functions_of_all() {
        let policy = Policy::of_role(&stack, &working_role(&stack, &id));
        let due =
            Request::new("dynamodb:Query", format!("{tasks}/index/by_due")).with(LEADING_KEYS, ["due#3"]);
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
        // Whoever is erased is so with what every agent of the platform keeps of them, and it is the chat that they ask for it.
        let erases = id == "ChatApiFunction";
        for agent in ["weather", "airbnb", "calendar", "report", "horizon", "host"] {
            let reads = |tenant: &str| {
                policy.allows(
                    &Request::new("dynamodb:GetItem", tasks.clone())
                        .with(LEADING_KEYS, [format!("{tenant}#{agent}#task#1")])
                        .by(&tags("acme")),
                )
            };
            assert_eq!(
                reads("acme"),
                agent == own || erases,
                "{id} and the tasks of {agent}"
            );
            assert!(!erases || !reads("globex"), "{id} and another tenant's tasks");
            // So it is with what of them lies in the bucket.
            let bucket = format!("arn:aws:s3:::switchyard-prod-blobs-{ACCOUNT}-{REGION}");
            let may = |tenant: &str, action: &str| {
                let key = format!("{bucket}/{tenant}#{agent}#task#1/0");
                policy.allows(&Request::new(action, key).by(&tags("acme")))
            };
            let sweeps = id == "TaskSweeperFunction";
            assert_eq!(
                may("acme", "s3:GetObject"),
                agent == own,
                "{id} gets what {agent} has"
            );
            assert_eq!(
                may("acme", "s3:PutObject"),
                (agent == own) || erases,
                "{id} puts for {agent}"
            );
            assert_eq!(
                may("acme", "s3:DeleteObject"),
                erases || sweeps,
                "{id} deletes of {agent}"
            );
            assert!(
                !erases || !may("globex", "s3:DeleteObject"),
                "{id} deletes another tenant's"
            );
            let lists = Request::new("s3:ListBucket", bucket.clone())
                .with(PREFIX, [format!("globex#{agent}#task#1/")]);
            assert_eq!(policy.allows(&lists), sweeps, "{id} lists another tenant's");
        }
        // Of records that it is to look for, the sweeper sees that they are there.
        for attribute in ["expires_at", "deleted_at", "body"] {
            let stands = Request::new("dynamodb:BatchGetItem", tasks.clone())
                .with(LEADING_KEYS, ["acme#host#task#1"])
                .with(ATTRIBUTES, ["pk", "sk", attribute]);
            if id == "TaskSweeperFunction" {
                assert_eq!(policy.allows(&stands), attribute != "body", "{attribute}");
            }
        }
    }
}

/// Partition keys behind a tenant's prefix: of agents' tasks, of what else the host has among them, of the other tables.
const KEYS: [&str; 35] = [
    "host#task#1",
    "host#message#o#m",
    "horizon#task#1",
    "horizon#message#o#m",
    "weather#task#1",
    "weather#message#o#m",
    "airbnb#task#1",
    "airbnb#message#o#m",
    "calendar#task#1",
    "calendar#message#o#m",
    "report#task#1",
    "report#message#o#m",
    "host#usage#now",
    "streams#o",
    "host#vectors#v",
    "host#private#p",
    "session#s",
    "session#@o",
    "chat#c",
    "owner#o#grants",
    "calendar#owner#o#grants",
    "consent#c",
    "orders",
    "type#t",
    "client#host",
    "client#app",
    "code#h",
    "device#h",
    "family#f",
    "login#h",
    "subject#s",
    "throttle#t",
    "user#ada",
    "users",
    "audit",
];

/// What a function of the platform may do with these keys of any tenant, by the agent that it is.
fn is_meant(agent: &str, table: &str, key: &str, action: &str) -> bool {
    let reads = ["BatchGetItem", "GetItem"].contains(&action);
    let writes = ["DeleteItem", "PutItem", "UpdateItem"].contains(&action);
    let kind = key.split('#').next().unwrap_or_default();
    match (agent, table) {
        // By a name that the request says.
        (_, "tenants") => action == "GetItem",
        ("idp" | "calendar", "audit") => key == "audit" && action == "PutItem",
        // What people granted it, sealed by keys that no other function has.
        ("calendar", "sessions") => {
            key == "calendar#owner#o#grants" && (writes || ["GetItem", "Query"].contains(&action))
        }
        ("idp", "identity") if action == "Query" => key == "users",
        ("idp", "identity") if writes => {
            let people = [
                "code", "device", "family", "login", "subject", "throttle", "user", "users",
            ];
            people.contains(&kind)
        }
        ("idp", "identity") => reads,
        ("idp", _) => false,
        (_, "tasks") if ["host#usage#now", "streams#o"].contains(&key) => {
            ["GetItem", "UpdateItem"].contains(&action)
        }
        (_, "tasks") => {
            let own = ["task#1", "message#o#m"].map(|own| format!("{agent}#{own}"));
            own.iter().any(|own| own == key) && (reads || writes || action == "Query")
        }
        _ => false,
    }
}

/// What serves all tenants reaches no more of each than what it is for; above all, who signs people in changes no client, nor the
/// keys of a tenant's own sessions.
pub(crate) fn what_serves_every_tenant_reaches_its_own_kinds_of_items_alone() {
    let stack = platform();
    for (agent, id) in [
        ("idp", "IdpFunction"),
        ("weather", "WeatherAgentFunction"),
        ("airbnb", "AirbnbAgentFunction"),
        ("calendar", "CalendarAgentFunction"),
        ("report", "ReportAgentFunction"),
    ] {
        let policy = Policy::of(&stack, id);
        for table in [
            "tasks", "sessions", "registry", "identity", "orders", "tenants", "audit",
        ] {
            for key in KEYS {
                for action in [
                    "BatchGetItem",
                    "GetItem",
                    "Query",
                    "DeleteItem",
                    "PutItem",
                    "UpdateItem",
                    "Scan",
                ] {
                    let asked = Request::new(
                        format!("dynamodb:{action}"),
                        format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/switchyard-prod-{table}"),
                    )
                    .with(LEADING_KEYS, [format!("acme#{key}")]);
                    let meant = is_meant(agent, table, key, action);
                    assert_eq!(policy.allows(&asked), meant, "{id}: {action} {key} of {table}");
                }
            }
        }
    }
}

pub(crate) fn a_changed_api_is_deployed_anew() {
    for (name, stack) in [
        ("template.yaml", platform()),
        ("infra/tenant.yaml", tenant("acme")),
        ("infra/pool.yaml", pool()),
    ] {
        let mut text = String::new();
        let (methods, answers) = ("AWS::ApiGateway::Method", "AWS::ApiGateway::GatewayResponse");
        for kind in [
            "AWS::ApiGateway::Resource",
            methods,
            answers,
            "AWS::ApiGateway::Authorizer",
        ] {
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

pub(crate) fn agents_addresses_cannot_be_guessed() {
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

pub(crate) fn secrets_and_logs_are_each_functions_own() {
    for (stack, id) in functions_of_all() {
        let function = stack.template.functions()[id.as_str()];
        let group = function["LoggingConfig"]["LogGroup"]["Ref"].as_str().unwrap();
        assert_eq!(group, format!("{}Logs", id.trim_end_matches("Function")));
        assert!(
            stack.template.of_type("AWS::Logs::LogGroup")[group]["RetentionInDays"].is_object(),
            "{group} is kept forever"
        );
        if stacks::tenant_roles(&stack).contains_key(&id) {
            opens_what_it_is_told_of_alone(&stack, &id);
            continue;
        }
        // What the environment names is what the policy lets it read.
        let policy = Policy::of(&stack, &id);
        for (name, value) in stack.environment(&id) {
            // An empty one names no secret: the function does without.
            if name.ends_with("_SECRET") && !value.is_empty() {
                let read = Request::new("secretsmanager:GetSecretValue", value);
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

/// Of the secrets in a tenant's record, a function of the pool opens those that its environment names, and its own tenant's alone.
fn opens_what_it_is_told_of_alone(stack: &Stack, id: &str) {
    let policy = Policy::of_role(stack, &working_role(stack, id));
    let key = stack.text(&json!({ "Fn::GetAtt": ["TenantKeys", "Arn"] }));
    let secrets = |id: &str| {
        let environment = stack.environment(id).into_iter();
        let named = environment.filter(|(name, value)| name.ends_with("_SECRET") && !value.is_empty());
        named.map(|(_, value)| value).collect::<BTreeSet<_>>()
    };
    let own = secrets(id);
    let known: BTreeSet<String> = stack
        .template
        .functions()
        .keys()
        .flat_map(|id| secrets(id))
        .collect();
    for secret in &known {
        for (context, by, expect) in [
            ("acme", "acme", own.contains(secret)),
            ("globex", "acme", false),
            ("*", "acme", false),
        ] {
            let asked = Request::new("kms:Decrypt", key.as_str())
                .with("kms:EncryptionContext:tenant", [context])
                .with("kms:EncryptionContext:secret", [secret.as_str()])
                .by(&tags(by));
            assert_eq!(policy.allows(&asked), expect, "{id} and {secret} of {context}");
        }
        let nobodys = Request::new("kms:Decrypt", key.as_str())
            .with("kms:EncryptionContext:tenant", ["acme"])
            .with("kms:EncryptionContext:secret", [secret.as_str()]);
        assert!(!policy.allows(&nobodys), "{id} opens {secret} without a tag");
    }
}

/// CloudFront's function, run by the machine's own Node.
pub(crate) fn what_stands_in_front_gives_the_challenge_its_name_back() {
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
    for stack in stacks::all() {
        let host = stack.output("ApiHost");
        assert!(hosts.is_match(&host), "{host}");
    }
    assert!(!hosts.is_match("evil.example"));
}

pub(crate) fn nothing_is_reserved_unless_somebody_says_so() {
    let rows = [
        (platform(), "SweeperConcurrency", &["TaskSweeperFunction"][..]),
        (
            platform(),
            "ReservedConcurrency",
            &["RegistryFunction", "IdpFunction"],
        ),
        (
            tenant("acme"),
            "ReservedConcurrency",
            &["OauthCallbackFunction", "WebhookReceiverFunction"],
        ),
    ];
    for (id, function) in pool().template.functions() {
        assert!(function.get("ReservedConcurrentExecutions").is_none(), "{id}");
    }
    for (stack, parameter, meant) in rows {
        let given = stack.with(&[(parameter, "2")]);
        let reserved = |stack: &Stack, id: &str| {
            let told = &stack.template.functions()[id]["ReservedConcurrentExecutions"];
            (!stack.value(told).is_null()).then(|| stack.text(told))
        };
        for id in stack.template.functions().keys() {
            assert_eq!(reserved(&stack, id), None, "{id}");
            let wanted = meant.contains(id).then(|| "2".to_owned());
            assert_eq!(reserved(&given, id), wanted, "{id} by {parameter}");
        }
        // With none at all a function would be switched off.
        let pattern = &stack.template.document["Parameters"][parameter]["AllowedPattern"];
        let pattern = regex_lite::Regex::new(&format!("^{}$", pattern.as_str().unwrap())).unwrap();
        assert!(pattern.is_match("") && pattern.is_match("20") && !pattern.is_match("0"));
    }
}

/// Where CloudFront or another proxy stands before an API, it asks at AWS's own address.
pub(crate) fn an_api_with_a_domain_of_its_own_is_nowhere_else() {
    let certificate = "arn:aws:acm:eu-north-1:123456789012:certificate/0f1e";
    let domain = [("DomainName", "a.example.com"), ("CertificateArn", certificate)];
    let proxy = ("PublicUrl", "https://a.example.com");
    for stack in stacks::all() {
        let told = |given: &[(&str, &str)]| {
            let stack = stack.with(given);
            let api = &stack.template.of_type("AWS::ApiGateway::RestApi")["Api"];
            let stage = &stack.template.of_type("AWS::ApiGateway::Stage")["ApiStage"];
            let closed = stack.value(&api["DisableExecuteApiEndpoint"]);
            (closed, stack.text(&stage["Description"]))
        };
        let (open, told_open) = told(&[]);
        assert_eq!(open, false);
        assert_eq!(told(&[proxy]), (open.clone(), told_open.clone()));
        assert_eq!(told(&[domain[0], domain[1], proxy]), (open, told_open.clone()));
        let (closed, told_closed) = told(&domain);
        assert_eq!(closed, true);
        // The setting takes effect with a change of a stage.
        assert_ne!(told_closed, told_open);
    }
}

pub(crate) fn a_web_acl_stands_before_an_api_where_one_is_named() {
    for stack in stacks::all() {
        let acl = "arn:aws:wafv2:eu-north-1:123456789012:regional/webacl/own/0f1e";
        let stack = stack.with(&[("WebAclArn", acl)]);
        let told = &stack.template.resources()["WebAcl"];
        assert_eq!(told["Condition"], "HasWebAcl");
        let own = stack.value(&told["Properties"]);
        let stage = format!("arn:aws:apigateway:{REGION}::/restapis/abc123/stages/prod");
        assert_eq!(own, json!({"ResourceArn": stage, "WebACLArn": acl}));
    }
    let front = Template::read("infra/front.yaml");
    let host = ("ApiHost", "abc123.execute-api.eu-north-1.amazonaws.com");
    let acl = "arn:aws:wafv2:us-east-1:123456789012:global/webacl/own/0f1e";
    let front = Stack::new(front, "front", &[host, ("WebAclArn", acl)]);
    let told = &front.template.of_type("AWS::CloudFront::Distribution")["Distribution"];
    let told = &told["DistributionConfig"]["WebACLId"];
    assert_eq!(front.value(told), acl);
    assert_eq!(front.with(&[("WebAclArn", "")]).value(told), Value::Null);
}

pub(crate) fn every_api_takes_so_many_requests_a_second_and_no_more() {
    let given = [
        ("Agents", "[{}]"),
        ("Requesters", r#"["acme.example"]"#),
        ("IotHost", "abc123-ats.iot.eu-north-1.amazonaws.com"),
    ];
    let iot = Stack::new(Template::read("infra/mqtt-iot.yaml"), "switchyard-mqtt", &given);
    for (stack, kind, settings) in [
        (platform(), "AWS::ApiGateway::Stage", "/MethodSettings/0"),
        (tenant("acme"), "AWS::ApiGateway::Stage", "/MethodSettings/0"),
        (pool(), "AWS::ApiGateway::Stage", "/MethodSettings/0"),
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

pub(crate) fn production_has_an_address_of_its_own() {
    for stack in stacks::all() {
        let refusals = |given: &[(&str, &str)]| stack.with(given).refusals();
        let bare = refusals(&[]);
        assert!(
            matches!(bare.as_slice(), [one] if one.starts_with("The stage prod wants")),
            "{bare:?}"
        );
        let certificate = "arn:aws:acm:eu-north-1:123456789012:certificate/0f1e";
        let domain = [("DomainName", "a.example.com"), ("CertificateArn", certificate)];
        assert_eq!(refusals(&domain), [""; 0]);
        assert_eq!(refusals(&[("PublicUrl", "https://a.example.com")]), [""; 0]);
        assert_eq!(refusals(&[("Stage", "trial")]), [""; 0]);
        // Half a domain is none.
        assert!(!refusals(&domain[..1]).is_empty());
    }
}

pub(crate) fn a_line_of_an_api_holds_nothing_that_is_secret() {
    for stack in stacks::all() {
        let stages = stack.template.of_type("AWS::ApiGateway::Stage");
        let logged = &stages["ApiStage"]["AccessLogSetting"];
        let format = logged["Format"].as_str().unwrap();
        let line: std::collections::BTreeMap<String, String> = serde_json::from_str(format).unwrap();
        // AWS wants one of the two ids.
        assert_eq!(line["requestId"], "$context.requestId");
        let variables: std::collections::BTreeSet<&str> = line.values().map(String::as_str).collect();
        let harmless = [
            "requestId",
            "requestTimeEpoch",
            "httpMethod",
            "resourcePath",
            "status",
            "responseLatency",
            "integrationLatency",
            "responseLength",
            "error.responseType",
        ];
        let harmless = harmless.map(|name| format!("$context.{name}"));
        assert!(
            variables
                .iter()
                .all(|each| harmless.iter().any(|good| good == each)),
            "{variables:?}"
        );
        let group = stack.text(&stack.template.of_type("AWS::Logs::LogGroup")["ApiLogs"]["LogGroupName"]);
        let destination = stack.text(&logged["DestinationArn"]);
        assert!(
            destination.ends_with(&format!(":log-group:{group}")),
            "{destination}"
        );
    }
    let platform = platform();
    let stage = platform.template.resources()["ApiStage"];
    assert_eq!(
        stage["DependsOn"], "ApiAccount",
        "the role is there before anything is logged"
    );
}

pub(crate) fn only_who_is_named_or_has_a_second_factor_may_purge() {
    let stack = platform();
    let role = &stack.template.of_type("AWS::IAM::Role")["PurgeRole"];
    let condition =
        |stack: &Stack| stack.value(&role["AssumeRolePolicyDocument"]["Statement"][0]["Condition"]);
    assert_eq!(
        condition(&stack),
        json!({"Bool": {"aws:MultiFactorAuthPresent": "true"}})
    );
    let named = "arn:aws:iam::123456789012:role/operators";
    assert_eq!(
        condition(&stack.with(&[("PurgeOperator", named)])),
        json!({"ArnEquals": {"aws:PrincipalArn": named}})
    );
}
