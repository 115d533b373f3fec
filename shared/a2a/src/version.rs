//! Which generation a request speaks, and which extensions its sender knows.

use domain::Generation;

use crate::A2aError;
use crate::error::capped;

/// The header and query parameter that names the generation a client speaks.
pub const VERSION_HEADER: &str = "A2A-Version";
/// The header that names the extensions a client wants to use, and those that the answer used.
pub const EXTENSIONS_HEADER: &str = "A2A-Extensions";
/// The same header in A2A 0.3.
pub const EXTENSIONS_HEADER_0_3: &str = "X-A2A-Extensions";

/// Most extensions of a request that are looked at.
const MAX_EXTENSIONS: usize = 50;
/// Longest URI of an extension.
const MAX_URI: usize = 512;

/// The generation's number as it stands in the `A2A-Version` header.
#[must_use]
pub fn version(generation: Generation) -> &'static str {
    match generation {
        Generation::V0_3 => "0.3",
        Generation::V1_0 => "1.0",
    }
}

/// The generation that an `A2A-Version` asks for; none given means 0.3, as the specification has it.
///
/// # Errors
/// [`A2aError::VersionNotSupported`] where it is neither 1.0 nor 0.3 (a patch number is ignored).
pub fn generation(version: Option<&str>) -> Result<Generation, A2aError> {
    let text = version.unwrap_or_default().trim();
    let mut numbers = text.split('.');
    match (numbers.next(), numbers.next()) {
        // 0.3 began without the header, so silence means it.
        (Some("0"), Some("3")) | (Some(""), None) => Ok(Generation::V0_3),
        (Some("1"), Some("0")) => Ok(Generation::V1_0),
        _ => Err(A2aError::VersionNotSupported(capped(text, 32))),
    }
}

/// What a request says of its version: the header, else the query parameter of the same name (A2A 1.0, 3.6.1). `query`
/// is the raw query of the URL. An empty one says nothing.
#[must_use]
pub fn asked_version(header: Option<&str>, query: Option<&str>) -> Option<String> {
    let from_query = || {
        url::form_urlencoded::parse(query?.as_bytes())
            .find(|(name, _)| name.eq_ignore_ascii_case(VERSION_HEADER))
            .map(|(_, value)| value.trim().to_owned())
    };
    header
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
        .or_else(from_query)
        .filter(|text| !text.is_empty())
}

/// The generation of a REST request: its path tells, and a version that the client names must be that one.
///
/// # Errors
/// [`A2aError::VersionNotSupported`] where the client names another version than the path serves.
pub fn generation_of_path(path: Generation, asked: Option<&str>) -> Result<Generation, A2aError> {
    match asked.filter(|text| !text.trim().is_empty()) {
        Some(text) if generation(Some(text))? != path => {
            Err(A2aError::VersionNotSupported(capped(text.trim(), 32)))
        }
        _ => Ok(path),
    }
}

/// The extensions that a client declares, of the values of [`EXTENSIONS_HEADER`] and [`EXTENSIONS_HEADER_0_3`]: URIs
/// between commas, each once, in their order.
#[must_use]
pub fn extensions<'a>(headers: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let told = headers.into_iter().flat_map(|header| header.split(','));
    let mut declared: Vec<String> = Vec::new();
    for uri in told.map(str::trim) {
        let fits = !uri.is_empty() && uri.len() <= MAX_URI && declared.len() < MAX_EXTENSIONS;
        if fits && !declared.iter().any(|known| known == uri) {
            declared.push(uri.to_owned());
        }
    }
    declared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_counts_before_the_query_and_an_empty_one_not_at_all() {
        let asked = |header, query| asked_version(header, query);
        assert_eq!(
            asked(Some(" 1.0 "), Some("A2A-Version=0.3")).as_deref(),
            Some("1.0")
        );
        assert_eq!(
            asked(Some(""), Some("x=1&a2a-version=0.3")).as_deref(),
            Some("0.3")
        );
        assert_eq!(asked(None, Some("A2A-Version=")), None);
        assert_eq!(asked(None, None), None);
    }

    #[test]
    fn a_path_serves_its_own_generation() {
        for (path, asked, fits) in [
            (Generation::V1_0, None, true),
            (Generation::V1_0, Some(""), true),
            (Generation::V1_0, Some("1.0"), true),
            (Generation::V1_0, Some("1.0.7"), true),
            (Generation::V1_0, Some("0.3"), false),
            (Generation::V1_0, Some("1.1"), false),
            (Generation::V1_0, Some("99.0"), false),
            (Generation::V0_3, None, true),
            (Generation::V0_3, Some("0.3.0"), true),
            (Generation::V0_3, Some("1.0"), false),
            (Generation::V0_3, Some("x"), false),
        ] {
            let read = generation_of_path(path, asked);
            assert_eq!(read.is_ok(), fits, "{path:?} {asked:?}");
            if let Err(error) = read {
                assert_eq!(error.code(), -32009);
            }
        }
    }

    #[test]
    fn extensions_are_read_of_both_headers_once_each() {
        let declared = extensions([
            "https://a.example/1, https://b.example/2,,",
            " https://a.example/1",
        ]);
        assert_eq!(declared, ["https://a.example/1", "https://b.example/2"]);
        let many = ["https://a.example/x"; 3].join(",") + &",y".repeat(100);
        assert_eq!(extensions([many.as_str()]).len(), 2);
        assert!(extensions(["x".repeat(600).as_str()]).is_empty());
    }
}
