//! What the programs share: counts and figures and load.

pub mod arrivals;
pub mod echo;
pub mod evals;
pub mod figures;
pub mod load;
