//! What both generations do alike.

use domain::{Message, Part, PartContent, PushConfigId, SecretString, Task};
use url::Url;

use crate::lenient::{Fault, filled, standard_base64};
use crate::{PushAuth, PushTarget};

/// The newest `length` messages, or all.
pub(crate) fn recent(task: &Task, length: Option<u32>) -> &[Message] {
    let length = length.map_or(usize::MAX, |length| usize::try_from(length).unwrap_or(usize::MAX));
    let from = task.history.len().saturating_sub(length);
    task.history.get(from..).unwrap_or_default()
}

/// A message as one of the task.
pub(crate) fn owned(message: &Message, task: &Task) -> Message {
    Message {
        task_id: Some(task.id),
        context_id: Some(task.context_id.clone()),
        ..message.clone()
    }
}

/// A file by its address. What a `data:` address holds is the file; any other that is none of the web's stays words, as
/// `javascript:` and its like run in whoever shows them as a link.
pub(crate) fn file_at(address: String) -> Part {
    let scheme = Url::parse(&address).map(|url| url.scheme().to_owned());
    match scheme.as_deref() {
        Ok("https" | "http") => Part::new(PartContent::Url(address)),
        Ok("data") => within(&address).unwrap_or_else(|| Part::text(address)),
        _ => Part::text(address),
    }
}

/// The file within a `data:` address of base64 (RFC 2397).
fn within(address: &str) -> Option<Part> {
    let (head, data) = address.trim().split_once(',')?;
    let about = head.get("data:".len()..)?;
    let split = about.len().checked_sub(";base64".len())?;
    let (media_type, form) = about.split_at_checked(split)?;
    let bytes = standard_base64(data).filter(|_| form.eq_ignore_ascii_case(";base64"))?;
    let media_type = Some(media_type.to_owned()).filter(|media_type| !media_type.is_empty());
    Some(Part {
        media_type,
        ..Part::new(PartContent::Raw(bytes))
    })
}

/// A push target of what either generation says of it.
pub(crate) fn push_target(
    id: Option<String>,
    url: &str,
    token: Option<String>,
    authentication: Option<PushAuth>,
) -> Result<PushTarget, Fault> {
    if authentication
        .as_ref()
        .is_some_and(|auth| !is_token(&auth.scheme))
    {
        return Err(Fault::new(
            "the push notification's authentication scheme is none",
        ));
    }
    Ok(PushTarget {
        id: filled(id).map(|id| PushConfigId::parse(&id)).transpose()?,
        url: Url::parse(url).map_err(|_| Fault::new("the push notification's url is no URL"))?,
        token: filled(token).map(SecretString::from),
        authentication,
    })
}

/// A token of HTTP's grammar, as far as schemes need it.
fn is_token(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~+".contains(&byte))
}

/// A history length, which is never negative.
pub(crate) fn read_length(told: Option<i32>) -> Result<Option<u32>, Fault> {
    told.map(|length| u32::try_from(length).map_err(|_| Fault::new("historyLength must not be negative")))
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_web_are_links() {
        for address in [
            "https://a.example/x.pdf",
            "http://127.0.0.1:9/x",
            "HTTPS://a.example",
        ] {
            assert_eq!(
                file_at(address.to_owned()).content,
                PartContent::Url(address.to_owned())
            );
        }
        for address in [
            "javascript:alert(3)",
            "JaVaScRiPt:alert(3)",
            " javascript:alert(3)",
            "java\tscript:alert(3)",
            "\u{1}javascript:alert(3)",
            "vbscript:msgbox(1)",
            "data:text/html,<script>alert(3)</script>",
            "data:text/html;base64,%%%",
            "data:text/html;charset=utf-8,x",
            "data:",
            "data:;base64",
            "data:é,x",
            "file:///etc/passwd",
            "blob:https://a.example/1",
            "//a.example/x",
            "a.example",
            "",
        ] {
            assert_eq!(
                file_at(address.to_owned()).content,
                PartContent::Text(address.to_owned())
            );
        }
    }

    #[test]
    fn what_a_data_address_holds_is_the_file() {
        for (address, media_type) in [
            ("data:text/html;base64,PGI+", Some("text/html")),
            ("DATA:image/png;BASE64,PGI+", Some("image/png")),
            ("data:;base64,PGI+", None),
        ] {
            let part = file_at(address.to_owned());
            assert_eq!(part.content, PartContent::Raw("PGI+".to_owned()), "{address}");
            assert_eq!(part.media_type.as_deref(), media_type, "{address}");
        }
    }
}
