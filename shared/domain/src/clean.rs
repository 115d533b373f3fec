//! Text of strangers, before it is shown or handed on.

/// Foreign text as one line of at most `max` characters: without control characters, without characters that show
/// nothing or turn the reading direction (they hide words from people), runs of blanks as one.
#[must_use]
pub fn clean(text: &str, max: usize) -> String {
    let mut out = String::new();
    let mut count = 0;
    let mut blank = false;
    for c in text.chars().filter(|c| c.is_whitespace() || !is_hidden(*c)) {
        if c.is_whitespace() {
            blank = count > 0;
            continue;
        }
        if count + usize::from(blank) >= max {
            break;
        }
        if blank {
            out.push(' ');
            count += 1;
            blank = false;
        }
        out.push(c);
        count += 1;
    }
    out
}

/// Foreign text of at most `max` bytes, with its lines as they are, and otherwise as [`clean`] has it. What is left out is
/// said.
#[must_use]
pub fn clean_lines(text: &str, max: usize) -> String {
    const MORE: &str = " […]";
    let shown = |c: &char| *c == '\n' || *c == '\t' || !is_hidden(*c);
    let mut out = String::new();
    for c in text.trim().chars().filter(shown) {
        if out.len() + c.len_utf8() > max {
            out.push_str(MORE);
            break;
        }
        out.push(c);
    }
    out
}

/// Whether a character shows nothing, or turns the reading direction.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_go_and_blanks_collapse() {
        assert_eq!(clean(" a\u{202e}\u{200b}b \n\t c\0 ", 80), "ab c");
        assert_eq!(clean("abcdef", 3), "abc");
        assert_eq!(clean("ab cdef", 3), "ab");
    }
}
