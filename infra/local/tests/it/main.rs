//! The local system: started in-process, and through its command line.

mod binary;
mod commands;
mod http;
mod system;
mod up;
