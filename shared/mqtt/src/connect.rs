//! A connection's options, as the client crate has them.

use std::time::Duration;

use domain::ExposeSecret as _;
use rumqttc::{AckMode, AsyncClient, EventLoop, MqttOptions, Transport};

use crate::blank::Blank;
use crate::options::{Options, SessionEnd};
use crate::wire;

/// A load balancer forgets a silent connection after some minutes.
const KEEP_ALIVE: u16 = 30;
const CONNECT: Duration = Duration::from_secs(10);

/// The client and its loop. Without its will where the broker takes none.
pub(crate) fn build(options: &Options, with_will: bool) -> Result<(AsyncClient, EventLoop), SessionEnd> {
    let broker = &options.broker;
    let mut mqtt = MqttOptions::new(options.client_id.clone(), (broker.host(), broker.port()));
    if broker.tls() {
        let transport = Transport::try_tls_with_default_config();
        mqtt.set_transport(transport.map_err(|error| SessionEnd::Misconfigured(error.to_string()))?);
    }
    if let Some((user, password)) = &options.credentials {
        mqtt.set_credentials(user.clone(), password.expose_secret().as_bytes().to_vec());
    }
    let kept = options
        .kept_for
        .map(|kept| u32::try_from(kept.as_secs()).unwrap_or(u32::MAX));
    if kept.is_some() {
        mqtt.set_session_store(Blank {
            session_expiry_interval: kept,
        });
    }
    mqtt.set_clean_start(kept.is_none())
        .set_session_expiry_interval(kept)
        .set_receive_maximum(Some(options.receive_maximum))
        .set_max_packet_size(Some(options.max_packet))
        .set_ack_mode(AckMode::Manual)
        .set_keep_alive(KEEP_ALIVE)
        .set_connect_timeout(CONNECT);
    // Acknowledgements are small and many: held back for each other they would hold back what waits for them.
    let mut network = mqtt.network_options();
    network.set_tcp_nodelay(true);
    mqtt.set_network_options(network);
    if let Some(will) = options.will.as_ref().filter(|_| with_will) {
        mqtt.set_last_will(wire::will(will));
    }
    let built = AsyncClient::builder(mqtt).unbounded().try_build();
    built.map_err(|error| SessionEnd::Misconfigured(error.to_string()))
}
