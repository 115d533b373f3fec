//! What the programs that measure count with.

pub mod arrivals;
pub mod figures;
