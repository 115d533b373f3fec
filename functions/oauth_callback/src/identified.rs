//! Who signs in: what the issuer says of them, and what is known of them here.
//!
//! A person is an issuer and a subject there, never a name or an address.

use std::time::Duration;

use domain::{ExposeSecret, Owner, SecretString, SignInProof, Timestamp};
use outbound::oauth::{CodeExchange, ServerMetadata};
use store::{Person, Profile, person_id};

use crate::attempt::Attempt;
use crate::id_token::{self, Expected, ForeignIdentity, Identity};
use crate::issuers::SignInIssuer;
use crate::sign_in::MAX_AGE;
use crate::sign_in_page::SignInPage;
use crate::state::State;

/// The types that identity tokens say they are.
const TYPES: [&str; 2] = ["JWT", ""];

/// So far may an issuer's clock and ours be apart.
const SKEW: Duration = Duration::from_secs(120);

/// Somebody who signs in, and may.
pub(crate) struct Identified {
    pub(crate) person: Person,
    /// Their own id here.
    pub(crate) id: Owner,
    /// The guest whose work they took over.
    pub(crate) work: Option<Owner>,
}

/// Who the code was issued for.
pub(crate) async fn by_code(
    app: &State,
    (issuer, metadata): (&SignInIssuer, &ServerMetadata),
    attempt: &Attempt,
    code: &SecretString,
) -> Result<Identified, SignInPage> {
    // Before the code is exchanged: whatever ends this person's sign-ins from here on is later than that.
    let asked_at = app.clock().now();
    let provider = &issuer.provider;
    let exchange = CodeExchange {
        code,
        verifier: &attempt.verifier(),
        redirect_uri: &app.signed_in_uri(),
        resource: &provider.issuer,
    };
    let outbound = &app.consents.outbound;
    let exchanged = outbound.exchange_code(&metadata.token_endpoint, provider, exchange);
    let tokens = exchanged.await.map_err(|error| SignInPage::of_provider(&error))?;
    let token = tokens.id_token.ok_or_else(|| unusable(app, "there is none"))?;
    let nonce = attempt.nonce();
    if issuer.is_own() {
        let expected = Expected {
            issuer: &provider.issuer,
            client_id: &provider.client.id,
            nonce: &nonce,
        };
        let identity = id_token::identity(&token, &expected, app.clock().now());
        let identity =
            identity.ok_or_else(|| unusable(app, "it is not our own issuer's for this request"))?;
        // Our own server knows passwords alone.
        if !app.sign_in.demands.are_met(None, &[]) {
            return Err(SignInPage::TooWeak);
        }
        return own(app, issuer, &identity, asked_at).await;
    }
    let checks = app.sign_in.statements(issuer, metadata);
    let checks = checks.ok_or(SignInPage::Unusable)?;
    let claims = checks.read(token.expose_secret(), &TYPES, app.clock().now());
    let claims = claims.await.map_err(|not_taken| {
        let page = unusable(app, not_taken.reason);
        match not_taken.refusal {
            auth::Refusal::Unavailable => SignInPage::Unreachable,
            _ => page,
        }
    })?;
    let roles = provider.sign_in.roles_claim.as_deref();
    let identity = id_token::foreign(&claims, &nonce, roles).map_err(|reason| unusable(app, reason))?;
    // OpenID Connect Core 3.1.3.7 (13): it was asked for a proof of so long ago at most.
    let now = app.clock().now();
    if identity.auth_time > now.after(SKEW) {
        return Err(unusable(app, "auth_time lies ahead"));
    }
    if identity.auth_time.after(MAX_AGE).after(SKEW) < now {
        return Err(SignInPage::TooOld);
    }
    if !app
        .sign_in
        .demands
        .are_met(identity.acr.as_deref(), &identity.amr)
    {
        return Err(SignInPage::TooWeak);
    }
    foreign(app, issuer, identity, asked_at).await
}

fn unusable(app: &State, reason: &str) -> SignInPage {
    let tenant = app.tenant().name();
    tracing::warn!(
        tenant.id = tenant,
        reason,
        "identity token is not of this sign-in"
    );
    SignInPage::Unusable
}

/// A user of the tenant's own authorization server.
async fn own(
    app: &State,
    issuer: &SignInIssuer,
    identity: &Identity,
    asked_at: Timestamp,
) -> Result<Identified, SignInPage> {
    let username = identity.username.clone().ok_or(SignInPage::Nobody)?;
    let subject = Owner::parse(&identity.subject).map_err(|_| SignInPage::Nobody)?;
    // The token says it to the second; within that second, the issuer has just looked at what counts.
    let auth_time = identity.auth_time_at_most.min(asked_at);
    let (store, tenant) = (&app.consents.store, app.tenant());
    let user = store.identity().find_user(tenant, &username).await?;
    let user = user.filter(|user| user.subject == subject && user.admits(auth_time));
    let user = user.ok_or(SignInPage::Nobody)?;
    // Who has the same name after them is somebody else.
    let name = &issuer.provider.issuer;
    let id = person_id(name, &subject, user.since).map_err(|_| SignInPage::Failed)?;
    let known = store.sessions().find_person(tenant, &id).await?;
    Ok(Identified {
        person: Person {
            issuer: name.clone(),
            subject,
            username: user.username,
            auth_time,
            id: Some(id.clone()),
            sid: None,
            proof: Some(SignInProof::new(&issuer.id, None, &[], asked_at)),
        },
        id,
        work: known.and_then(|known| known.owner),
    })
}

/// A person of another issuer: who comes for the first time gets a record, with an epoch like a user's.
async fn foreign(
    app: &State,
    issuer: &SignInIssuer,
    identity: ForeignIdentity,
    asked_at: Timestamp,
) -> Result<Identified, SignInPage> {
    let name = &issuer.provider.issuer;
    let subject = identity.subject;
    let id = person_id(name, &subject, None).map_err(|_| SignInPage::Failed)?;
    let profile = Profile {
        issuer: name.clone(),
        subject: subject.clone(),
        username: identity.username,
        display_name: identity.display_name,
        roles: issuer.roles(&identity.roles),
    };
    let sessions = app.consents.store.sessions();
    let known = sessions.meet_person(app.tenant(), &id, &profile).await?;
    let auth_time = identity.auth_time.min(asked_at);
    if !known.admits(auth_time) {
        return Err(SignInPage::TooOld);
    }
    Ok(Identified {
        person: Person {
            issuer: name.clone(),
            subject,
            username: String::new(),
            auth_time,
            id: Some(id.clone()),
            sid: identity.sid,
            proof: Some(SignInProof::new(
                &issuer.id,
                identity.acr.as_deref(),
                &identity.amr,
                asked_at,
            )),
        },
        id,
        work: known.owner,
    })
}
