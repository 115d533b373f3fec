//! What the programs share: counts and figures, load, a queue of wakes.

pub mod arrivals;
pub mod echo;
pub mod evals;
pub mod figures;
pub mod load;
pub mod wakes;
