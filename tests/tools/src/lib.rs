//! What the programs that measure count with.

pub mod arrivals;
pub mod echo;
pub mod evals;
pub mod figures;
pub mod load;
