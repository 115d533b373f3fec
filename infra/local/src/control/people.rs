//! Users of tenants, and where people sign in.

use domain::{Owner, SecretString, Tenant};
use idp::People;
use store::audit::Action;

use super::{Change, Control, Site};
use crate::data::secrets::{SignIn, Stored, Vault};
use crate::error::{ChangeError, StartError};
use crate::functions::identity;

impl Control {
    /// Adds a user to a tenant; the password.
    pub(crate) async fn add_user(
        &self,
        name: &Tenant,
        username: &str,
        roles: &[String],
    ) -> Result<SecretString, ChangeError> {
        let mut vault = self.vault.lock().await;
        let tenant = self.named(name)?;
        let Site {
            store,
            clock,
            entropy,
            ..
        } = &self.site;
        let password = idp::new_password(&**entropy);
        let user = idp::NewUser {
            username: username.to_owned(),
            display_name: identity::display_name(username),
            password: password.clone(),
            roles: roles.to_vec(),
        };
        let people = People::of_operator(store, &tenant, self.site.clock.now());
        people.add(&user, clock.now(), &**entropy).await?;
        let kept = |stored: &mut Stored| stored.put_user(&tenant, (username, roles), &password);
        self.keep_users(&mut vault, kept).await?;
        Ok(password)
    }

    /// Gives a user of a tenant a new password; it.
    pub(crate) async fn reset_user(
        &self,
        name: &Tenant,
        username: &str,
    ) -> Result<SecretString, ChangeError> {
        let mut vault = self.vault.lock().await;
        let tenant = self.named(name)?;
        let Site {
            store,
            clock,
            entropy,
            ..
        } = &self.site;
        let password = idp::new_password(&**entropy);
        let at = (clock.now(), &**entropy);
        let people = People::of_operator(store, &tenant, self.site.clock.now());
        people.reset(username, &password, at).await?;
        let current = self.now();
        let own = current.secrets.tenants.get(&tenant);
        let roles = own
            .and_then(|own| own.roles.get(username))
            .cloned()
            .unwrap_or_default();
        let kept = |stored: &mut Stored| stored.put_user(&tenant, (username, &roles), &password);
        self.keep_users(&mut vault, kept).await?;
        Ok(password)
    }

    /// Takes a user of a tenant away.
    pub(crate) async fn remove_user(&self, name: &Tenant, username: &str) -> Result<(), ChangeError> {
        let mut vault = self.vault.lock().await;
        let tenant = self.named(name)?;
        let people = People::of_operator(&self.site.store, &tenant, self.site.clock.now());
        people.remove(username).await?;
        let kept = |stored: &mut Stored| stored.remove_user(&tenant, username);
        self.keep_users(&mut vault, kept).await
    }

    /// Looks at the users whom the list of endpoints names, as an admin of the tenant has changed some: who is gone or has another
    /// password, which nobody told here, is named no more, and roles are as they are now.
    pub(crate) async fn see_users(&self, tenant: &Tenant) -> Result<(), ChangeError> {
        let mut vault = self.vault.lock().await;
        let current = self.now();
        let Some(own) = current.secrets.tenants.get(tenant) else {
            return Ok(());
        };
        let part = |error| ChangeError::from(StartError::part("authorization server")(error));
        let (mut gone, mut other_roles) = (Vec::new(), Vec::new());
        for (name, password) in &own.users {
            let user = self.site.store.identity().find_user(tenant, name).await;
            let text = password.text.clone();
            match user.map_err(part)? {
                Some(user) if idp::is_password_of(&user.password_hash, &text) => {
                    if own.roles.get(name).map_or(&[][..], Vec::as_slice) != user.roles {
                        other_roles.push((name, user.roles, text));
                    }
                }
                _ => gone.push(name),
            }
        }
        if gone.is_empty() && other_roles.is_empty() {
            return Ok(());
        }
        let kept = |stored: &mut Stored| {
            for name in gone {
                stored.remove_user(tenant, name)?;
            }
            for (name, roles, password) in &other_roles {
                stored.put_user(tenant, (name.as_str(), roles.as_slice()), password)?;
            }
            Ok(())
        };
        self.keep_users(&mut vault, kept).await
    }

    /// Where people sign in at a tenant, as its operator may read it.
    pub(crate) fn sign_in(&self, name: &Tenant) -> Result<serde_json::Value, ChangeError> {
        let tenant = self.named(name)?;
        let current = self.now();
        let own = current.secrets.tenants.get(&tenant);
        own.map(|own| own.sign_in.told())
            .ok_or_else(|| self.unknown(name))
    }

    /// Refuses where the tenant's record says who signs in: what is offered here would count for nothing.
    pub(crate) async fn may_offer(&self, name: &Tenant) -> Result<(), ChangeError> {
        let says = self.deployment(&self.named(name)?).await?;
        let mut said = ["SIGN_IN_ISSUERS", "REQUIRE_ACR"].into_iter();
        match said.find(|key| says.contains_key(*key)) {
            Some(key) => Err(ChangeError::SignIn(format!(
                "{key} is set for this tenant and wins; `switchyard tenant unset {} {key}` ends that",
                name.name()
            ))),
            None => Ok(()),
        }
    }

    /// Changes where people sign in at a tenant.
    pub(crate) async fn change_sign_in(
        &self,
        name: &Tenant,
        change: impl FnOnce(&mut SignIn) -> Result<(), ChangeError>,
    ) -> Result<(), ChangeError> {
        let mut vault = self.vault.lock().await;
        let tenant = self.named(name)?;
        let kept = |stored: &mut Stored| stored.change_sign_in(&tenant, change);
        let draft = self.draft(&vault, kept)?;
        self.take_over(&mut vault, draft, Change::Of(&tenant)).await?;
        tracing::info!(tenant.id = tenant.name(), "where people sign in was changed");
        Ok(())
    }

    /// Ends every sign-in of a person, who is an issuer and a subject there.
    pub(crate) async fn end_person(
        &self,
        name: &Tenant,
        (issuer, subject): (&str, &Owner),
    ) -> Result<(), ChangeError> {
        let tenant = self.named(name)?;
        let Site { store, clock, .. } = &self.site;
        let part = |error| ChangeError::from(StartError::part("table of people")(error));
        // Whatever was proved up to now.
        let at = clock.now().after(std::time::Duration::from_millis(1));
        if issuer == idp::issuer(&self.now().endpoints.idp, &tenant) {
            let ended = store.identity().end_user(&tenant, subject, at).await;
            if !ended.map_err(part)? {
                return Err(idp::ProvisionError::Nobody(subject.to_string()).into());
            }
        } else {
            let unusable = |_| ChangeError::SignIn("this is not a subject".to_owned());
            let person = store::person_id(issuer, subject, None).map_err(unusable)?;
            store
                .sessions()
                .end_person(&tenant, &person, at)
                .await
                .map_err(part)?;
        }
        self.site
            .told(Action::UserEnd, Some(&tenant), subject.as_str())
            .await;
        Ok(())
    }

    /// Erases a person of this name or id, or goes on with all who are being erased; the certificates.
    pub(crate) async fn erase_people(
        &self,
        name: &Tenant,
        person: Option<&str>,
    ) -> Result<Vec<serde_json::Value>, ChangeError> {
        let tenant = self.named(name)?;
        let part = |error| ChangeError::from(StartError::part("table of people")(error));
        let erasures = self.site.store.erasures();
        let mut told_of = Vec::new();
        for erasure in erasures
            .erase_named(&tenant, person, self.site.clock.now())
            .await
            .map_err(part)?
        {
            self.site
                .told(Action::PersonErase, Some(&tenant), &erasure.id)
                .await;
            told_of.push(erasure.certificate());
        }
        Ok(told_of)
    }

    async fn keep_users(
        &self,
        vault: &mut Vault,
        change: impl FnOnce(&mut Stored) -> Result<(), ChangeError>,
    ) -> Result<(), ChangeError> {
        let draft = self.draft(vault, change)?;
        let current = self.take_over(vault, draft, Change::Users).await?;
        self.list(&current.endpoints)?;
        Ok(())
    }
}
