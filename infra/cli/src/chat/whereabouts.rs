//! The language, region and time zone of the terminal's user, as the machine tells them.

use domain::UserContext;

/// What POSIX programs read for dates, the first that is set.
const NAMES: [&str; 3] = ["LC_ALL", "LC_TIME", "LANG"];

/// The locale of this terminal, as BCP 47; none where it is set to none.
pub(super) fn locale() -> Option<String> {
    let set = NAMES.iter().find_map(|name| variable(name));
    tag(&set?)
}

/// The time zone of this terminal, or else of the machine.
pub(super) fn time_zone() -> Option<String> {
    let own = variable("TZ").and_then(|set| zone(&set));
    own.or_else(|| zone(&iana_time_zone::get_timezone().ok()?))
}

fn variable(name: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the terminal's language and clock, as every program of a terminal reads them; no settings of ours"
    )]
    let set = std::env::var(name);
    set.ok().filter(|set| !set.is_empty())
}

/// `en_GB.UTF-8@euro` as `en-GB`. `C` and `POSIX` are nobody's language.
fn tag(posix: &str) -> Option<String> {
    let name = posix.split(['.', '@']).next().unwrap_or_default();
    if matches!(name, "C" | "POSIX") {
        return None;
    }
    let tag = name.replace('_', "-");
    UserContext::parse(Some(tag), None).ok()?.locale
}

/// `:Europe/Oslo`, or a path to it, as `Europe/Oslo`. Rules such as `CET-1CEST` are no names.
fn zone(set: &str) -> Option<String> {
    let name = set.trim_start_matches(':');
    let name = name.rsplit_once("zoneinfo/").map_or(name, |(_, name)| name);
    let rule = name != "UTC" && !name.contains('/');
    let named = UserContext::parse(None, Some(name.to_owned())).ok()?;
    named.time_zone.filter(|_| !rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_says_becomes_what_the_chat_takes() {
        for (posix, expect) in [
            ("en_GB.UTF-8", Some("en-GB")),
            ("de_DE@euro", Some("de-DE")),
            ("nb_NO", Some("nb-NO")),
            ("fr", Some("fr")),
            ("C", None),
            ("C.UTF-8", None),
            ("POSIX", None),
            ("", None),
            ("../../etc", None),
        ] {
            assert_eq!(tag(posix).as_deref(), expect, "{posix}");
        }
        for (set, expect) in [
            ("Europe/Oslo", Some("Europe/Oslo")),
            (":Asia/Tokyo", Some("Asia/Tokyo")),
            ("/usr/share/zoneinfo/America/New_York", Some("America/New_York")),
            ("UTC", Some("UTC")),
            ("CET-1CEST,M3.5.0,M10.5.0/3", None),
            ("", None),
            ("/etc/localtime", None),
        ] {
            assert_eq!(zone(set).as_deref(), expect, "{set}");
        }
    }
}
