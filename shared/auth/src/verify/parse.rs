//! Taking a token apart, before and after its signature is checked. It is read in place: what a token says is copied
//! only where it ends up in the answer.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Scopes;
use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::{Algorithm, Profile};

/// The parts of a compact JWS, decoded.
pub(super) struct Parts<'t> {
    pub(super) header: Vec<u8>,
    pub(super) payload: Vec<u8>,
    pub(super) signature: Vec<u8>,
    /// What the signature is over.
    pub(super) signed: &'t [u8],
}

impl<'t> Parts<'t> {
    pub(super) fn of(token: &'t str) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        Some(Self {
            header: decode(header)?,
            payload: decode(payload)?,
            signature: decode(signature)?,
            signed: signed.as_bytes(),
        })
    }
}

/// A header that we take. It chooses among keys that we have, and that is all it may do: one that brings a key along,
/// says where to get one, or must be understood in ways that we do not is refused.
#[derive(Deserialize)]
struct ToldHeader<'a> {
    #[serde(borrow)]
    alg: Cow<'a, str>,
    #[serde(borrow)]
    kid: Cow<'a, str>,
    #[serde(borrow, default)]
    typ: Option<Cow<'a, str>>,
    crit: Option<IgnoredAny>,
    jku: Option<IgnoredAny>,
    jwk: Option<IgnoredAny>,
    x5u: Option<IgnoredAny>,
    x5c: Option<IgnoredAny>,
    zip: Option<IgnoredAny>,
}

pub(super) struct Header<'a> {
    pub(super) algorithm: Algorithm,
    pub(super) kid: Cow<'a, str>,
    typ: Option<Cow<'a, str>>,
}

impl<'a> Header<'a> {
    pub(super) fn read(header: &'a [u8]) -> Option<Self> {
        Self::read_told(header, false)
    }

    /// The same of a token that comes straight from its issuer, whose metadata alone say where its keys are: what the header says of
    /// that is not looked at, as some issuers name their own key set there.
    pub(super) fn read_of_issuer(header: &'a [u8]) -> Option<Self> {
        Self::read_told(header, true)
    }

    fn read_told(header: &'a [u8], hints_beside: bool) -> Option<Self> {
        let told: ToldHeader<'a> = serde_json::from_slice(header).ok()?;
        let hints = [told.jku, told.jwk, told.x5u, told.x5c];
        let hints = hints.iter().flatten().count();
        let foreign = [told.crit, told.zip];
        let algorithm = match told.alg.as_ref() {
            "ES256" => Algorithm::Es256,
            "RS256" => Algorithm::Rs256,
            _ => return None,
        };
        let fits = foreign.iter().all(Option::is_none) && (hints_beside || hints == 0);
        fits.then_some(Self {
            algorithm,
            kid: told.kid,
            typ: told.typ,
        })
    }

    /// Whether its `typ` is one of these; `application/` before it says nothing more.
    pub(super) fn is_one_of(&self, types: &[String]) -> bool {
        let kind = self.typ.as_deref().unwrap_or_default();
        let kind = kind
            .get(.."application/".len())
            .filter(|start| start.eq_ignore_ascii_case("application/"))
            .map_or(kind, |start| kind.get(start.len()..).unwrap_or_default());
        types.iter().any(|fits| fits.eq_ignore_ascii_case(kind))
    }
}

/// What a token claims before its signature is checked: good for choosing the issuer, and for nothing else.
#[derive(Deserialize)]
pub(super) struct UnverifiedClaims<'a> {
    #[serde(borrow)]
    pub(super) iss: Cow<'a, str>,
}

/// What a token says once its signature is checked.
pub(super) struct Claims<'a> {
    pub(super) sub: Cow<'a, str>,
    /// Its audience is the one that was asked for, with none beside it but those that the profile names.
    pub(super) for_us: bool,
    pub(super) exp: i64,
    pub(super) nbf: Option<i64>,
    pub(super) iat: Option<i64>,
    pub(super) tenant: Option<Cow<'a, str>>,
    /// The client that the token was made for (RFC 9068).
    pub(super) client: Option<serde_json::Value>,
    pub(super) scopes: Scopes,
}

impl<'a> Claims<'a> {
    /// Reads the claims that this profile names. A claim that stands twice makes the token none.
    pub(super) fn read(payload: &'a [u8], profile: &Profile, audience: &str) -> Option<Self> {
        let mut json = serde_json::Deserializer::from_slice(payload);
        let claims = json.deserialize_map(Reader { profile, audience }).ok()?;
        json.end().ok()?;
        Some(claims)
    }
}

struct Reader<'p> {
    profile: &'p Profile,
    audience: &'p str,
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Claims<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("claims")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Claims<'de>, A::Error> {
        let (mut sub, mut aud, mut exp, mut nbf, mut iat) = (None, None, None, None, None);
        let (mut tenant, mut client, mut scopes) = (None, None, None);
        while let Some(Text(name)) = map.next_key()? {
            match name.as_ref() {
                "sub" => once(&mut sub, map.next_value::<Text<'_>>()?)?,
                "aud" => once(
                    &mut aud,
                    map.next_value_seed(Audience(self.audience, &self.profile.audiences_beside))?,
                )?,
                "exp" => once(&mut exp, map.next_value::<i64>()?)?,
                "nbf" => once(&mut nbf, map.next_value::<Option<i64>>()?)?,
                "iat" => once(&mut iat, map.next_value::<Option<i64>>()?)?,
                name if self.profile.tenant_claim.as_deref() == Some(name) => {
                    once(&mut tenant, map.next_value::<Option<Text<'_>>>()?)?;
                }
                name if self.profile.scope_claim == name => {
                    once(&mut scopes, map.next_value::<Words>()?)?;
                }
                "client_id" => once(&mut client, map.next_value()?)?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Claims {
            sub: sub.ok_or_else(|| de::Error::missing_field("sub"))?.0,
            for_us: aud.ok_or_else(|| de::Error::missing_field("aud"))?,
            exp: exp.ok_or_else(|| de::Error::missing_field("exp"))?,
            nbf: nbf.flatten(),
            iat: iat.flatten(),
            tenant: tenant.flatten().map(|Text(tenant)| tenant),
            client,
            scopes: scopes.map(|Words(scopes)| scopes).unwrap_or_default(),
        })
    }
}

fn once<T, E: de::Error>(place: &mut Option<T>, value: T) -> Result<(), E> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::custom("a claim stands twice")),
    }
}

/// A text, in place where it has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Whether a text, or a list of texts, is this audience; beside it may stand only these. A token for several places is good
/// at each of them, so that each could use it at the others.
struct Audience<'w>(&'w str, &'w [String]);

impl<'de> de::DeserializeSeed<'de> for Audience<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Audience<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of texts")
    }

    fn visit_str<E>(self, text: &str) -> Result<bool, E> {
        Ok(text == self.0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        let (mut named, mut others) = (false, false);
        while let Some(Text(text)) = list.next_element()? {
            named |= text == self.0;
            others |= text != self.0 && !self.1.iter().any(|beside| *beside == text);
        }
        Ok(named && !others)
    }
}

/// Scopes: words in a text, or a list of texts.
struct Words(Scopes);

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Words;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("scopes")
            }

            fn visit_str<E>(self, text: &str) -> Result<Words, E> {
                Ok(Words(words(text).collect()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Words, A::Error> {
                let mut scopes = Scopes::new();
                while let Some(Text(text)) = list.next_element()? {
                    scopes.extend(words(&text));
                }
                Ok(Words(scopes))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// A time of JWT (RFC 7519 §2, `NumericDate`) in whole seconds; a fraction of one is cut off.
#[must_use]
pub fn numeric_date(told: &Value) -> Option<i64> {
    let Value::Number(number) = told else {
        return None;
    };
    let cut = || {
        let seconds = number.as_f64()?.floor();
        // Beyond that it is no time of anybody's, and floats have no whole numbers.
        let is_time = seconds.abs() < 1e15;
        is_time.then(|| format!("{seconds:.0}").parse().ok()).flatten()
    };
    number.as_i64().or_else(cut)
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split_ascii_whitespace().map(str::to_owned)
}
