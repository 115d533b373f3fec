//! What commands print: lines of text, or with `--json` an object of JSON a line, by one way for all of them: what is data as that
//! ([`event`], `told!`), any other line as `{"line": …}`. Who reads it may stop at any line (`| head`): then the command ends, quietly and as other programs do.

use std::ffi::OsStr;
use std::fmt::Arguments;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

/// The exit code of a program whose reader has gone: that of one ended by `SIGPIPE`.
const NOBODY_READS: i32 = 141;

/// Whether `--json` was given.
static JSON: AtomicBool = AtomicBool::new(false);

/// Prints on the standard output.
macro_rules! out {
    ($($text:tt)*) => { $crate::out::print(format_args!($($text)*)) };
}

/// Prints a line on the standard output.
macro_rules! outln {
    () => { outln!("") };
    ($($text:tt)*) => { $crate::out::print_line(format_args!($($text)*)) };
}

/// Prints a line on the standard output, or with `--json` what it tells, as data.
macro_rules! told {
    ($told:expr, $($text:tt)*) => {
        match $crate::out::is_json() {
            true => $crate::out::event(&$told),
            false => outln!($($text)*),
        }
    };
}

/// Has everything be printed as JSON from now on.
pub(crate) fn set_json(is_json: bool) {
    JSON.store(is_json, Ordering::Relaxed);
}

/// Whether everything is to be printed as JSON.
pub(crate) fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// Prints an object of JSON on a line of its own, whatever is asked for.
pub(crate) fn event(event: &Value) {
    written(std::io::stdout().lock().write_fmt(format_args!("{event}\n")));
    flush();
}

/// Prints on the standard output, or ends the process where that is closed.
pub(crate) fn print(text: Arguments<'_>) {
    written(std::io::stdout().lock().write_fmt(text));
}

/// The same, with the end of the line.
pub(crate) fn print_line(text: Arguments<'_>) {
    if !is_json() {
        return written(std::io::stdout().lock().write_fmt(format_args!("{text}\n")));
    }
    let text = text.to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.for_each(|line| event(&json!({ "line": line })));
}

/// Lets out what ends no line yet.
pub(crate) fn flush() {
    written(std::io::stdout().lock().flush());
}

/// Says something on the standard error, where anybody hears it.
pub(crate) fn complain(text: Arguments<'_>) {
    let _nobody_hears = std::io::stderr().lock().write_fmt(format_args!("{text}\n"));
}

/// Whether what goes to the standard output may have colours: it is a terminal that has some, whose user wants them
/// (<https://no-color.org>).
pub(crate) fn has_colours() -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "what every program of a terminal reads; no settings of ours"
    )]
    let set = |name: &str| std::env::var_os(name);
    std::io::stdout().is_terminal() && wants_colours(set("NO_COLOR").as_deref(), set("TERM").as_deref())
}

fn wants_colours(no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    no_color.is_none_or(OsStr::is_empty) && term.is_none_or(|term| term != "dumb")
}

fn written(written: std::io::Result<()>) {
    match written {
        Ok(()) => {}
        // What the command did so far is done; nothing that it leaves half done is in this process alone.
        Err(fault) if fault.kind() == ErrorKind::BrokenPipe => std::process::exit(NOBODY_READS),
        Err(fault) => {
            complain(format_args!(
                "switchyard: the standard output cannot be written: {fault}"
            ));
            std::process::exit(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_has_colours_unless_its_user_says_no() {
        for (no_color, term, expect) in [
            (None, Some("xterm-256color"), true),
            (None, None, true),
            (Some(""), Some("xterm"), true),
            (Some("1"), Some("xterm"), false),
            (Some("0"), Some("xterm"), false),
            (None, Some("dumb"), false),
        ] {
            let wants = wants_colours(no_color.map(OsStr::new), term.map(OsStr::new));
            assert_eq!(wants, expect, "{no_color:?} {term:?}");
        }
    }
}
