//! Which scopes are granted, and which are missing.

/// Most scopes that one challenge is believed to need.
const CHALLENGE_MAX: usize = 20;

/// True where everything needed was granted.
#[must_use]
pub fn covers(granted: &[String], needed: &[String]) -> bool {
    needed.iter().all(|scope| granted.contains(scope))
}

/// Both, each scope once.
#[must_use]
pub fn union(known: &[String], more: &[String]) -> Vec<String> {
    let mut all = known.to_vec();
    for scope in more {
        if !all.contains(scope) {
            all.push(scope.clone());
        }
    }
    all
}

/// The scopes that a 403's challenge (RFC 6750 §3) asks for beyond those granted; `None` where more consent would not
/// help.
pub(crate) fn wider(challenge: &str, granted: &[String]) -> Option<Vec<String>> {
    if !challenge.contains("insufficient_scope") {
        return None;
    }
    let (before, rest) = challenge.split_once("scope=\"")?;
    // `error_scope="…"` or the like is another parameter.
    before.ends_with([' ', ',']).then_some(())?;
    let (list, _) = rest.split_once('"')?;
    let plain = |scope: &&str| scope.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    let told: Vec<String> = list
        .split(' ')
        .filter(|scope| !scope.is_empty())
        .filter(plain)
        .take(CHALLENGE_MAX)
        .map(str::to_owned)
        .collect();
    (!covers(granted, &told)).then(|| union(granted, &told))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(list: &[&str]) -> Vec<String> {
        list.iter().map(|scope| (*scope).to_owned()).collect()
    }

    #[test]
    fn a_challenge_widens_only_by_what_is_not_granted_yet() {
        let granted = scopes(&["tasks"]);
        let challenge = "Bearer realm=\"x\", error=\"insufficient_scope\", error_description=\"no\", scope=\"tasks orders:read\"";
        assert_eq!(
            wider(challenge, &granted),
            Some(scopes(&["tasks", "orders:read"]))
        );
        assert_eq!(
            wider(challenge, &scopes(&["orders:read", "tasks"])),
            None,
            "asking again would not help"
        );
        for other in [
            "",
            "Bearer",
            "Bearer error=\"insufficient_scope\"",
            "Bearer error=\"insufficient_scope\", scope=\"",
            "Bearer error=\"wrong_tenant\", scope=\"orders:read\"",
        ] {
            assert_eq!(wider(other, &granted), None, "{other}");
        }
    }
}
