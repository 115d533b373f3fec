//! Addresses as tokens have them, and those that lie below others.

use url::Url;

/// The text of a URL as it stands in tokens: issuers and audiences are compared to the letter.
#[must_use]
pub fn plain(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}

/// `base` with more behind its path.
#[must_use]
pub fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    let (path, query) = path
        .split_once('?')
        .map_or((path, None), |(path, query)| (path, Some(query)));
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    url.set_query(query);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_join_below_a_base() {
        let base = Url::parse("http://127.0.0.1:3000/t/acme").unwrap();
        assert_eq!(
            below(&base, "/api/chat").as_str(),
            "http://127.0.0.1:3000/t/acme/api/chat"
        );
        assert_eq!(
            below(&base, "/agents?tag=a:b").as_str(),
            "http://127.0.0.1:3000/t/acme/agents?tag=a:b"
        );
        let root = Url::parse("http://127.0.0.1:3000/").unwrap();
        assert_eq!(
            below(&root, "/registry").as_str(),
            "http://127.0.0.1:3000/registry"
        );
    }
}
