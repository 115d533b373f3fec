//! Carries A2A between MQTT and agents: as a process that stays, or as a Lambda function.

use edge::config::Env;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    // In a box: its future is a large one.
    Box::pin(lambda::run_anywhere(
        Env::process(),
        mqtt_bridge::Config::read,
        mqtt_bridge::build,
    ))
    .await
}
