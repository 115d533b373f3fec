//! Sandbox upstreams: they speak the wire formats of the services our agents ask, with made-up data that says so
//! (`"sandbox": true`). An agent talks to them with the same client as to the real ones.

pub mod google;
pub mod mcp;
pub mod mosquitto;
pub mod open_meteo;
