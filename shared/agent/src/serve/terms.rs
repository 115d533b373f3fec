//! What a call says of how it wants to be treated, beside what the card promises: extensions of the protocol and media
//! types.

use a2a::card::Card;
use a2a::{A2aError, Call, SendCall, media};
use axum::http::HeaderMap;
use domain::{ASKED_FROM, Caller, Terms};

/// Most media types that are kept of those a client says it can read.
const MAX_MODES: usize = 32;
/// Longest words for a message's place, in bytes.
const MAX_PLACE: usize = 200;
/// Longest of them, in bytes.
const MAX_MODE: usize = 128;

/// The card's extensions that the request declares, in its headers or in its message; what the card does not have is
/// ignored (A2A 1.0, 4.6.3).
///
/// # Errors
/// [`A2aError::ExtensionSupportRequired`] where the card requires one that is not declared. The extended card is for
/// everybody, as it may be what tells of the extension.
pub(crate) fn extensions(card: &Card, headers: &HeaderMap, call: &Call) -> Result<Vec<String>, A2aError> {
    if card.extensions.is_empty() {
        return Ok(Vec::new());
    }
    let told = [a2a::EXTENSIONS_HEADER, a2a::EXTENSIONS_HEADER_0_3]
        .into_iter()
        .flat_map(|name| headers.get_all(name))
        .filter_map(|value| value.to_str().ok());
    let declared = a2a::extensions(told);
    let used = match call {
        Call::Send(call) | Call::Stream(call) => call.message.extensions.as_slice(),
        _ => &[],
    };
    let mut active = Vec::new();
    for extension in &card.extensions {
        if declared.contains(&extension.uri) || used.contains(&extension.uri) {
            active.push(extension.uri.clone());
        } else if extension.required && !matches!(call, Call::ExtendedCard { .. }) {
            return Err(A2aError::ExtensionSupportRequired(format!(
                "this agent requires the extension {}, and the request does not declare it",
                extension.uri
            )));
        }
    }
    Ok(active)
}

/// A message whose parts the agent cannot read, or whose sender can read nothing that the agent writes, is refused
/// before anything is stored (A2A 1.0, 3.3.2). A part that does not say what it is counts as readable.
///
/// # Errors
/// [`A2aError::ContentTypeNotSupported`].
pub(crate) fn media_types(card: &Card, call: &SendCall) -> Result<(), A2aError> {
    let reads = all(card, &card.default_input_modes, |skill| &skill.input_modes);
    let mut told = call
        .message
        .parts
        .iter()
        .filter_map(|part| part.media_type.as_deref());
    let writes = all(card, &card.default_output_modes, |skill| &skill.output_modes);
    if told.all(|media_type| media::takes(&reads, media_type))
        && media::meet(&call.accepted_output_modes, &writes)
    {
        Ok(())
    } else {
        Err(A2aError::ContentTypeNotSupported)
    }
}

/// The card's media types and those of its skills: a message does not say which skill it is for. None at all where the
/// card says nothing.
fn all<'c>(
    card: &'c Card,
    of_card: &'c [String],
    of_skill: impl Fn(&'c a2a::card::Skill) -> &'c [String],
) -> Vec<&'c str> {
    let of_skills = card.skills.iter().flat_map(of_skill);
    of_card.iter().chain(of_skills).map(String::as_str).collect()
}

/// Takes out of a message where it came from. That is believed of the platform's chat alone, as users go by it when they are asked
/// for a consent.
pub(crate) fn place(caller: &Caller, call: &mut SendCall) -> Option<String> {
    let told = call.message.metadata.remove(ASKED_FROM)?;
    let place = told.as_str().filter(|place| place.len() <= MAX_PLACE)?;
    caller
        .scopes
        .contains(auth::scope::CHAT)
        .then(|| place.to_owned())
}

/// What an executor is told of it.
pub(crate) fn terms(extensions: &[String], call: &SendCall, place: Option<String>) -> Terms {
    let modes = call.accepted_output_modes.iter();
    Terms {
        extensions: extensions.to_vec(),
        output_modes: modes
            .filter(|mode| mode.len() <= MAX_MODE)
            .take(MAX_MODES)
            .cloned()
            .collect(),
        place,
    }
}
