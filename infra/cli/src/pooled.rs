//! What `infra/deploy.sh` asks this program for where a tenant is in the pool: the part of its record, and a secret of one.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::PathBuf;

use clap::Args;
use domain::{ExposeSecret as _, SecretString, SystemEntropy, Tenant};
use edge::secrets::DataKey;
use serde::Deserialize;
use serde_json::{Value, json};
use store::{Pooled, pooled_from, pooled_value};

use super::Failure;
use super::tenant_aws::parameters;
use crate::onboarding::{SECRETS, filled};
use local::data::folder;

/// Most bytes that are read of the standard input.
const MOST: u64 = 1 << 20;

/// Print what the record of a tenant in the pool says, sealed with the data keys of the standard input; for infra/deploy.sh
#[derive(Args)]
pub(super) struct PooledRecord {
    /// The folder that `switchyard tenant add NAME --aws` wrote
    #[arg(long, value_name = "FOLDER")]
    folder: PathBuf,
    /// The tenant's address
    #[arg(long, value_name = "URL")]
    base_url: String,
    /// The authorization server's
    #[arg(long, value_name = "URL")]
    idp_url: String,
}

impl PooledRecord {
    pub(super) fn run(self) -> Result<(), Failure> {
        let mut keys: BTreeMap<String, DataKey> = given()?;
        let told = parameters(&self.folder)?;
        let parameter = |name: &str| {
            let text = told.get(name).and_then(Value::as_str);
            let missing = || Failure::other(format!("{} has no {name}", self.folder.display()));
            text.map(str::to_owned).ok_or_else(missing)
        };
        let tenant = Tenant::from_prefix(&parameter("TenantPrefix")?).map_err(Failure::other)?;
        let mut secrets = BTreeMap::new();
        for name in SECRETS {
            let missing = |what: &str| Failure::other(format!("{what} {name}"));
            let key = keys
                .remove(name)
                .ok_or_else(|| missing("there is no data key for"))?;
            let text = folder::read(&self.folder.join(name))?;
            let text = text.ok_or_else(|| missing("the folder has no"))?;
            let secret = SecretString::from(filled(&text, &self.base_url, &self.idp_url));
            let sealed = key.seal((&tenant, name), &secret, &SystemEntropy);
            secrets.insert(name.to_owned(), sealed.map_err(Failure::other)?);
        }
        let pooled = pooled_value(&Pooled {
            host_path: parameter("HostPath")?,
            horizon_path: parameter("HorizonPath")?,
            session_public_key: parameter("SessionPublicKey")?,
            base_url: self.base_url.clone(),
            secrets,
        });
        let (pool, prefix) = (Tenant::POOL, tenant.prefix());
        let values = json!({
            ":pooled": pooled, ":pool": { "S": pool }, ":prefix": { "S": prefix }, ":gone": { "S": "removed" },
        });
        outln!("{values}");
        Ok(())
    }
}

/// Print a secret of a tenant in the pool, from its record and the data key of the standard input; for infra/deploy.sh
#[derive(Args)]
pub(super) struct PooledSecret {
    /// The secret's name
    name: String,
    /// The tenant's prefix
    #[arg(long, value_name = "PREFIX")]
    tenant: String,
}

/// What is read for that.
#[derive(Deserialize)]
struct Opening {
    record: Value,
    key: DataKey,
}

impl PooledSecret {
    pub(super) fn run(self) -> Result<(), Failure> {
        let tenant = Tenant::from_prefix(&self.tenant).map_err(Failure::other)?;
        let Opening { record, key } = given()?;
        let pooled = pooled_from(&json!({ "M": record }));
        let pooled = pooled.ok_or_else(|| Failure::other("the record says nothing of the pool"))?;
        let sealed = pooled.secrets.get(&self.name);
        let sealed = sealed.ok_or_else(|| Failure::other(format!("the record has no {}", self.name)))?;
        let opened = key.open((&tenant, &self.name), sealed).map_err(Failure::other)?;
        outln!("{}", opened.expose_secret());
        Ok(())
    }
}

/// The JSON of the standard input. The parser's own words might quote a key.
fn given<T: for<'a> Deserialize<'a>>() -> Result<T, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().take(MOST).read_to_string(&mut text);
    read.map_err(Failure::other)?;
    serde_json::from_str(&text).map_err(|_| Failure::other("the standard input is not the JSON it should be"))
}
