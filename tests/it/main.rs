//! The whole system, from outside.

mod ai_sdk;
mod architecture;
mod attack;
mod attack_coverage;
mod bootstraps;
mod consent;
mod consents_at_once;
mod foreign;
mod interop;
mod isolation;
mod leaks;
mod lifecycle;
mod load;
mod oauth_clients;
mod rfc9700;
mod rubbish;
mod template;
mod tenants;
mod token_cost;
mod walk;
mod webhook_signature;
