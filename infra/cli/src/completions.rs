//! `switchyard completions SHELL`.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::{Cli, Failure};

#[derive(Args)]
#[command(
    after_help = "bash:  switchyard completions bash > ~/.local/share/bash-completion/completions/switchyard\n\
                  zsh:   switchyard completions zsh > \"${fpath[1]}/_switchyard\"\n\
                  fish:  switchyard completions fish > ~/.config/fish/completions/switchyard.fish"
)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "switchyard", &mut script);
        out!("{}", String::from_utf8(script).map_err(Failure::other)?);
        Ok(())
    }
}
