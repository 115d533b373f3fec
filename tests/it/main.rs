//! The whole system, from outside.

mod ai_sdk;
mod architecture;
mod consent;
mod foreign;
mod isolation;
mod lifecycle;
mod load;
mod rubbish;
mod walk;
