//! The binary `switchyard`.

use std::process::ExitCode;

fn main() -> ExitCode {
    local::cli::run()
}
