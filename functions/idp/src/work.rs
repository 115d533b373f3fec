//! Work instead of silence: where passwords are tried from many places at a tenant, whoever has failed before pays for a try with some
//! seconds of their machine. A lock would be a stranger's way to keep everybody out; work keeps out nobody who is there.
//!
//! A challenge is a token of ours with a random id and how much is asked: of `SHA-256(id.number)` so many first bits are to be zero. It is
//! the tenant's, good for ten minutes and once. Checking costs one digest, one signature and one write, whatever is sent.

use std::time::Duration;

use auth::{Grant, KeyError};
use domain::{ExposeSecret as _, SecretString, Timestamp};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use store::{MOST_SOURCES, StoreError};

use crate::own_token;
use crate::state::AppState;
use crate::tenant::Here;

/// How long a challenge is good.
const LIFETIME: Duration = Duration::from_secs(600);
/// The least and the most bits: about a second of a browser, and about fifteen.
const BITS: [u32; 2] = [16, 20];
/// Most digits of a number that solves one.
const NUMBER_MAX: usize = 12;
/// What the scope of a challenge begins with; its bits follow.
const SCOPE: &str = "work:";

/// What is to be done before a password is looked at.
pub(crate) struct Challenge {
    pub(crate) token: SecretString,
    pub(crate) id: String,
    pub(crate) bits: u32,
}

/// What came back for one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Paid<'a> {
    pub(crate) token: &'a str,
    pub(crate) number: &'a str,
}

#[derive(Deserialize)]
struct Told {
    aud: String,
    jti: String,
    exp: i64,
    scope: String,
}

/// How many bits are asked for where so many sources have failed at a tenant of late; none while they are few.
pub(crate) fn bits(sources: u32) -> Option<u32> {
    let times = sources.checked_div(MOST_SOURCES).and_then(u32::checked_ilog2)?;
    let [least, most] = BITS;
    Some(most.min(least.saturating_add(times)))
}

fn audience(here: &Here) -> String {
    format!("{}/work", here.issuer)
}

/// A challenge of so many bits.
pub(crate) fn challenge(app: &AppState, here: &Here, bits: u32) -> Result<Challenge, KeyError> {
    let grant = Grant {
        issuer: &here.issuer,
        subject: "work",
        tenant: Some(&here.tenant),
        audience: &audience(here),
        scopes: &[&format!("{SCOPE}{bits}")],
        lifetime: LIFETIME,
    };
    let token = app.keys().current().sign(&grant, app.now(), app.entropy())?;
    let told = own_token::payload::<Told>(token.expose_secret());
    let id = told.ok_or(KeyError::NotSigned)?.jti;
    Ok(Challenge { token, id, bits })
}

/// Whether the work was done: for a challenge of this tenant's that is good still, of so many bits or more, and not before.
pub(crate) async fn is_paid(
    app: &AppState,
    here: &Here,
    paid: Paid<'_>,
    bits: u32,
) -> Result<bool, StoreError> {
    let Some(unverified) = own_token::payload::<Told>(paid.token) else {
        return Ok(false);
    };
    if !solves(&unverified.jti, paid.number, bits) {
        return Ok(false);
    }
    let Ok(told) = own_token::told::<Told>(app, here, paid.token) else {
        return Ok(false);
    };
    let asked = told
        .scope
        .strip_prefix(SCOPE)
        .and_then(|asked| asked.parse::<u32>().ok());
    if told.aud != audience(here) || told.exp <= app.now().seconds() || asked.is_none_or(|asked| asked < bits)
    {
        return Ok(false);
    }
    let until = Timestamp::from_millis(told.exp.saturating_mul(1000));
    app.identity().spend_work(&here.tenant, &told.jti, until).await
}

/// Whether that number makes so many first bits zero.
fn solves(id: &str, number: &str, bits: u32) -> bool {
    let is_number = number.len() <= NUMBER_MAX && number.bytes().all(|b| b.is_ascii_digit());
    let digest = Sha256::digest(format!("{id}.{number}"));
    let first = digest.first_chunk::<4>().map(|first| u32::from_be_bytes(*first));
    is_number && first.is_some_and(|first| first.leading_zeros() >= bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_asked_the_more_places_fail_and_never_more_than_a_person_waits_for() {
        let most = MOST_SOURCES;
        for (sources, asked) in [
            (0, None),
            (most - 1, None),
            (most, Some(16)),
            (2 * most, Some(17)),
            (5 * most, Some(18)),
            (u32::MAX, Some(20)),
        ] {
            assert_eq!(bits(sources), asked, "{sources}");
        }
        let number = (0..)
            .find(|number| solves("id", &number.to_string(), 10))
            .unwrap();
        assert!(!solves("id", &number.to_string(), 32) && !solves("another", &number.to_string(), 10));
        assert!(!solves("id", &format!("{number} "), 0) && !solves("id", &"1".repeat(13), 0));
    }
}
