//! The words of an answer under way, as parts of its message: one for each attempt. The stored answer has the last word.

use domain::MessageId;
use store::AnswerDraft;

use crate::chat::frames::Frames;

/// What was shown of the answer's drafts.
#[derive(Debug, Default)]
pub(crate) struct ShownDraft(Option<Part>);

/// The part of the newest attempt; it is open.
#[derive(Debug)]
struct Part {
    attempt: u64,
    id: String,
    text: String,
}

impl ShownDraft {
    /// Shows what has grown; another attempt is a part of its own.
    pub(crate) fn grows(&mut self, draft: &AnswerDraft, answer: &MessageId, frames: &mut Frames) {
        if draft.text.is_empty() {
            return;
        }
        match &mut self.0 {
            Some(part) if part.attempt == draft.attempt => {
                if let Some(more) = draft.text.strip_prefix(part.text.as_str()) {
                    frames.text_goes_on(&part.id, more);
                    part.text.push_str(more);
                }
                return;
            }
            Some(part) => frames.text_ends(&part.id, ""),
            None => {}
        }
        let id = format!("draft-{}-{answer}", draft.attempt);
        frames.text_begins(&id);
        frames.text_goes_on(&id, &draft.text);
        self.0 = Some(Part {
            attempt: draft.attempt,
            id,
            text: draft.text.clone(),
        });
    }

    /// Ends with the answer: with the rest of it where it goes on from what was shown. False where it does not, and is still
    /// to be shown.
    pub(crate) fn ends(&mut self, answer: &str, frames: &mut Frames) -> bool {
        let Some(part) = self.0.take() else {
            return false;
        };
        let rest = answer.strip_prefix(part.text.as_str());
        if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
            frames.text_goes_on(&part.id, rest);
        }
        frames.text_ends(&part.id, rest.map_or("", |_| answer));
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::Value;

    use super::*;

    /// What is shown of these drafts and this answer, as `begins`, `+more`, `ends`; and whether the answer is in it.
    fn shown(drafts: &[(u64, &str)], answer: &str) -> (Vec<String>, bool) {
        let (mut shown, mut frames) = (ShownDraft::default(), Frames::default());
        let id = MessageId::parse("a").unwrap();
        for (attempt, text) in drafts {
            let draft = AnswerDraft {
                turn: 0,
                attempt: *attempt,
                text: (*text).to_owned(),
            };
            shown.grows(&draft, &id, &mut frames);
        }
        let is_in_it = shown.ends(answer, &mut frames);
        let text = String::from_utf8(Bytes::from(frames).to_vec()).unwrap();
        let chunks = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let told = chunks.map(|chunk| {
            let chunk: Value = serde_json::from_str(chunk).unwrap();
            let id = chunk["id"].as_str().unwrap();
            match chunk["type"].as_str().unwrap() {
                "text-start" => format!("{id} begins"),
                "text-end" => format!("{id} ends"),
                _ => format!("+{}", chunk["delta"].as_str().unwrap()),
            }
        });
        (told.collect(), is_in_it)
    }

    #[test]
    fn what_grew_is_told_once_and_the_answer_has_the_last_word() {
        let (told, is_in_it) = shown(&[(1, "It"), (1, "It rains"), (1, "It rains")], "It rains.");
        assert_eq!(told[..2], ["draft-1-a begins", "+It"]);
        assert_eq!(told[told.len() - 2..], ["+.", "draft-1-a ends"]);
        assert_eq!(
            told.iter()
                .filter(|told| told.starts_with('+'))
                .map(|told| &told[1..])
                .collect::<String>(),
            "It rains."
        );
        assert!(is_in_it);
        let (told, is_in_it) = shown(&[(1, "It rains.")], "It rains.");
        assert!(is_in_it && told == ["draft-1-a begins", "+It rains.", "draft-1-a ends"]);
        assert_eq!(shown(&[], "It rains."), (vec![], false));
    }

    #[test]
    fn another_attempt_or_another_answer_is_a_part_of_its_own() {
        let (told, is_in_it) = shown(&[(1, "It"), (2, ""), (2, "Sun")], "Sunny");
        let parts = [
            "draft-1-a begins",
            "+It",
            "draft-1-a ends",
            "draft-2-a begins",
            "+Sun",
            "+ny",
            "draft-2-a ends",
        ];
        assert!(is_in_it && told == parts, "{told:?}");
        let (told, is_in_it) = shown(&[(1, "It rains"), (1, "Never")], "Sunny");
        assert!(
            !is_in_it && told == ["draft-1-a begins", "+It rains", "draft-1-a ends"],
            "{told:?}"
        );
    }
}
