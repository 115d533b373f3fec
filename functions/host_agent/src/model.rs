//! Which model the host asks: made here, by what its settings say.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::Tenant;
use edge::config::{ConfigError, Env};
use edge::{Error, Ground};
use futures_util::future::try_join_all;
use llm::{Model, ModelList, ModelParts};
use url::Url;

use crate::budget::DailyBudget;

/// Where Bedrock is.
#[derive(Debug, Clone, Default)]
pub struct BedrockPlace {
    /// `AWS_ENDPOINT_URL_BEDROCK_RUNTIME`: another endpoint than AWS's own.
    pub endpoint: Option<Url>,
    /// `AWS_REGION`, where a model names none of its own.
    pub region: Option<String>,
}

impl BedrockPlace {
    pub(crate) fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let endpoint = env.optional("AWS_ENDPOINT_URL_BEDROCK_RUNTIME");
        let region = env.optional("AWS_REGION");
        Ok(Self {
            endpoint: endpoint?,
            region: region?,
        })
    }
}

/// The model of these settings; the rules where there are none. Nothing is asked yet but the secrets of its keys.
pub(crate) async fn made(
    ground: &Ground,
    (tenant, models): (&Tenant, Option<(ModelList, u64)>),
    bedrock: BedrockPlace,
) -> Result<Arc<dyn Model>, Error> {
    let Some((models, tokens_per_day)) = models else {
        return Ok(llm::offline(ground.understanding.clone()));
    };
    let budget = DailyBudget::new(
        (ground.store.clone(), tenant.clone()),
        tokens_per_day,
        Arc::clone(&ground.clock),
        Arc::clone(&ground.entropy),
    );
    let keys = models.keys().map(|name| async move {
        let key = ground.secrets.value(name).await;
        key.map(|key| (name.to_owned(), key))
    });
    let keys: BTreeMap<_, _> = try_join_all(keys).await?.into_iter().collect();
    let parts = ModelParts {
        outbound: &ground.outbound,
        entropy: Arc::clone(&ground.entropy),
        budget: Arc::new(budget),
        aws: Arc::new(move |region| {
            edge::aws::sdk_config(bedrock.endpoint.as_ref(), region.or(bedrock.region.as_deref()))
        }),
        keys,
    };
    Ok(models.build(&parts)?)
}
