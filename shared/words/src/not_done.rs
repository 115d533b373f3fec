//! That something was not done, and why, in whole sentences.

/// Why an agent was not asked: its user did not consent to that.
pub const NOT_AGREED: &str = "you did not agree to it.";
/// The same, where nobody answered for too long.
pub const NOT_AGREED_IN_TIME: &str = "you did not agree to it in time.";
/// Why an agent stopped: its user left its question unanswered.
pub const NOT_ANSWERED: &str = "you did not answer its question.";
/// The same, where its user called it off.
pub const CALLED_OFF: &str = "you called it off.";

/// That an agent did not do something, in the language of a locale, for a reason of its own or one of the user's; the reason may be
/// empty.
///
/// ```
/// let flats = words::not_done(None, "Flats", "no such town.");
/// assert_eq!(flats, "Flats could not do it: no such town.");
/// let left = words::not_done(None, "Calendar", words::NOT_ANSWERED);
/// assert_eq!(left, "Calendar did not go on, as you did not answer its question.");
/// ```
#[must_use]
pub fn not_done(locale: Option<&str>, agent: &str, reason: &str) -> String {
    let key = match reason {
        "" => "couldNot",
        NOT_AGREED => "wasNotAgreed",
        NOT_AGREED_IN_TIME => "wasNotAgreedInTime",
        NOT_ANSWERED => "wasNotAnswered",
        CALLED_OFF => "wasCalledOff",
        _ => "couldNotAs",
    };
    crate::told_of(locale, key, &[("name", agent), ("reason", reason)])
}
