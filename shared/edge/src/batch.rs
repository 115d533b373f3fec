//! SQS batches with partial failures.
pub(crate) const PLACEHOLDER: () = ();
