//! Leads a user to a provider's consent and takes its answer.
