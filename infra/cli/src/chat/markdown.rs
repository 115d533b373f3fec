//! An agent's Markdown on a terminal: in colours and wrapped where the terminal has colours, else as it was written. What would
//! steer a terminal is taken out before anything else, and once more where an entity stood for it.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use terminal_size::{Width, terminal_size};
use unicode_width::UnicodeWidthStr as _;

use crate::out;

const BOLD: &str = "\u{1b}[1m";
const ITALIC: &str = "\u{1b}[3m";
const CODE: &str = "\u{1b}[36m";
const LINK: &str = "\u{1b}[4m";
const PLAIN: &str = "\u{1b}[0m";
/// How wide a terminal is that does not say so, and the narrowest that lines are broken for.
const WIDTH: usize = 80;
const NARROWEST: usize = 20;

/// Where an answer is written, as it comes.
pub(super) struct Paper {
    /// As wide as this, where it has colours.
    width: Option<usize>,
    /// What came of a block that is not whole yet.
    held: String,
    is_begun: bool,
}

impl Default for Paper {
    fn default() -> Self {
        let width = || terminal_size().map_or(WIDTH, |(Width(width), _)| width.into());
        Self {
            width: out::has_colours().then(|| width().max(NARROWEST)),
            held: String::new(),
            is_begun: false,
        }
    }
}

impl Paper {
    /// Writes what has come; on a terminal the blocks of it that are whole.
    pub(super) fn write(&mut self, text: &str) {
        let text = plain(text);
        if self.width.is_none() {
            out!("{text}");
        } else {
            self.held.push_str(&text);
            while let Some(end) = block_end(&self.held) {
                let block: String = self.held.drain(..end).collect();
                self.block(&block);
            }
        }
        out::flush();
    }

    /// Writes what is left, to the end of its line.
    pub(super) fn end(&mut self) {
        match self.width {
            None => outln!(),
            Some(_) => {
                let rest = std::mem::take(&mut self.held);
                self.block(&rest);
                self.is_begun = false;
            }
        }
    }

    fn block(&mut self, text: &str) {
        let Some(width) = self.width.filter(|_| !text.trim().is_empty()) else {
            return;
        };
        if std::mem::replace(&mut self.is_begun, true) {
            outln!();
        }
        outln!("{}", rendered(text, width));
    }
}

/// Text from agents, without what would move a terminal's cursor, change its title or hide words.
pub(super) fn plain(text: &str) -> String {
    let shown = |c: &char| matches!(c, '\n' | '\t') || !domain::is_hidden(*c);
    text.chars().filter(shown).collect()
}

/// Behind the first empty line that is no part of a code block.
fn block_end(text: &str) -> Option<usize> {
    let mut ends = text.match_indices("\n\n").map(|(at, gap)| at + gap.len());
    ends.find(|end| {
        text.get(..*end)
            .is_some_and(|before| before.matches("```").count() % 2 == 0)
    })
}

/// Markdown in the colours of a terminal of this width.
fn rendered(text: &str, width: usize) -> String {
    let mut sheet = Sheet {
        width,
        ..Sheet::default()
    };
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        sheet.event(event);
    }
    sheet.line_end();
    sheet.lines.join("\n")
}

#[derive(Default)]
struct Sheet {
    width: usize,
    lines: Vec<String>,
    /// The line, or the cell, under way.
    line: String,
    /// The numbers of the lists that are open; a list without numbers has none.
    lists: Vec<Option<u64>>,
    quotes: usize,
    is_code: bool,
    rows: Vec<Vec<String>>,
    link: String,
}

impl Sheet {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) if self.is_code => {
                self.lines.extend(
                    plain(&text)
                        .lines()
                        .map(|line| format!("    {CODE}{line}{PLAIN}")),
                );
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.line.push_str(&plain(&text))
            }
            Event::Code(text) => self.line.push_str(&format!("{CODE}{}{PLAIN}", plain(&text))),
            Event::SoftBreak => self.line.push(' '),
            Event::HardBreak => self.line_end(),
            Event::Rule => self.lines.push("─".repeat(self.width)),
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } | Tag::Strong => self.line.push_str(BOLD),
            Tag::Emphasis => self.line.push_str(ITALIC),
            Tag::BlockQuote(_) => self.quotes += 1,
            Tag::CodeBlock(_) => self.is_code = true,
            Tag::List(first) => {
                self.line_end();
                self.lists.push(first);
            }
            Tag::Table(_) => self.rows.push(Vec::new()),
            Tag::Item => {
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.line.push_str(&mark);
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = plain(&dest_url);
                self.line.push_str(LINK);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Strong | TagEnd::Emphasis => self.line.push_str(PLAIN),
            TagEnd::Heading(_) => {
                self.line.push_str(PLAIN);
                self.line_end();
            }
            TagEnd::Link | TagEnd::Image => {
                self.line.push_str(PLAIN);
                let link = std::mem::take(&mut self.link);
                // Where a link leads is said, whatever it is called.
                if !self.line.contains(&link) {
                    self.line.push_str(&format!(" ({link})"));
                }
            }
            TagEnd::BlockQuote(_) => {
                self.line_end();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock => self.is_code = false,
            TagEnd::List(_) => {
                self.line_end();
                self.lists.pop();
            }
            TagEnd::Paragraph | TagEnd::Item | TagEnd::HtmlBlock => self.line_end(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line);
                self.rows
                    .last_mut()
                    .into_iter()
                    .for_each(|row| row.push(cell.clone()));
            }
            TagEnd::Table => self.table(),
            _ => {}
        }
        if matches!(tag, TagEnd::TableHead | TagEnd::TableRow) {
            self.rows.push(Vec::new());
        }
    }

    /// Ends the line, broken where the terminal ends.
    fn line_end(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.trim().is_empty() {
            return;
        }
        let margin = "│ ".repeat(self.quotes) + &"  ".repeat(self.lists.len());
        let hang = if self.lists.is_empty() { "" } else { "  " };
        let mut row = String::new();
        for word in line.split(' ') {
            if !row.is_empty() && width(&margin) + width(&row) + 1 + width(word) > self.width {
                self.lines.push(format!("{margin}{row}"));
                row = hang.to_owned() + word;
                continue;
            }
            if !row.is_empty() {
                row.push(' ');
            }
            row.push_str(word);
        }
        self.lines.push(format!("{margin}{row}"));
    }

    fn table(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        let widest = |column: usize| {
            rows.iter()
                .filter_map(|row| row.get(column))
                .map(|cell| width(cell))
                .max()
        };
        let widths: Vec<usize> = (0..columns)
            .map(|column| widest(column).unwrap_or_default())
            .collect();
        for (number, row) in rows.iter().filter(|row| !row.is_empty()).enumerate() {
            let cells = row.iter().zip(&widths);
            let cells = cells.map(|(cell, wide)| format!("{cell}{}", " ".repeat(wide - width(cell))));
            let line = cells.collect::<Vec<_>>().join("  ");
            self.lines.push(match number {
                0 => format!("{BOLD}{}{PLAIN}", line.trim_end()),
                _ => line.trim_end().to_owned(),
            });
        }
    }
}

/// How wide a text is without its colours.
fn width(text: &str) -> usize {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().width();
    first
        + parts
            .map(|part| part.split_once('m').map_or(0, |(_, rest)| rest.width()))
            .sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, width: usize) -> String {
        let codes = [
            (BOLD, "<b>"),
            (ITALIC, "<i>"),
            (CODE, "<c>"),
            (LINK, "<l>"),
            (PLAIN, "</>"),
        ];
        codes.iter().fold(rendered(text, width), |text, (code, name)| {
            text.replace(code, name)
        })
    }

    #[test]
    fn markdown_is_drawn() {
        for (text, expect) in [
            (
                "# Head\n\nSome **bold** and *slanted* `code`",
                "<b>Head</>\nSome <b>bold</> and <i>slanted</> <c>code</>",
            ),
            ("- one\n- two\n  1. deep", "  • one\n  • two\n    1. deep"),
            ("3. three\n4. four", "  3. three\n  4. four"),
            ("> said", "│ said"),
            ("```sh\nls  *\n```", "    <c>ls  *</>"),
            (
                "| a | long |\n|---|---|\n| 10 | **x** |",
                "<b>a   long</>\n10  <b>x</>",
            ),
            ("[here](https://a.example/x)", "<l>here</> (https://a.example/x)"),
            ("1 < 2 & <b>not bold</b>", "1 < 2 & <b>not bold</b>"),
        ] {
            assert_eq!(shown(text, 50), expect, "{text}");
        }
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(
            shown("one two three four five", NARROWEST),
            "one two three four\nfive"
        );
        assert_eq!(
            shown("- one two three **four** five", NARROWEST),
            "  • one two three\n    <b>four</> five"
        );
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\u{7}\u{9b}\u{202e}\nc"), "a[2Jb\nc");
        for rubbish in [
            "\u{1b}]0;title\u{7}",
            "`\u{1b}[31m`",
            "&#27;[2J &#x9b;2J &#x202e;",
            "[a](<\u{1b}[2J>)",
            "|\u{1b}|\n|-|\n|&#27;c|",
            "```\n\u{1b}c\n```",
        ] {
            let drawn = rendered(&plain(rubbish), 80);
            let left = [BOLD, ITALIC, CODE, LINK, PLAIN]
                .iter()
                .fold(drawn, |text, code| text.replace(code, ""));
            assert_eq!(left, plain(&left), "{rubbish:?}");
        }
    }

    #[test]
    fn a_block_is_whole_where_an_empty_line_follows_that_is_no_code() {
        assert_eq!(block_end("one\n\ntwo"), Some(5));
        assert_eq!(block_end("```\na\n\nb"), None);
        assert_eq!(block_end("```\na\n\nb\n```\n\nc"), Some(14));
        assert_eq!(block_end("one\ntwo"), None);
    }
}
