//! Publications that are dropped: told in the log, and counted.

use a2a::mqtt::AgentAddress;
use agent::measure::METRICS;

/// Something was dropped: told, and counted.
pub(crate) fn dropped(agent: &AgentAddress, reason: &str) {
    // No agent of the platform's measures it: the name is the bridge's own.
    tracing::info!(target: METRICS, metric = "MqttDropped", value = 1, unit = "Count", agent = %agent);
    tracing::info!(mqtt.agent = %agent, reason, "publication dropped");
}
