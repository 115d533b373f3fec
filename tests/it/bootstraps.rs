//! The functions as the programs that are deployed: each `bootstrap` in sandboxes of a Lambda of our own, with the
//! environment of its template, under the policy of its role.

mod collector;
mod deploy_page;
mod deployed;
mod events;
mod iot;
mod lambda;
mod lifetime;
mod pooled;
mod streams;
mod tenancy;
