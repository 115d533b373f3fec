//! Whom a tenant lets in: at which issuers people sign in, and what a sign-in must have been. The same rule decides at the door and
//! at each look at a session, so that a changed rule ends what the one before let in.

use std::collections::BTreeSet;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// The id of the tenant's own authorization server among its providers.
pub const OWN_ISSUER: &str = "idp";
/// Longest id of an issuer and longest issuer, and most issuers.
const ID_MAX: usize = 30;
const ISSUER_MAX: usize = 250;
const ISSUERS_MAX: usize = 10;
/// What stands before a demanded `amr` value, to tell it from a demanded `acr`.
const AMR: &str = "amr:";

/// The ids of the providers that people sign in at, in the order in which they are offered. An id may say which issuer it is
/// (`corp=https://login.corp.example`): it means no other then, whatever it is pointed at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuerIds(Vec<(String, Option<String>)>);

impl Default for IssuerIds {
    fn default() -> Self {
        Self(vec![(OWN_ISSUER.to_owned(), None)])
    }
}

impl IssuerIds {
    /// Each id, with the issuer that it must be.
    pub fn all(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.0.iter().map(|(id, issuer)| (id.as_str(), issuer.as_deref()))
    }
}

impl FromStr for IssuerIds {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let named = text.split(',').map(|named| match named.trim().split_once('=') {
            Some((id, issuer)) => (id.to_owned(), Some(issuer.to_owned())),
            None => (named.trim().to_owned(), None),
        });
        let named: Vec<(String, Option<String>)> = named.collect();
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let fits = |(id, issuer): &(String, Option<String>)| {
            let is_address = |issuer: &String| issuer.len() <= ISSUER_MAX && url::Url::parse(issuer).is_ok();
            (1..=ID_MAX).contains(&id.len())
                && id.bytes().all(plain)
                && issuer.as_ref().is_none_or(is_address)
        };
        let different: BTreeSet<&String> = named.iter().map(|(id, _)| id).collect();
        match named.iter().all(fits) && named.len() <= ISSUERS_MAX && different.len() == named.len() {
            true => Ok(Self(named)),
            false => Err(
                "needs ids of providers with commas between them, such as idp,corp or idp,corp=https://login.corp.example".to_owned(),
            ),
        }
    }
}

/// What a sign-in must have been, of which one is enough: values of `acr`, and of `amr` behind `amr:`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demands(Vec<String>);

impl FromStr for Demands {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let fits = |word: &String| !word.trim_start_matches(AMR).is_empty() && word.len() <= 200;
        match words.iter().all(fits) && words.len() <= 20 {
            true => Ok(Self(words)),
            false => Err("needs values of acr, and of amr behind amr:, with blanks between them".to_owned()),
        }
    }
}

impl Demands {
    /// Whether a sign-in of that kind is enough.
    #[must_use]
    pub fn are_met(&self, acr: Option<&str>, amr: &[String]) -> bool {
        let met = |word: &String| match word.strip_prefix(AMR) {
            Some(method) => amr.iter().any(|used| used == method),
            None => acr == Some(word),
        };
        self.0.is_empty() || self.0.iter().any(met)
    }

    /// What an issuer is asked for (`acr_values`), where anything of that kind is demanded.
    #[must_use]
    pub fn asked(&self) -> Option<String> {
        let values: Vec<&str> = self.0.iter().map(String::as_str).collect();
        let values: Vec<&str> = values.into_iter().filter(|word| !word.starts_with(AMR)).collect();
        (!values.is_empty()).then(|| values.join(" "))
    }
}

/// How somebody has signed in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignInProof {
    /// The id of the issuer on the tenant's list then.
    pub issuer_id: String,
    /// The identity token's `acr`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acr: Option<String>,
    /// Its `amr`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub amr: Vec<String>,
    /// When they were let in by that; proofs of older releases do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// Most characters of an `acr` or `amr` that are kept, and most values.
const PROOF_TEXT_MAX: usize = 200;
const PROOF_VALUES_MAX: usize = 20;

impl SignInProof {
    /// A proof by that issuer. Values too long for a demand are left out, as none can ask for them.
    #[must_use]
    pub fn new(issuer_id: &str, acr: Option<&str>, amr: &[String], at: Timestamp) -> Self {
        let fits = |text: &str| text.len() <= PROOF_TEXT_MAX;
        let amr = amr.iter().filter(|used| fits(used));
        Self {
            issuer_id: issuer_id.to_owned(),
            acr: acr.filter(|acr| fits(acr)).map(str::to_owned),
            amr: amr.take(PROOF_VALUES_MAX).cloned().collect(),
            at: Some(at),
        }
    }
}

/// Whom a tenant lets in now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignInRule {
    /// At which issuers.
    pub issuers: IssuerIds,
    /// What it must have been.
    pub demands: Demands,
}

impl SignInRule {
    /// Whether somebody would be let in now who has signed in so at that issuer. Without a proof, as sessions of releases before
    /// proofs have none, they were let in by the rule of then, and nothing of them can be held against one that demands more.
    #[must_use]
    pub fn admits(&self, issuer: &str, proof: Option<&SignInProof>) -> bool {
        let Some(proof) = proof else {
            return self.demands.are_met(None, &[]);
        };
        let is_offered = |(id, named): (&str, Option<&str>)| {
            id == proof.issuer_id && named.is_none_or(|named| named == issuer)
        };
        self.issuers.all().any(is_offered) && self.demands.are_met(proof.acr.as_deref(), &proof.amr)
    }
}

/// Most rules of before that are remembered, the newest ones.
const BEFORE_MAX: usize = 20;

/// The rule of now, and those before it with the times of their ends: one that comes back brings nobody back who was out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignInRules {
    now: SignInRule,
    before: Vec<(Timestamp, SignInRule)>,
}

impl SignInRules {
    /// This rule, and none before.
    #[must_use]
    pub fn first(now: SignInRule) -> Self {
        Self {
            now,
            before: Vec::new(),
        }
    }

    /// The rules from the time on when this one counts; `None` where it does already.
    #[must_use]
    pub fn turned(&self, rule: &SignInRule, at: Timestamp) -> Option<Self> {
        let ended = (at, self.now.clone());
        let before = self.before.iter().rev().take(BEFORE_MAX - 1).rev().cloned();
        (self.now != *rule).then(|| Self {
            now: rule.clone(),
            before: before.chain([ended]).collect(),
        })
    }

    /// Whether the rule of now would let them in, and each that counted since they were.
    #[must_use]
    pub fn admit(&self, issuer: &str, proof: Option<&SignInProof>) -> bool {
        let since = proof.and_then(|proof| proof.at);
        let counted = |(until, _): &&(Timestamp, SignInRule)| since.is_some_and(|since| since < *until);
        let before = self.before.iter().filter(counted).map(|(_, rule)| rule);
        [&self.now]
            .into_iter()
            .chain(before)
            .all(|rule| rule.admits(issuer, proof))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_issuers_has_each_once_and_nothing_odd() {
        let ids: IssuerIds = "idp, corp=https://login.corp.example".parse().unwrap();
        let named: Vec<_> = ids.all().collect();
        assert_eq!(
            named,
            [("idp", None), ("corp", Some("https://login.corp.example"))]
        );
        for bad in [
            "",
            ",",
            "idp,",
            "idp,idp",
            "Corp",
            "a.b",
            "a b",
            "a#b",
            "corp=",
            "corp=nowhere",
            &"x".repeat(31),
        ] {
            assert!(bad.parse::<IssuerIds>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn one_of_the_demands_is_enough_and_none_of_them_is_not() {
        let demands: Demands = "urn:mfa amr:hwk".parse().unwrap();
        let amr = |used: &[&str]| used.iter().map(|used| (*used).to_owned()).collect::<Vec<_>>();
        assert!(demands.are_met(Some("urn:mfa"), &[]));
        assert!(demands.are_met(Some("0"), &amr(&["pwd", "hwk"])));
        assert!(!demands.are_met(None, &[]) && !demands.are_met(Some("hwk"), &amr(&["urn:mfa", "amr:hwk"])));
        assert_eq!(demands.asked().as_deref(), Some("urn:mfa"));
        let nothing = Demands::default();
        assert!(nothing.are_met(None, &[]) && nothing.asked().is_none());
        assert_eq!("amr:otp".parse::<Demands>().unwrap().asked(), None);
        assert!("amr:".parse::<Demands>().is_err());
    }

    #[test]
    fn a_changed_rule_admits_nobody_whom_it_would_not_let_in() {
        let rule = |issuers: &str, demands: &str| SignInRule {
            issuers: issuers.parse().unwrap(),
            demands: demands.parse().unwrap(),
        };
        let (one, mfa) = ("https://one.example", ["mfa".to_owned()]);
        let at = Timestamp::from_millis;
        let weak = SignInProof::new("one", None, &[], at(5));
        let strong = SignInProof::new("one", None, &mfa, at(5));
        for (issuers, demands, admits_weak, admits_strong) in [
            ("idp,one", "", true, true),
            ("one=https://one.example", "", true, true),
            // It was removed, another one has its id, more is demanded.
            ("idp", "", false, false),
            ("one=https://other.example", "", false, false),
            ("idp,one", "amr:mfa", false, true),
        ] {
            let rule = rule(issuers, demands);
            assert_eq!(rule.admits(one, Some(&weak)), admits_weak, "{issuers} {demands}");
            assert_eq!(
                rule.admits(one, Some(&strong)),
                admits_strong,
                "{issuers} {demands}"
            );
        }
        assert!(rule("idp", "").admits(one, None) && !rule("idp", "amr:mfa").admits(one, None));

        // A rule that comes back finds out whoever was out meanwhile, and nobody else.
        let (open, closed) = (rule("idp,one", ""), rule("idp", ""));
        let first = SignInRules::first(open.clone());
        assert_eq!(first.turned(&open, at(6)), None);
        let back = first
            .turned(&closed, at(7))
            .and_then(|rules| rules.turned(&open, at(9)))
            .unwrap();
        let admitted = |let_in| back.admit(one, Some(&SignInProof::new("one", None, &[], at(let_in))));
        assert!(first.admit(one, Some(&weak)) && !admitted(5) && !admitted(8) && admitted(9));
        let own = SignInProof::new("idp", None, &[], at(5));
        assert!(back.admit("https://idp.example/acme", Some(&own)));
        let turn = |rules: SignInRules, n: i64| {
            let next = if n % 2 == 0 { &closed } else { &open };
            rules.turned(next, at(10 + n)).unwrap()
        };
        assert_eq!((0..50).fold(back, turn).before.len(), BEFORE_MAX);
    }
}
