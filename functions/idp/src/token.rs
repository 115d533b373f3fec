//! `POST /{tenant}/token` and `/{tenant}/generate-token`: a code, a refresh token or a client's own word for tokens.

use std::sync::Arc;

use axum::Json;
use axum::extract::State as Held;
use axum::response::Response;
use domain::{ExposeSecret as _, Owner, Scopes, SecretString, Timestamp};
use http::HeaderMap;
use serde_json::{Value, json};
use store::audit::{self, Action, Actor};
use store::{Client, Code, Family, Redeemed, Rotated, User};

use crate::error::{TokenError, unstored};
use crate::fields::Fields;
use crate::refresh::RefreshToken;
use crate::state::AppState;
use crate::tenant::Here;
use crate::userinfo::user_of;
use crate::{client, resource, scope};

const STALE_CODE: TokenError = TokenError::InvalidGrant("the code is not good, or not any more");
const STALE_REFRESH: TokenError = TokenError::InvalidGrant("the refresh token is not good, or not any more");

pub(crate) async fn issue(
    here: Here,
    Held(app): Held<Arc<AppState>>,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Response, TokenError> {
    let client = client::authenticated(&app, &here, &headers, &fields).await?;
    let grant = fields.needed("grant_type", "grant_type is missing")?;
    let request = TokenRequest {
        app: &app,
        here: &here,
        client: &client,
        fields: &fields,
        now: app.now(),
    };
    let known = ["authorization_code", "refresh_token", "client_credentials"];
    if !known.contains(&grant) {
        return Err(TokenError::UnsupportedGrantType);
    }
    if !client.grant_types.iter().any(|allowed| allowed == grant) {
        return Err(TokenError::UnauthorizedClient);
    }
    let (action, body) = match grant {
        "authorization_code" => (Action::TokenIssue, request.code().await),
        "refresh_token" => (Action::TokenRefresh, request.refresh().await),
        _ => (Action::TokenIssue, request.client_credentials()),
    };
    let result = body.as_ref().map_or_else(TokenError::name, |_| audit::DONE);
    let by = Actor::Client(&client.client_id);
    app.tell(action, &here.tenant, by, grant, result).await;
    Ok(unstored(Json(body?)))
}

/// One request for tokens, of a client that is known.
struct TokenRequest<'a> {
    app: &'a AppState,
    here: &'a Here,
    client: &'a Client,
    fields: &'a Fields,
    now: Timestamp,
}

/// What an access token is to be for.
struct Wanted<'a> {
    subject: &'a str,
    resource: &'a str,
    scopes: &'a Scopes,
    auth_time: Option<Timestamp>,
}

impl TokenRequest<'_> {
    async fn code(&self) -> Result<Value, TokenError> {
        let code = self.fields.needed("code", "code is missing")?;
        let redirect_uri = self.fields.needed("redirect_uri", "redirect_uri is missing")?;
        let verifier = self.fields.needed("code_verifier", "code_verifier is missing")?;
        let identity = self.app.identity();
        let tenant = &self.here.tenant;
        let family_id = self.app.entropy().uuid().to_string();
        let hash = auth::token::hash(code);
        let code = match identity.redeem_code(tenant, &hash, &family_id, self.now).await? {
            Redeemed::Fresh(code) => code,
            Redeemed::Missing => return Err(STALE_CODE),
            Redeemed::Replayed { family_id } => {
                // Two have it, so nobody keeps what the first one got (RFC 9700 §4.5).
                identity.revoke_family(tenant, &family_id, self.now).await?;
                tracing::warn!(
                    client_id = self.client.client_id,
                    "a code came twice; what it issued is revoked"
                );
                return Err(STALE_CODE);
            }
        };
        // A code that comes from the wrong client, address or verifier is in wrong hands, and used up by now.
        let right = code.client_id == self.client.client_id
            && code.redirect_uri == redirect_uri
            && auth::pkce::verify(&code.challenge, verifier);
        if !right {
            return Err(STALE_CODE);
        }
        self.same_resource(&code.resource)?;
        let user = self
            .still_here(&code.subject, Some(code.auth_time), STALE_CODE)
            .await?;
        let scopes = allowed(scope::parsed(&code.scope), &user).ok_or(STALE_CODE)?;
        let refresh = self.begin_family(&family_id, &code, &scopes).await?;
        let mut body = self.access(&Wanted {
            subject: code.subject.as_str(),
            resource: &code.resource,
            scopes: &scopes,
            auth_time: Some(code.auth_time),
        })?;
        if scopes.contains(scope::OPENID) {
            let token = self.id_token(&code, &scopes).await?;
            put(&mut body, "id_token", &token);
        }
        if let Some(refresh) = refresh {
            put(&mut body, "refresh_token", &refresh);
        }
        Ok(body)
    }

    /// Stores the family of what the code issues: also without a refresh token, as the replay of the code is to find
    /// something to revoke.
    async fn begin_family(
        &self,
        family_id: &str,
        code: &Code,
        scopes: &Scopes,
    ) -> Result<Option<SecretString>, TokenError> {
        let settings = &self.app.given.settings;
        let offline = scopes.contains(scope::OFFLINE)
            && self
                .client
                .grant_types
                .iter()
                .any(|grant| grant == "refresh_token");
        let lifetime = if offline {
            settings.refresh_family
        } else {
            settings.access_token
        };
        let refresh = RefreshToken::of(family_id, self.app.entropy());
        let family = Family {
            id: family_id.to_owned(),
            client_id: code.client_id.clone(),
            subject: code.subject.clone(),
            scope: code.scope.clone(),
            resource: code.resource.clone(),
            refresh_hash: refresh.hash(),
            auth_time: Some(code.auth_time),
            generation: 0,
            expires_at: self.now.after(lifetime),
            revoked: false,
        };
        // The code's replay was quicker than this.
        if !self.app.identity().put_family(&self.here.tenant, &family).await? {
            return Err(STALE_CODE);
        }
        Ok(offline.then(|| refresh.into_text()))
    }

    async fn refresh(&self) -> Result<Value, TokenError> {
        let presented = self.fields.needed("refresh_token", "refresh_token is missing")?;
        let presented = RefreshToken::parse(presented).ok_or(STALE_REFRESH)?;
        let identity = self.app.identity();
        let tenant = &self.here.tenant;
        let family = identity.find_family(tenant, presented.family(), self.now).await?;
        let family = family.ok_or(STALE_REFRESH)?;
        // Another client's token is not even looked at, so that nobody ends what is not theirs.
        if family.client_id != self.client.client_id || family.revoked {
            return Err(STALE_REFRESH);
        }
        self.same_resource(&family.resource)?;
        let user = match self
            .still_here(&family.subject, family.auth_time, STALE_REFRESH)
            .await
        {
            Ok(user) => user,
            Err(gone) => {
                identity
                    .revoke_family(tenant, presented.family(), self.now)
                    .await?;
                return Err(gone);
            }
        };
        let granted = allowed(scope::parsed(&family.scope), &user).ok_or(STALE_REFRESH)?;
        let scopes = match self.fields.one("scope").unwrap_or_default() {
            None => granted,
            Some(fewer) => Some(scope::parsed(fewer))
                .filter(|fewer| !fewer.is_empty() && fewer.is_subset(&granted))
                .ok_or(TokenError::InvalidScope)?,
        };
        let next = RefreshToken::of(presented.family(), self.app.entropy());
        let rotated = identity
            .rotate(
                tenant,
                presented.family(),
                &presented.hash(),
                &next.hash(),
                self.now,
            )
            .await?;
        match rotated {
            Rotated::Yes(_) => {}
            Rotated::Missing | Rotated::Revoked => return Err(STALE_REFRESH),
            Rotated::Reused => {
                tracing::warn!(
                    client_id = self.client.client_id,
                    "a refresh token came twice; its family is revoked"
                );
                return Err(STALE_REFRESH);
            }
        }
        let mut body = self.access(&Wanted {
            subject: family.subject.as_str(),
            resource: &family.resource,
            scopes: &scopes,
            auth_time: None,
        })?;
        put(&mut body, "refresh_token", &next.into_text());
        Ok(body)
    }

    fn client_credentials(&self) -> Result<Value, TokenError> {
        if self.client.public {
            return Err(TokenError::UnauthorizedClient);
        }
        let scopes = match self.fields.one("scope").unwrap_or_default() {
            None => Some(scope::TASKS),
            asked => asked,
        };
        // Nobody's orders and nobody's name: there is no person behind it.
        let scopes = scope::asked(scopes, self.client)
            .filter(|scopes| scopes.iter().all(|scope| scope == scope::TASKS))
            .ok_or(TokenError::InvalidScope)?;
        let resource =
            resource::asked(self.fields.all("resource"), self.client).ok_or(TokenError::InvalidTarget)?;
        self.access(&Wanted {
            subject: &self.client.client_id,
            resource,
            scopes: &scopes,
            auth_time: None,
        })
    }

    /// Whoever was removed, or has signed in before their epoch, gets nothing more.
    async fn still_here(
        &self,
        subject: &Owner,
        auth_time: Option<Timestamp>,
        stale: TokenError,
    ) -> Result<User, TokenError> {
        let user = user_of(self.app, self.here, subject).await?;
        let signed_in = auth_time.unwrap_or(Timestamp::from_millis(0));
        match user {
            Some(user) if user.admits(signed_in) => Ok(user),
            _ => Err(stale),
        }
    }

    /// A resource may be named again, and must then be the one that was agreed to.
    fn same_resource(&self, agreed: &str) -> Result<(), TokenError> {
        if self.fields.all("resource").all(|named| named == agreed) {
            Ok(())
        } else {
            Err(TokenError::InvalidTarget)
        }
    }

    fn access(&self, wanted: &Wanted<'_>) -> Result<Value, TokenError> {
        let lifetime = self.app.given.settings.access_token;
        let scope = scope::text(wanted.scopes);
        let token = auth::AccessToken {
            issuer: &self.here.issuer,
            subject: wanted.subject,
            tenant: Some(&self.here.tenant),
            audience: wanted.resource,
            client_id: &self.client.client_id,
            scope: &scope,
            auth_time: wanted.auth_time,
            lifetime,
        };
        let keys = self.app.keys();
        let token = keys
            .current()
            .sign_access_token(&token, self.now, self.app.entropy())?;
        Ok(json!({
            "access_token": token.expose_secret(),
            "token_type": "Bearer",
            "expires_in": lifetime.as_secs(),
            "scope": scope,
        }))
    }

    async fn id_token(&self, code: &Code, scopes: &Scopes) -> Result<SecretString, TokenError> {
        let user = if scopes.contains(scope::PROFILE) {
            user_of(self.app, self.here, &code.subject).await?
        } else {
            None
        };
        let token = auth::IdToken {
            issuer: &self.here.issuer,
            subject: code.subject.as_str(),
            tenant: Some(&self.here.tenant),
            client_id: &self.client.client_id,
            nonce: code.nonce.as_deref(),
            auth_time: code.auth_time,
            name: user.as_ref().map(|user| user.display_name.as_str()),
            preferred_username: user.as_ref().map(|user| user.username.as_str()),
            lifetime: self.app.given.settings.access_token,
        };
        Ok(self.app.keys().current().sign_id_token(&token, self.now)?)
    }
}

/// What of these scopes the person can allow now: whoever has lost a role has lost what it gave. `None` where that is nothing.
fn allowed(scopes: Scopes, user: &User) -> Option<Scopes> {
    let kept: Scopes = scopes
        .into_iter()
        .filter(|scope| auth::scope::may_allow(scope, &user.roles))
        .collect();
    (!kept.is_empty()).then_some(kept)
}

fn put(body: &mut Value, name: &str, token: &SecretString) {
    if let Some(fields) = body.as_object_mut() {
        fields.insert(name.to_owned(), token.expose_secret().into());
    }
}
