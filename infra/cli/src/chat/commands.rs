//! What is typed at the prompt of a chat: lines with editing and history, and the commands among them.

use std::io::BufRead as _;
use std::path::PathBuf;

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use crate::Failure;

/// What `/help` says.
pub(super) const HELP: &str = "\
  /tasks          the tasks of this terminal
  /open           this chat in the browser
  /new            begin a new chat
  /cancel [what]  stop what runs, all of it or what is named
  /retry [what]   try again what went wrong
  /status [what]  how things are going
  /agent NAME …   say something to this agent
  /fill NAME=VALUE; …   fill in what is asked for as data
  /quit           leave; also Ctrl-D
Ctrl-C ends the wait for an answer; the task goes on.";

/// Those that the host agent reads itself.
const OF_THE_HOST: [&str; 4] = ["/cancel", "/retry", "/status", "/agent"];

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said<'l> {
    Nothing,
    Quit,
    Help,
    New,
    Tasks,
    Open,
    Fill(&'l str),
    Unknown(&'l str),
    Prompt(&'l str),
}

/// What a line says.
pub(super) fn read(line: &str) -> Said<'_> {
    let line = line.trim();
    let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match command {
        "" => Said::Nothing,
        "exit" | "quit" if rest.is_empty() => Said::Quit,
        "/quit" | "/exit" => Said::Quit,
        "/help" | "/?" => Said::Help,
        "/new" => Said::New,
        "/tasks" => Said::Tasks,
        "/open" => Said::Open,
        "/fill" => Said::Fill(rest),
        // A path is no command.
        _ if command.starts_with('/')
            && !OF_THE_HOST.contains(&command)
            && !command.get(1..).unwrap_or_default().contains('/') =>
        {
            Said::Unknown(command)
        }
        _ => Said::Prompt(line),
    }
}

/// Where lines come from.
pub(super) enum Lines {
    /// A person at a terminal.
    Typed {
        editor: Box<Editor<(), FileHistory>>,
        prompt: String,
        history: PathBuf,
    },
    /// A file, or a pipe.
    Piped,
}

impl Lines {
    pub(super) fn new(terminal: bool, prompt: String, history: PathBuf) -> Self {
        let config = Config::builder()
            .auto_add_history(true)
            .history_ignore_space(true)
            .build();
        match Editor::with_config(config) {
            Ok(mut editor) if terminal => {
                // Without one nothing was said yet.
                let _ = editor.load_history(&history);
                Self::Typed {
                    editor: Box::new(editor),
                    prompt,
                    history,
                }
            }
            _ => Self::Piped,
        }
    }

    /// The next line; none at the end, and after Ctrl-C at an empty prompt.
    pub(super) async fn next(self) -> Result<(Self, Option<String>), Failure> {
        let read = tokio::task::spawn_blocking(move || self.read());
        let (lines, line) = read.await.map_err(Failure::other)?;
        Ok((lines, line.map_err(Failure::other)?))
    }

    fn read(
        mut self,
    ) -> (
        Self,
        Result<Option<String>, Box<dyn std::error::Error + Send + Sync>>,
    ) {
        let line = match &mut self {
            Self::Typed {
                editor,
                prompt,
                history,
            } => match editor.readline(prompt) {
                Ok(line) => {
                    // A history that cannot be kept is none.
                    let _ = editor.save_history(history);
                    Ok(Some(line))
                }
                Err(ReadlineError::Eof | ReadlineError::Interrupted) => Ok(None),
                Err(fault) => Err(fault.into()),
            },
            Self::Piped => {
                let mut line = String::new();
                let read = std::io::stdin().lock().read_line(&mut line);
                read.map(|bytes| (bytes > 0).then_some(line)).map_err(Into::into)
            }
        };
        (self, line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_what_is_said() {
        for (line, expect) in [
            ("  ", Said::Nothing),
            ("quit", Said::Quit),
            ("quit smoking", Said::Prompt("quit smoking")),
            ("/new", Said::New),
            ("/fill adults=2; nights=3", Said::Fill("adults=2; nights=3")),
            ("/cancel the report", Said::Prompt("/cancel the report")),
            ("/what", Said::Unknown("/what")),
            ("/etc/passwd is a file", Said::Prompt("/etc/passwd is a file")),
        ] {
            assert_eq!(read(line), expect, "{line}");
        }
    }
}
