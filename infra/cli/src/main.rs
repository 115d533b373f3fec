//! The binary `switchyard`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
