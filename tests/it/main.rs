//! The whole system, from outside.

mod architecture;
