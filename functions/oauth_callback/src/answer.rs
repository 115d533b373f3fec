//! The provider's answer, as it stands in the query of the redirect (RFC 6749 §4.1.2, RFC 9207).

use domain::SecretString;
use url::form_urlencoded;

/// Most bytes of a code; providers' own limits are far lower.
const CODE_MAX: usize = 4096;
/// Most bytes of everything else.
const TEXT_MAX: usize = 512;

/// What the provider sent the browser back with.
pub(crate) struct ProviderAnswer {
    pub(crate) state: SecretString,
    pub(crate) iss: Option<String>,
    pub(crate) said: Said,
}

/// Yes or no.
pub(crate) enum Said {
    Code(SecretString),
    Error(String),
}

impl ProviderAnswer {
    /// Reads a query; `None` for one that is no answer: without state, with neither or both of code and error, or with
    /// anything twice. Parameters that nobody here knows are nobody's business.
    pub(crate) fn read(query: &str) -> Option<Self> {
        let (mut state, mut iss, mut code, mut error) = (None, None, None, None);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let (place, max) = match name.as_ref() {
                "state" => (&mut state, TEXT_MAX),
                "iss" => (&mut iss, TEXT_MAX),
                "code" => (&mut code, CODE_MAX),
                "error" => (&mut error, TEXT_MAX),
                _ => continue,
            };
            if value.is_empty() || value.len() > max || place.replace(value.into_owned()).is_some() {
                return None;
            }
        }
        let said = match (code, error) {
            (Some(code), None) => Said::Code(code.into()),
            (None, Some(error)) => Said::Error(error),
            _ => return None,
        };
        Some(Self {
            state: state?.into(),
            iss,
            said,
        })
    }
}

#[cfg(test)]
mod tests {
    use domain::ExposeSecret;

    use super::*;

    #[test]
    fn an_answer_has_a_state_and_either_a_code_or_an_error() {
        let answer =
            ProviderAnswer::read("code=c%2B1&state=s&iss=https%3A%2F%2Fidp.example&session_state=x").unwrap();
        assert_eq!(answer.state.expose_secret(), "s");
        assert_eq!(answer.iss.as_deref(), Some("https://idp.example"));
        assert!(matches!(answer.said, Said::Code(code) if code.expose_secret() == "c+1"));
        let answer = ProviderAnswer::read("error=access_denied&error_description=no&state=s").unwrap();
        assert!(matches!(answer.said, Said::Error(error) if error == "access_denied"));
        for rubbish in [
            "",
            "%",
            "code=c",
            "state=s",
            "code=&state=s",
            "code=c&state=",
            "code=c&error=e&state=s",
            "code=c&code=d&state=s",
            "code=c&state=s&state=t",
            "code=c&state=s&iss=a&iss=b",
            &format!("code=c&state={}", "s".repeat(600)),
            &format!("code={}&state=s", "c".repeat(5000)),
        ] {
            assert!(ProviderAnswer::read(rubbish).is_none(), "{rubbish}");
        }
    }
}
