//! What commands print. Who reads it may stop at any line (`| head`): then the command ends, quietly and as other programs do.

use std::ffi::OsStr;
use std::fmt::Arguments;
use std::io::{ErrorKind, IsTerminal as _, Write as _};

/// The exit code of a program whose reader has gone: that of one ended by `SIGPIPE`.
const NOBODY_READS: i32 = 141;

/// Prints on the standard output.
macro_rules! out {
    ($($text:tt)*) => { $crate::out::print(format_args!($($text)*)) };
}

/// Prints a line on the standard output.
macro_rules! outln {
    () => { outln!("") };
    ($($text:tt)*) => { $crate::out::print_line(format_args!($($text)*)) };
}

/// Prints on the standard output, or ends the process where that is closed.
pub(crate) fn print(text: Arguments<'_>) {
    written(std::io::stdout().lock().write_fmt(text));
}

/// The same, with the end of the line.
pub(crate) fn print_line(text: Arguments<'_>) {
    written(std::io::stdout().lock().write_fmt(format_args!("{text}\n")));
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
