//! Whom a tenant lets in, and whom it did before: a rule is noted by the first process that works by it, so that one that comes back
//! brings nobody back who was out.

use domain::{SignInRule, SignInRules, Tenant, Timestamp};
use tokio::sync::OnceCell;

use super::Person;
use crate::change::{Change, text};
use crate::codec::text_of;
use crate::dynamo::{ROUNDS, Written};
use crate::record::{document_of, record};
use crate::{Store, StoreError};

const DOCUMENT: &str = "the rules of sign-in";

/// A rule, and those before it once they are read.
pub(crate) struct Ruled {
    rule: SignInRule,
    rules: OnceCell<SignInRules>,
}

impl Ruled {
    pub(crate) fn by(rule: SignInRule) -> Self {
        let rules = OnceCell::new();
        Self { rule, rules }
    }
}

impl Store {
    /// Whether somebody who has signed in so is let in by the rule of now, and was by each since then; one read and one write at most
    /// in a process.
    ///
    /// # Errors
    /// What the database says.
    pub async fn admits(&self, tenant: &Tenant, person: &Person, now: Timestamp) -> Result<bool, StoreError> {
        let Some(Ruled { rule, rules }) = self.sign_in.as_deref() else {
            return Ok(true);
        };
        let noted = rules.get_or_try_init(|| self.noted((tenant, rule), now, false));
        Ok(noted.await?.admit(&person.issuer, person.proof.as_ref()))
    }

    /// Notes the rule by which somebody signs in, where none is noted yet.
    pub(super) async fn note_rule(&self, tenant: &Tenant, now: Timestamp) -> Result<(), StoreError> {
        if let Some(Ruled { rule, .. }) = self.sign_in.as_deref() {
            self.noted((tenant, rule), now, true).await?;
        }
        Ok(())
    }

    async fn noted(
        &self,
        (tenant, rule): (&Tenant, &SignInRule),
        now: Timestamp,
        is_first: bool,
    ) -> Result<SignInRules, StoreError> {
        let table = &self.tables().sessions;
        let key = (format!("{}#session#@@rules", tenant.prefix()), "RULES".to_owned());
        for _ in 0..ROUNDS {
            let item = self.item(table, &key).await?;
            let seen = item.as_ref().and_then(|item| text_of(item, "body")).map(text);
            let known: Option<SignInRules> = item.map(|item| document_of(table, item)).transpose()?;
            let rules = match known {
                // Nobody has signed in yet.
                None if !is_first => return Ok(SignInRules::first(rule.clone())),
                None => SignInRules::first(rule.clone()),
                Some(known) => match known.turned(rule, now) {
                    None => return Ok(known),
                    Some(turned) => turned,
                },
            };
            let as_seen = match seen {
                None => Change::new().when("attribute_not_exists(#pk)"),
                Some(seen) => Change::new().when("#body = :seen").value("seen", seen),
            };
            let noted = record(key.clone(), DOCUMENT, &rules, None)?;
            if let Written::Done(_) = self.put(table, noted, as_seen).await? {
                return Ok(rules);
            }
        }
        Err(StoreError::Throttled { operation: "PutItem" })
    }
}
