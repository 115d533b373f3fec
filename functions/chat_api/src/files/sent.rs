//! Files that a user attaches, looked at before anything is stored: how many there are, how large, what they are called, and that
//! they are what they say. What their bytes are, `infer` knows.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::{Part, PartContent};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::chat::known_models::Model;
use crate::error::RouteError;

/// Most files of one message.
const FILES_MAX: usize = 5;
/// Most bytes of the files of one message together.
const BYTES_MAX: usize = 700_000;
/// Most characters of a file's name.
const NAME_MAX: usize = 200;
/// Most characters of a media type.
const MEDIA_MAX: usize = 127;
/// Under which name a message's file part says what is kept of it: the AI SDK leaves such a field of a part alone.
const KEPT: &str = "switchyard";
/// The files of a message whose bytes are kept with it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Files {
    /// They came with it.
    Sent(Vec<Vec<u8>>),
    /// It only names them, as a page does that has them from here: the chat must have this very message.
    Named,
}

/// Reads the files among a message's parts, which are left as they are to be kept: with a file's size and hash in place of its
/// bytes. What an agent gets of each comes back in their order.
///
/// # Errors
/// 400 where one is no file, 413 where they are too many or too large, 415 where its bytes are something else than it says.
pub(crate) fn read(parts: &mut [Value]) -> Result<(Vec<Part>, Files), RouteError> {
    let (mut read, mut sent, mut named) = (Vec::new(), Vec::new(), false);
    for part in parts.iter_mut().filter(|part| is_file(part)) {
        if read.len() == FILES_MAX {
            let reason = format!("a message takes at most {FILES_MAX} files");
            return Err(RouteError::too_large("too_many_files", &reason));
        }
        let (file, bytes) = attached(part)?;
        let about = match (&file.content, bytes) {
            (PartContent::Raw(_), Some(bytes)) => {
                let about = json!({"size": bytes.len(), "sha256": STANDARD.encode(Sha256::digest(&bytes))});
                sent.push(bytes);
                about
            }
            (PartContent::Raw(_), None) => {
                named = true;
                part.pointer("/providerMetadata/switchyard")
                    .cloned()
                    .unwrap_or_default()
            }
            _ => {
                read.push(file);
                continue;
            }
        };
        let mut kept =
            json!({"type": "file", "mediaType": file.media_type, "providerMetadata": {KEPT: about}});
        if let (Some(fields), Some(name)) = (kept.as_object_mut(), &file.filename) {
            fields.insert("filename".to_owned(), json!(name));
        }
        *part = kept;
        read.push(file);
    }
    if sent.iter().map(Vec::len).sum::<usize>() > BYTES_MAX {
        let reason = "the files of a message may have 700 KB together; larger ones are not taken yet";
        return Err(RouteError::too_large("files_too_large", reason));
    }
    match (named, sent.is_empty()) {
        (false, _) => Ok((read, Files::Sent(sent))),
        (true, true) => Ok((read, Files::Named)),
        (true, false) => Err(invalid(
            "either all files of a message are sent, or all are named",
        )),
    }
}

fn is_file(part: &Value) -> bool {
    part.get("type").and_then(Value::as_str) == Some("file")
}

/// What the AI SDK calls a `file`: bytes in a `data:` address, an address of the web, which nobody opens here, or one that is kept
/// here, which has no bytes.
fn attached(part: &Value) -> Result<(Part, Option<Vec<u8>>), RouteError> {
    let text_of = |name: &str| part.get(name).and_then(Value::as_str);
    let url = text_of("url").unwrap_or_default();
    let media = text_of("mediaType").ok_or_else(|| invalid("a file part has no mediaType"))?;
    let name = text_of("filename");
    if !is_media_type(media) {
        return Err(invalid("a file part's mediaType must be like text/plain"));
    }
    if name.is_some_and(|name| name.chars().count() > NAME_MAX || name.contains(domain::is_hidden)) {
        return Err(invalid(
            "a file part's filename must have at most 200 characters, all of which can be seen",
        ));
    }
    let (content, bytes) = match within(url) {
        Some(bytes) => {
            let bytes = bytes?;
            if contradicts(media, &bytes) {
                let name = name.unwrap_or("a file");
                return Err(RouteError::File(format!("{name} is not what it says: {media}")));
            }
            (PartContent::Raw(STANDARD.encode(&bytes)), Some(bytes))
        }
        None if size_of(part).is_some() => (PartContent::Raw(String::new()), None),
        None => match Url::parse(url) {
            Ok(parsed) if matches!(parsed.scheme(), "https" | "http") => {
                (PartContent::Url(parsed.into()), None)
            }
            _ => return Err(invalid("a file part's url must be https or data")),
        },
    };
    let mut file = Part::new(content);
    file.media_type = Some(media.to_owned());
    file.filename = name.map(str::to_owned);
    Ok((file, bytes))
}

/// The bytes within a `data:` address (RFC 2397): of base64, or as they are with `%` before what an address may not have. `None` of
/// any other address.
fn within(url: &str) -> Option<Result<Vec<u8>, RouteError>> {
    let (head, data) = url.split_once(',')?;
    let scheme = head.get(.."data:".len())?;
    if !scheme.eq_ignore_ascii_case("data:") {
        return None;
    }
    let bytes: Vec<u8> = percent_decode_str(data).collect();
    let form = head.rsplit_once(';').map_or("", |(_, form)| form.trim());
    if !form.eq_ignore_ascii_case("base64") {
        return Some(Ok(bytes));
    }
    let read = STANDARD.decode(bytes);
    Some(read.map_err(|_| invalid("a file part's data is not base64")))
}

/// The size of a file that is kept; none of a part that is no such file. No message of any release has a larger one, whatever
/// its page wrote into it.
pub(crate) fn size_of(part: &Value) -> Option<usize> {
    let part = Some(part).filter(|part| is_file(part))?;
    let size = part.get("providerMetadata")?.get(KEPT)?.get("size")?.as_u64()?;
    usize::try_from(size).ok().filter(|size| *size <= BYTES_MAX)
}

/// Whether an agent takes all files of a message, as far as its card says.
///
/// # Errors
/// 415, with what it takes.
pub(crate) fn taken_by(agent: &Model, parts: &[Part]) -> Result<(), RouteError> {
    let refused = files(parts).find_map(|file| {
        let media = file.media_type.as_deref()?;
        (!a2a::media::takes(&agent.input_types, media)).then_some((file, media))
    });
    let Some((file, media)) = refused else {
        return Ok(());
    };
    let name = file.filename.as_deref().unwrap_or("a file");
    let (agent, takes) = (&agent.name, agent.input_types.join(", "));
    Err(RouteError::File(format!(
        "{agent} does not take {name} ({media}); it takes {takes}"
    )))
}

/// The files among the parts of a message.
fn files(parts: &[Part]) -> impl Iterator<Item = &Part> {
    let is_file = |part: &&Part| matches!(part.content, PartContent::Raw(_) | PartContent::Url(_));
    parts.iter().filter(is_file)
}

/// A message that is wrong in itself.
pub(crate) fn invalid(message: &str) -> RouteError {
    RouteError::invalid("invalid_message", message)
}

/// `type/subtype`, each a token of HTTP's grammar; parameters may follow.
fn is_media_type(media: &str) -> bool {
    let is_token = |text: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte);
        !text.is_empty() && text.bytes().all(fits)
    };
    let halves = essence(media).split_once('/');
    media.len() <= MEDIA_MAX
        && !media.contains(char::is_control)
        && halves.is_some_and(|(main, sub)| is_token(main) && is_token(sub))
}

fn essence(media: &str) -> &str {
    media.split(';').next().unwrap_or_default().trim()
}

/// Whether bytes are surely not of a media type. What cannot be told from bytes is believed.
pub(crate) fn contradicts(media: &str, bytes: &[u8]) -> bool {
    let said = usual(&essence(media).to_ascii_lowercase());
    let found = infer::get(bytes).map(|found| found.mime_type());
    let main = |media: &str| media.split('/').next().unwrap_or_default().to_owned();
    if is_text(&said) {
        let is_words = std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'));
        return !is_words || found.is_some_and(is_firm);
    }
    let Some(found) = found else {
        return is_firm(&said);
    };
    let is_zip = is_zip_within(found);
    match said.as_str() {
        "application/octet-stream" => false,
        said if said == found => false,
        "application/zip" => !is_zip,
        said if is_firm(said) => true,
        // Documents and archives of many kinds are packed.
        said if is_zip || found == "application/gzip" => main(said) != "application",
        _ => is_firm(found),
    }
}

/// The usual name of a media type that has several.
fn usual(media: &str) -> String {
    let name = match media {
        "image/jpg" | "image/pjpeg" => "image/jpeg",
        "image/x-png" => "image/png",
        "image/x-icon" => "image/vnd.microsoft.icon",
        "image/x-ms-bmp" => "image/bmp",
        "image/heic" | "image/heic-sequence" | "image/heif-sequence" => "image/heif",
        "application/x-pdf" => "application/pdf",
        "application/x-zip-compressed" => "application/zip",
        "application/x-gzip" => "application/gzip",
        other => other,
    };
    name.to_owned()
}

/// Whether files of this type always begin alike, so that one that does not is none.
fn is_firm(media: &str) -> bool {
    let is_picture = media.starts_with("image/") && infer::is_mime_supported(media);
    is_picture || matches!(media, "application/pdf" | "application/zip" | "application/gzip")
}

/// Whether files of this type are zip archives with certain things in them.
fn is_zip_within(media: &str) -> bool {
    media == "application/zip"
        || media == "application/epub+zip"
        || media.starts_with("application/vnd.openxmlformats-officedocument.")
        || media.starts_with("application/vnd.oasis.opendocument.")
}

/// Whether files of this type are words in UTF-8.
fn is_text(media: &str) -> bool {
    let Some((main, sub)) = media.split_once('/') else {
        return false;
    };
    main == "text"
        || sub.ends_with("+json")
        || sub.ends_with("+xml")
        || (main == "application" && matches!(sub, "json" | "xml" | "yaml" | "javascript" | "x-ndjson"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    const JPEG: &[u8] = b"\xff\xd8\xff\xe0\0\x10JFIF";
    const PDF: &[u8] = b"%PDF-1.7\n";
    const ZIP: &[u8] = b"PK\x03\x04\x14\0\0\0";

    fn file(media: &str, name: &str, bytes: &[u8]) -> Value {
        let url = format!("data:{media};base64,{}", STANDARD.encode(bytes));
        json!({"type": "file", "mediaType": media, "filename": name, "url": url})
    }

    #[test]
    fn what_bytes_are_must_be_what_a_file_says() {
        let docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
        for (media, bytes) in [
            ("image/png", PNG),
            ("IMAGE/PNG; x=1", PNG),
            ("image/jpg", JPEG),
            ("application/pdf", PDF),
            ("application/zip", ZIP),
            (docx, ZIP),
            ("application/octet-stream", PNG),
            ("application/x-unheard-of", b"\x01\x02"),
            ("text/plain", "é\n".as_bytes()),
            ("text/plain", b""),
            ("text/markdown", b"# a"),
            ("text/plain", b"<html><body>as it is written</body></html>"),
            ("image/svg+xml", b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>"),
            ("application/json", b"{}"),
            ("audio/mpeg", b"\xff\xf3\x00"),
        ] {
            assert!(attached(&file(media, "a", bytes)).is_ok(), "{media}");
        }
        for (media, bytes) in [
            ("image/png", JPEG),
            ("image/png", b"hello"),
            ("image/png", b""),
            ("image/jpg", PNG),
            ("application/pdf", b"hello"),
            ("application/pdf", PNG),
            ("application/zip", PDF),
            ("application/x-unheard-of", PNG),
            ("model/gltf-binary", ZIP),
            ("text/plain", PNG),
            ("text/plain", PDF),
            ("text/plain", b"a\0b"),
            ("text/plain", b"\xff\xfe"),
            ("application/json", b"\xe4"),
            ("image/svg+xml", PNG),
        ] {
            let refused = attached(&file(media, "a", bytes));
            assert!(
                matches!(refused, Err(RouteError::File(_))),
                "{media}: {refused:?}"
            );
        }
    }

    #[test]
    fn names_and_types_are_what_they_can_be() {
        let long = "n".repeat(NAME_MAX + 1);
        for name in ["a\0", "a\nb", "gnp\u{202e}.exe", "\u{200b}", long.as_str()] {
            let refused = attached(&file("text/plain", name, b"x"));
            assert!(matches!(refused, Err(RouteError::Invalid { .. })), "{name:?}");
        }
        assert!(attached(&file("text/plain", "Übung 1 <b>.txt", b"x")).is_ok());
        let wide = format!("text/{}", "x".repeat(MEDIA_MAX));
        for media in [
            "",
            "text",
            "/",
            "text/",
            "a b/c",
            "text/plain\n",
            "*/*",
            wide.as_str(),
        ] {
            let refused = attached(&file(media, "a", b"x"));
            assert!(matches!(refused, Err(RouteError::Invalid { .. })), "{media:?}");
        }
    }

    #[test]
    fn a_file_is_read_out_of_any_data_address() {
        let of = |media: &str, url: &str| {
            attached(&json!({"type": "file", "mediaType": media, "filename": "a", "url": url}))
        };
        for (url, bytes) in [
            (
                "data:text/plain;charset=utf-8,hello%20there%20%F0%9F%8C%A7",
                "hello there 🌧",
            ),
            ("data:,a+b,c", "a+b,c"),
            ("data:text/plain,", ""),
            ("data:text/plain,100%25%", "100%%"),
            ("DATA:text/plain;charset=utf-8;BASE64,aGk=", "hi"),
            ("data:text/plain;base64,aGk%3D", "hi"),
            ("data:text/plain;name=base64,aGk=", "aGk="),
            ("data:;base64,aGk=", "hi"),
            ("data:;charset=utf-8,hi", "hi"),
            ("data:text/plain;charset=utf-8;name=a.txt;base64,aGk=", "hi"),
        ] {
            let (part, read) = of("text/plain", url).unwrap();
            assert_eq!(read.as_deref(), Some(bytes.as_bytes()), "{url}");
            assert_eq!(part.content, PartContent::Raw(STANDARD.encode(bytes)), "{url}");
        }
        for (media, url) in [
            ("text/plain", "data:text/plain;base64,*"),
            ("text/plain", "data:text/plain;base64,aGk"),
            ("text/plain", "data:text/plain"),
            ("text/plain", "aGk="),
            ("text/plain", "javascript:a,b"),
            ("text/plain", "blob:https://a.example/1,2"),
            ("image/png", "data:image/png,not%20a%20picture"),
        ] {
            assert!(of(media, url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_size_that_no_file_has_is_none() {
        let named = |size: Value| json!({"type": "file", "mediaType": "text/plain", "providerMetadata": {KEPT: {"size": size}}});
        assert_eq!(size_of(&named(json!(BYTES_MAX))), Some(BYTES_MAX));
        for odd in [
            json!(BYTES_MAX + 1),
            json!(u64::MAX),
            json!(-1),
            json!(1.5),
            json!("7"),
            json!(null),
        ] {
            assert_eq!(size_of(&named(odd.clone())), None, "{odd}");
            let read = read(&mut [named(odd.clone())]);
            assert!(matches!(read, Err(RouteError::Invalid { .. })), "{odd}: {read:?}");
        }
    }

    #[test]
    fn an_agent_takes_what_its_card_says() {
        let agent = |types: &[&str]| Model {
            id: "scan".into(),
            name: "Scanner".into(),
            description: String::new(),
            examples: Vec::new(),
            input_types: types.iter().map(|&one| one.to_owned()).collect(),
        };
        let parts = [
            Part::text("Look"),
            attached(&file("image/png", "sky.png", PNG)).unwrap().0,
        ];
        assert!(taken_by(&agent(&["image/*", "text/plain"]), &parts).is_ok());
        assert!(taken_by(&agent(&["*/*"]), &parts).is_ok());
        let refused = taken_by(&agent(&["application/pdf", "text/plain"]), &parts).unwrap_err();
        let said = "Scanner does not take sky.png (image/png); it takes application/pdf, text/plain";
        assert_eq!(refused.to_string(), said);
        assert!(taken_by(&agent(&["text/plain"]), &parts[..1]).is_ok());
    }
}
