//! Alarms and the dashboard show something: each names metrics that exist, of things that the stacks make, and each search
//! finds them. Metrics of AWS's own services stand here as AWS documents them; ours are read from the functions' sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use template_testing::stacks::{self, platform, tenant};
use template_testing::{Stack, root};

/// AWS's own: namespace, dimensions, names.
const AWS: [(&str, &[&str], &[&str]); 6] = [
    ("AWS/ApiGateway", &["ApiName"], &["4XXError", "5XXError"]),
    ("AWS/Lambda", &[], &["ConcurrentExecutions", "Throttles"]),
    (
        "AWS/Lambda",
        &["FunctionName"],
        &["Errors", "Invocations", "Throttles", "Duration"],
    ),
    (
        "AWS/SQS",
        &["QueueName"],
        &["ApproximateNumberOfMessagesVisible", "NumberOfMessagesSent"],
    ),
    (
        "AWS/DynamoDB",
        &["TableName"],
        &["ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"],
    ),
    (
        "AWS/DynamoDB",
        &["Operation", "TableName"],
        &["ThrottledRequests"],
    ),
];

/// One metric: what a search looks through.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Metric {
    namespace: String,
    name: String,
    dimensions: BTreeMap<String, String>,
}

/// The values that a dimension of AWS's has for a stack.
fn values(stack: &Stack, dimension: &str) -> Vec<String> {
    let named = |kind: &str, property: &str| -> Vec<String> {
        let all = stack.template.of_type(kind);
        all.values().map(|told| stack.text(&told[property])).collect()
    };
    match dimension {
        "FunctionName" => {
            let ids = stack.template.functions().into_keys();
            ids.map(|id| stack.text(&serde_json::json!({ "Ref": id })))
                .collect()
        }
        "ApiName" => named("AWS::ApiGateway::RestApi", "Name"),
        "QueueName" => named("AWS::SQS::Queue", "QueueName"),
        "TableName" => named("AWS::DynamoDB::Table", "TableName"),
        "Operation" => vec!["PutItem".to_owned(), "Query".to_owned()],
        other => panic!("what are the values of {other}?"),
    }
}

/// Every metric of AWS's about what a stack makes.
fn of_aws(stack: &Stack) -> BTreeSet<Metric> {
    let mut all = BTreeSet::new();
    for (namespace, dimensions, names) in AWS {
        let mut sets = vec![BTreeMap::new()];
        for dimension in dimensions {
            sets = sets
                .into_iter()
                .flat_map(|set: BTreeMap<String, String>| {
                    values(stack, dimension).into_iter().map(move |value| {
                        let mut more = set.clone();
                        more.insert((*dimension).to_owned(), value);
                        more
                    })
                })
                .collect();
        }
        for (set, name) in sets
            .iter()
            .flat_map(|set| names.iter().map(move |name| (set, name)))
        {
            all.insert(Metric {
                namespace: namespace.to_owned(),
                name: (*name).to_owned(),
                dimensions: set.clone(),
            });
        }
    }
    all
}

/// What a query of Metrics Insights looks through. Its answer is short, however many there are: one line, or the first few.
fn query(expression: &str, metrics: &BTreeSet<Metric>) -> Option<BTreeSet<Metric>> {
    let pattern = r#"^SELECT [A-Z]+\((\w+)\) FROM SCHEMA\("([^"]+)", ([\w, ]+)\)(?: GROUP BY (\w+) ORDER BY [A-Z]+\(\) DESC LIMIT ([0-9]+))?$"#;
    let told = regex_lite::Regex::new(pattern).unwrap().captures(expression)?;
    let dimensions: BTreeSet<&str> = told[3].split(", ").collect();
    if let (Some(by), Some(limit)) = (told.get(4), told.get(5)) {
        assert!(dimensions.contains(by.as_str()), "{expression}");
        assert!(limit.as_str().parse::<u32>().unwrap() <= 100, "{expression}");
    }
    let fits = |metric: &&Metric| {
        let own: BTreeSet<&str> = metric.dimensions.keys().map(String::as_str).collect();
        metric.namespace == told[2] && metric.name == told[1] && own == dimensions
    };
    Some(metrics.iter().filter(fits).cloned().collect())
}

/// What a search expression finds: `{namespace,dimensions}` to the letter, `Name="exact"`, `Name=part` and bare parts.
fn search(expression: &str, metrics: &BTreeSet<Metric>) -> BTreeSet<Metric> {
    let inside = expression.strip_prefix("SEARCH('").and_then(|rest| {
        let (inside, rest) = rest.split_once("', '")?;
        let (_statistic, period) = rest.split_once("', ")?;
        assert!(
            period.trim_end_matches(')').parse::<u32>().is_ok(),
            "{expression}"
        );
        inside.strip_prefix('{')?.split_once("} ")
    });
    let (schema, terms) = inside.unwrap_or_else(|| panic!("no search: {expression}"));
    let mut schema = schema.split(',');
    let namespace = schema.next().unwrap_or_default();
    let dimensions: BTreeSet<&str> = schema.collect();
    let fits = |metric: &&Metric| {
        let own: BTreeSet<&str> = metric.dimensions.keys().map(String::as_str).collect();
        metric.namespace == namespace
            && own == dimensions
            && terms.split_whitespace().all(|term| match term.split_once('=') {
                Some((name, wanted)) => {
                    let value = match name {
                        "MetricName" => Some(&metric.name),
                        dimension => metric.dimensions.get(dimension),
                    };
                    let exact = wanted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
                    value.is_some_and(|value| match exact {
                        Some(exact) => value == exact,
                        None => value.contains(wanted),
                    })
                }
                None => {
                    metric.name.contains(term) || metric.dimensions.values().any(|value| value.contains(term))
                }
            })
    };
    metrics.iter().filter(fits).cloned().collect()
}

/// The sources of the functions, and of what they are made of.
fn sources() -> String {
    fn read(folder: &Path, all: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("ui") {
                read(&path, all);
            } else if path.extension().is_some_and(|end| end == "rs") {
                all.push_str(&std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut all = String::new();
    for folder in ["functions", "shared"] {
        read(&root().join(folder), &mut all);
    }
    all
}

/// Our own metrics that a stack names: those of log lines in the embedded format, which the sources name, with the dimension
/// that every one of them has; and those that a filter makes of a field of a line.
fn is_ours(stack: &Stack, metric: &Metric, sources: &str) -> bool {
    let environments = stack.template.functions().into_keys();
    let written = environments.map(|id| stack.environment(id)["METRICS_NAMESPACE"].clone());
    let filters = stack.template.of_type("AWS::Logs::MetricFilter");
    let filtered = filters.values().any(|filter| {
        let made = &filter["MetricTransformations"][0];
        let field = made["MetricValue"].as_str().unwrap().trim_start_matches("$.");
        stack.text(&made["MetricNamespace"]) == metric.namespace
            && made["MetricName"] == metric.name.as_str()
            && metric.dimensions.is_empty()
            && sources.contains(field)
    });
    let agents: Vec<&str> = metric.dimensions.keys().map(String::as_str).collect();
    let embedded = written.collect::<BTreeSet<_>>().contains(&metric.namespace)
        && agents == ["agent"]
        && sources.contains(&format!("\"{}\"", metric.name));
    filtered || embedded
}

fn metric(stack: &Stack, told: &Value) -> Metric {
    let dimensions = told["Dimensions"].as_array().into_iter().flatten();
    let text = |value: &Value| stack.text(value);
    Metric {
        namespace: text(&told["Namespace"]),
        name: text(&told["MetricName"]),
        dimensions: dimensions
            .map(|dimension| (text(&dimension["Name"]), text(&dimension["Value"])))
            .collect(),
    }
}

pub(crate) fn every_alarm_watches_a_metric_that_something_emits() {
    let sources = sources();
    for stack in stacks::all() {
        let aws = of_aws(&stack);
        let alarms = stack.template.of_type("AWS::CloudWatch::Alarm");
        assert!(alarms.len() >= 3);
        let runbooks = std::fs::read_to_string(root().join("docs/runbooks.md")).unwrap();
        for (id, alarm) in alarms {
            // Whoever is woken by it finds what to do.
            let told = alarm["AlarmDescription"].as_str().unwrap();
            let section = told
                .rsplit_once(" See docs/runbooks.md, ")
                .map(|(_, name)| name.trim_end_matches('.'));
            let section = section.unwrap_or_else(|| panic!("{id} leads to no runbook: {told}"));
            let lines = runbooks
                .split_once(&format!("## {section}\n"))
                .map(|(_, after)| after.split("\n## ").next().unwrap());
            let lines = lines.unwrap_or_else(|| panic!("there is no runbook {section}"));
            assert!(lines.matches("\n- ").count() >= 9, "{section} has ten lines");
            let single = alarm.get("MetricName").is_some();
            let many = alarm["Metrics"].as_array().into_iter().flatten();
            let stats = many.filter_map(|each| each.pointer("/MetricStat/Metric"));
            let watched: Vec<Metric> = single
                .then_some(alarm)
                .into_iter()
                .chain(stats)
                .map(|told| metric(&stack, told))
                .collect();
            assert!(!watched.is_empty(), "{id}");
            for one in &watched {
                let known = aws.contains(one) || is_ours(&stack, one, &sources);
                assert!(known, "{id}: nobody emits {one:?}");
            }
            // The alarm on failures forgets no function.
            if id == "ErrorsAlarm" {
                let functions: BTreeSet<String> = values(&stack, "FunctionName").into_iter().collect();
                let watched = watched
                    .into_iter()
                    .map(|one| one.dimensions["FunctionName"].clone());
                assert_eq!(watched.collect::<BTreeSet<_>>(), functions);
            }
        }
    }
}

pub(crate) fn every_graph_of_the_dashboard_shows_what_it_is_called() {
    let (platform, tenant) = (platform(), tenant("acme"));
    let sources = sources();
    let mut metrics = of_aws(&platform);
    metrics.extend(of_aws(&tenant));
    let dashboards = platform.template.of_type("AWS::CloudWatch::Dashboard");
    let [body] = dashboards
        .values()
        .map(|told| platform.text(&told["DashboardBody"]))
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    let body: Value = serde_json::from_str(&body).unwrap();
    let mut shown = BTreeMap::new();
    let of_platform = of_aws(&platform);
    for widget in body["widgets"].as_array().unwrap() {
        let title = widget["properties"]["title"].as_str().unwrap();
        if widget["type"] == "log" {
            // By a field of the span that each line has, in groups that there are.
            let query = widget["properties"]["query"].as_str().unwrap();
            let groups = platform.template.of_type("AWS::Logs::LogGroup");
            let groups: Vec<String> = groups
                .values()
                .map(|group| format!("SOURCE '{}'", platform.text(&group["LogGroupName"])))
                .collect();
            let (from, rest) = query.split_once(" | filter ").unwrap();
            assert!(
                from.split(" | ")
                    .all(|one| groups.iter().any(|group| group == one)),
                "{query}"
            );
            let mut fields = rest.split('`').skip(1).step_by(2);
            let known = |field: &str| {
                let field = field.strip_prefix("span.");
                field.is_some_and(|field| sources.contains(&format!("{field} = tracing::field::Empty")))
            };
            assert!(fields.all(known) && query.ends_with("| limit 20"), "{query}");
            continue;
        }
        for row in widget["properties"]["metrics"].as_array().unwrap() {
            let found = match row[0]["expression"].as_str() {
                Some(expression) => query(expression, &metrics).unwrap_or_else(|| {
                    // CloudWatch shows 500 series of a search at most: none that grows with tenants.
                    let found = search(expression, &metrics);
                    assert!(
                        found.is_subset(&of_platform),
                        "{title} ends at some number of tenants: {row}"
                    );
                    found
                }),
                None => {
                    let one = Metric {
                        namespace: row[0].as_str().unwrap().to_owned(),
                        name: row[1].as_str().unwrap().to_owned(),
                        dimensions: BTreeMap::new(),
                    };
                    assert!(
                        is_ours(&platform, &one, &sources),
                        "{title}: nobody emits {one:?}"
                    );
                    BTreeSet::from([one])
                }
            };
            assert!(!found.is_empty(), "{title} finds nothing: {row}");
            shown
                .entry(title.to_owned())
                .or_insert_with(BTreeSet::new)
                .extend(found);
        }
    }
    let count = |title: &str| shown[title].len();
    assert_eq!(
        count("Failed invocations, the twenty functions with most"),
        platform.template.functions().len() + tenant.template.functions().len()
    );
    let queues = |stack: &Stack| stack.template.of_type("AWS::SQS::Queue").len();
    assert_eq!(
        count("Wakes waiting, the twenty longest queues"),
        queues(&platform) + queues(&tenant)
    );
    let tables = platform.template.of_type("AWS::DynamoDB::Table").len();
    assert_eq!(count("Capacity units"), 2 * tables);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_finds_what_cloudwatch_would() {
        let metrics = BTreeSet::from([Metric {
            namespace: "AWS/Lambda".to_owned(),
            name: "Errors".to_owned(),
            dimensions: BTreeMap::from([(
                "FunctionName".to_owned(),
                "switchyard-RegistryFunction-1".to_owned(),
            )]),
        }]);
        let finds = |terms: &str| {
            let expression = format!("SEARCH('{{AWS/Lambda,FunctionName}} {terms}', 'Sum', 300)");
            search(&expression, &metrics).len()
        };
        assert_eq!(finds(r#"MetricName="Errors" FunctionName=switchyard"#), 1);
        // Quotes are for what is so to the letter.
        assert_eq!(finds(r#"MetricName="Errors" FunctionName="switchyard""#), 0);
        assert_eq!(finds(r#"MetricName="Error""#), 0);
        let other = search("SEARCH('{AWS/Lambda} Errors', 'Sum', 300)", &metrics);
        assert_eq!(other.len(), 0, "without the dimension");
    }
}
