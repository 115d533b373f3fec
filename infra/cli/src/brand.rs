//! `switchyard tenant brand …`: what a tenant's page calls itself, its accent colours, its logo.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use domain::{SettingChange, Tenant};
use http::Method;
use serde_json::{Value, json};

use super::Failure;
use super::place::admin;
use super::tenant_at::At;
use crate::client::Call;
use crate::out;
use local::functions::sam_env::quoted;
use local::logo;

/// The settings that are a brand.
const KEYS: [&str; 3] = ["brand", "accent", "accentDark"];

#[derive(Args)]
pub(super) struct Brand {
    /// The tenant's name
    tenant: Tenant,
    /// The name on the page, 1 to 40 characters
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// The accent colour of the light scheme, such as #7a1f5c. Text in it must reach a contrast of 4.5:1
    #[arg(long, value_name = "#RRGGBB")]
    accent: Option<String>,
    /// The accent colour of the dark scheme; without it, the light one is lightened until it is readable
    #[arg(long, value_name = "#RRGGBB")]
    accent_dark: Option<String>,
    /// The logo: a PNG, or an SVG without scripts, styles and links, of at most 32 KB
    #[arg(long, value_name = "FILE")]
    logo: Option<PathBuf>,
    /// Remove the brand first; other options of the same call are set afterwards
    #[arg(long)]
    reset: bool,
    #[command(flatten)]
    at: At,
}

impl Brand {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let given = [&self.name, &self.accent, &self.accent_dark];
        let mut changes = Vec::new();
        for (key, value) in KEYS.into_iter().zip(given) {
            if value.is_some() || self.reset {
                let change = SettingChange::parse(key, value.as_deref());
                changes.push(change.map_err(Failure::other)?);
            }
        }
        // All is checked before anything is changed.
        let file = self.logo.as_deref().map(read).transpose()?;
        if changes.is_empty() && file.is_none() {
            return self.show().await;
        }
        if self.at.aws() {
            return self.told_for_aws(&changes, file.as_ref());
        }
        let tenant = self.tenant.name();
        if !changes.is_empty() {
            self.at.change(&self.tenant, &changes).await?;
        }
        let path = format!("/tenants/{tenant}/logo");
        if let Some((bytes, _)) = file {
            let body = json!({ "logo": STANDARD.encode(bytes) });
            let asked = self
                .at
                .place()
                .ask(|endpoints| Call::with_body(Method::PUT, admin(endpoints, &path), &body));
            asked.await?;
            told!(
                json!({ "name": tenant, "logo": true }),
                "{tenant}: the logo is stored; pages that are opened within ten seconds may not have it yet"
            );
        } else if self.reset {
            let asked = self.at.place().ask(|endpoints| Call {
                method: Method::DELETE,
                ..Call::get(admin(endpoints, &path))
            });
            asked.await?;
            told!(
                json!({ "name": tenant, "logo": false }),
                "{tenant}: there is no logo any more"
            );
        }
        Ok(())
    }

    fn told_for_aws(
        &self,
        changes: &[SettingChange],
        file: Option<&(Vec<u8>, logo::LogoType)>,
    ) -> Result<(), Failure> {
        if !changes.is_empty() {
            self.at.tell_settings(&self.tenant, changes);
        }
        let (tenant, stage) = (self.tenant.name(), quoted(self.at.stage()));
        if let (Some((bytes, media)), Some(path)) = (file, &self.logo) {
            // It is run elsewhere.
            let path = fs::canonicalize(path).map_err(Failure::other)?;
            let (hash, path) = (logo::hash(bytes), quoted(&path.to_string_lossy()));
            outln!("infra/deploy.sh logo {tenant} {stage} {media} {hash} {path}");
        } else if self.reset {
            outln!("infra/deploy.sh logo {tenant} {stage}");
        }
        Ok(())
    }

    async fn show(&self) -> Result<(), Failure> {
        if self.at.aws() {
            return Err(Failure::other(
                "say what the brand is: --name, --accent, --accent-dark, --logo or --reset",
            ));
        }
        let own = self.at.settings(&self.tenant).await?;
        let said = |key: &str| own.get(key).and_then(Value::as_str);
        let logo = said(domain::LOGO);
        if out::is_json() {
            let settings: BTreeMap<_, _> = KEYS.map(|key| (key, said(key))).into();
            out::event(&json!({ "name": self.tenant.name(), "settings": settings, "logo": logo.is_some() }));
            return Ok(());
        }
        for key in KEYS {
            outln!("{key}: {}", said(key).unwrap_or("not set"));
        }
        outln!("logo: {}", logo.map_or("not set", |_| "stored"));
        Ok(())
    }
}

fn read(path: &Path) -> Result<(Vec<u8>, logo::LogoType), Failure> {
    let named = |error: &dyn std::fmt::Display| Failure::other(format!("{}: {error}", path.display()));
    let size = fs::metadata(path).map_err(|error| named(&error))?.len();
    // Before anything is read: the file may be any.
    if size > logo::LOGO_MAX as u64 {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        return Err(named(&logo::InvalidLogo::TooLarge(size)));
    }
    let bytes = fs::read(path).map_err(|error| named(&error))?;
    let media = logo::check(&bytes).map_err(|error| named(&error))?;
    Ok((bytes, media))
}
