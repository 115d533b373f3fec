//! The smallest agent on turul-a2a over DynamoDB: every message becomes a task that completes at once. Its argument is the
//! database's address; it makes its tables and prints one line of JSON, `{"url": …}`, once it listens.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{Credentials, Region};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use turul_a2a::prelude::*;
use turul_a2a::storage::dynamodb::{DynamoDbA2aStorage, DynamoDbConfig};

struct AtOnce(String);

#[async_trait::async_trait]
impl AgentExecutor for AtOnce {
    async fn execute(&self, task: &mut Task, _: &Message, _: &ExecutionContext) -> Result<(), A2aError> {
        task.complete();
        Ok(())
    }

    fn agent_card(&self) -> turul_a2a_proto::AgentCard {
        AgentCardBuilder::new("turul", "1.0.0")
            .description("Completes at once")
            .url(self.0.clone(), "JSONRPC", "1.0")
            .default_input_modes(vec!["text/plain"])
            .default_output_modes(vec!["text/plain"])
            .streaming(true)
            .build()
            .expect("a card")
    }
}

/// A table whose keys are texts.
async fn table(client: &Client, name: &str, keys: &[&str]) {
    let kinds = [KeyType::Hash, KeyType::Range];
    let mut request = client
        .create_table()
        .table_name(name)
        .billing_mode(BillingMode::PayPerRequest);
    for (key, kind) in keys.iter().zip(kinds) {
        let attribute = AttributeDefinition::builder()
            .attribute_name(*key)
            .attribute_type(ScalarAttributeType::S);
        let element = KeySchemaElement::builder().attribute_name(*key).key_type(kind);
        request = request
            .attribute_definitions(attribute.build().expect("whole"))
            .key_schema(element.build().expect("whole"));
    }
    request.send().await.expect("a new table");
}

#[tokio::main]
async fn main() {
    let database = std::env::args().nth(1).expect("the database's address");
    let config = aws_sdk_dynamodb::Config::builder()
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::new("local", "local", None, None, "local"))
        .endpoint_url(database)
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    let client = Client::from_conf(config);
    let tables = DynamoDbConfig::default();
    for name in [&tables.tasks_table, &tables.push_configs_table] {
        table(&client, name, &["pk"]).await;
    }
    for name in [
        &tables.events_table,
        &tables.push_deliveries_table,
        &tables.push_pending_dispatches_table,
    ] {
        table(&client, name, &["pk", "sk"]).await;
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/jsonrpc", listener.local_addr().expect("an address"));
    let server = A2aServer::builder()
        .executor(AtOnce(url.clone()))
        .storage(DynamoDbA2aStorage::from_client(client, tables))
        .build()
        .expect("a server");
    println!("{{\"url\": \"{url}\"}}");
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        let _only_slower_without = stream.set_nodelay(true);
    });
    axum::serve(listener, server.into_router()).await.expect("the server runs");
}
