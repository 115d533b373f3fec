//! The token of a notification, in whichever header its sender puts it, and the job it belongs to.

use a2a::{NOTIFICATION_TOKEN_HEADER, NOTIFICATION_TOKEN_HEADER_SHORT};
use domain::{ExposeSecret, SecretString, Task};
use http::HeaderMap;
use http::header::AUTHORIZATION;

/// Every token that the headers offer: agents differ in where they put it, and some send credentials of their own
/// beside it.
pub(crate) fn offered(headers: &HeaderMap) -> Vec<SecretString> {
    let text = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::trim)
    };
    let bearer = text(AUTHORIZATION.as_str()).and_then(|value| auth::bearer(Some(value)).ok());
    let named = [NOTIFICATION_TOKEN_HEADER, NOTIFICATION_TOKEN_HEADER_SHORT].map(text);
    let tokens = std::iter::once(bearer).chain(named).flatten();
    tokens
        .filter(|token| !token.is_empty())
        .map(SecretString::from)
        .collect()
}

/// The number of the job whose notifications carry this token. Every job is compared, in constant time each.
pub(crate) fn job_of(task: &Task, token: &SecretString) -> Option<u32> {
    let token = token.expose_secret();
    // Every job is compared, so that the time does not tell which one fits.
    task.jobs.iter().fold(None, |found, job| {
        if auth::token::matches(&job.webhook.hash, token) {
            Some(job.number)
        } else {
            found
        }
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::testing::{prepared_job, task_with};

    #[test]
    fn a_token_is_taken_from_any_of_its_headers() {
        let offers = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_str(value).unwrap());
            offered(&headers)
                .iter()
                .map(|token| token.expose_secret().to_owned())
                .collect::<Vec<_>>()
        };
        for (name, value) in [
            ("authorization", "Bearer t"),
            ("x-a2a-notification-token", "t"),
            ("a2a-notification-token", "t"),
        ] {
            assert_eq!(offers(name, value), ["t"], "{name}");
        }
        for (name, value) in [
            ("authorization", "Basic t"),
            ("x-a2a-notification-token", ""),
            ("x-token", "t"),
        ] {
            assert!(offers(name, value).is_empty(), "{name}: {value}");
        }
    }

    #[test]
    fn a_token_names_its_own_job_alone() {
        let task = task_with(vec![prepared_job(0, "one"), prepared_job(1, "two")]);
        assert_eq!(job_of(&task, &"one".into()), Some(0));
        assert_eq!(job_of(&task, &"two".into()), Some(1));
        assert_eq!(job_of(&task, &"three".into()), None);
        assert_eq!(job_of(&task_with(Vec::new()), &"one".into()), None);
    }
}
