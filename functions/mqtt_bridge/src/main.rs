//! The Lambda function that carries A2A between MQTT and agents.

use edge::config::Env;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    lambda::run(Env::process(), mqtt_bridge::Config::read, mqtt_bridge::build).await
}
