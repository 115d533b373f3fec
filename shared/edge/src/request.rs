//! From an API Gateway event to an HTTP request.
pub(crate) const PLACEHOLDER: () = ();
