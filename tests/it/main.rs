//! The whole system, from outside.

mod ai_sdk;
mod architecture;
mod attack;
mod attack_coverage;
mod bootstraps;
mod calendar;
mod consent;
mod consents_at_once;
mod foreign;
mod interop;
mod isolation;
mod leaks;
mod lifecycle;
mod load;
mod measured;
mod oauth_clients;
mod rfc9700;
mod rubbish;
mod scripted;
mod template;
mod tenants;
mod token_cost;
mod trace;
mod walk;
mod webhook_signature;
