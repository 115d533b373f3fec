//! A function that is an authorizer and an echo, for tests of the account around it. As an authorizer it knows some names of tenants, each
//! of which comes to another end; every other event it answers with that event, whose Lambda said it is, and which process it is.

use std::time::Duration;

use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    #[expect(clippy::disallowed_methods, reason = "what Lambda tells a process")]
    let [place, answers] =
        ["AWS_LAMBDA_RUNTIME_API", "ANSWERS"].map(|name| std::env::var(name).unwrap_or_default());
    let base = format!("http://{place}/2018-06-01/runtime/invocation");
    let http = system_testing::user::http();
    loop {
        // Between two events a sandbox waits for as long as it is kept.
        let Ok(asked) = http.get(format!("{base}/next")).send().await else {
            continue;
        };
        let header = |name| asked.headers().get(name)?.to_str().ok().map(str::to_owned);
        let (Some(id), tenant) = (
            header("lambda-runtime-aws-request-id"),
            header("lambda-runtime-aws-tenant-id"),
        ) else {
            return;
        };
        let event: Value = asked.json().await.expect("an event");
        let mut end = "response";
        let mut streams = false;
        let body = if event["type"] == "REQUEST" {
            match authorized(&event).await {
                Ok(answer) => answer.to_string(),
                Err(told) => {
                    end = "error";
                    json!({ "errorType": "Error", "errorMessage": told }).to_string()
                }
            }
        } else if event["Records"].is_array() {
            json!({ "batchItemFailures": [] }).to_string()
        } else {
            let told = json!({ "event": event, "tenant": tenant, "process": std::process::id() }).to_string();
            streams = answers == "streaming";
            match streams {
                true => format!(
                    "{}{}{told}",
                    json!({ "statusCode": 200, "headers": {} }),
                    "\0".repeat(8)
                ),
                false => json!({ "statusCode": 200, "headers": {}, "body": told, "isBase64Encoded": false })
                    .to_string(),
            }
        };
        let mut answer = http.post(format!("{base}/{id}/{end}")).body(body);
        if streams {
            answer = answer.header("lambda-runtime-function-response-mode", "streaming");
        }
        answer.send().await.expect("the runtime takes it");
    }
}

/// What the authorizer says of a request, by the name of its tenant.
async fn authorized(event: &Value) -> Result<Value, &'static str> {
    let name = event["pathParameters"]["tenant"].as_str().unwrap_or_default();
    let arn = event["methodArn"].as_str().unwrap_or_default();
    let answer = |effect: &str, resource: &str, context: Value| {
        let statement = json!({ "Action": "execute-api:Invoke", "Effect": effect, "Resource": resource });
        json!({
            "principalId": name, "context": context,
            "policyDocument": { "Version": "2012-10-17", "Statement": [statement] },
        })
    };
    let prefix = json!({ "prefix": format!("{name}.1") });
    Ok(match name {
        "acme" | "globex" => answer("Allow", arn, prefix),
        "elsewhere" => answer("Allow", &arn.replace("elsewhere", "acme"), prefix),
        "nameless" => answer("Allow", arn, json!({})),
        "odd" => json!({ "isAuthorized": true }),
        "slow" => {
            tokio::time::sleep(Duration::from_secs(60)).await;
            return Err("too late");
        }
        "broken" => return Err("it is broken"),
        "unknown" => return Err("Unauthorized"),
        _ => answer("Deny", arn, json!({})),
    })
}
