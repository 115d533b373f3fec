//! Which model the host asks: made here, by what its settings say.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::Tenant;
use edge::config::{ConfigError, Env};
use edge::vectors::StoredVectors;
use edge::{Error, Ground};
use futures_util::future::try_join_all;
use llm::{Model, ModelList, ModelParts, SentenceSetting};
use nlu::Slot;
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

/// What the host is to understand by, as its settings say it.
pub(crate) struct Wanted {
    /// Language models, with what may be spent on them in a day.
    pub(crate) models: Option<(ModelList, u64)>,
    /// Where there are none: the model of sentences.
    pub(crate) sentences: Option<SentenceSetting>,
    pub(crate) bedrock: BedrockPlace,
}

/// The model of these settings, and the engine of sentences beside it: without settings, that of the ground. Nothing is asked yet but
/// the secrets of its keys.
pub(crate) async fn made(
    ground: &Ground,
    tenant: &Tenant,
    wanted: Wanted,
) -> Result<(Arc<dyn Model>, Slot), Error> {
    let Wanted {
        models,
        sentences,
        bedrock,
    } = wanted;
    let tokens_per_day = models.as_ref().map_or(0, |(_, tokens)| *tokens);
    let budget = DailyBudget::new(
        (ground.store.clone(), tenant.clone()),
        tokens_per_day,
        Arc::clone(&ground.clock),
        Arc::clone(&ground.entropy),
    );
    let of_models = models.iter().flat_map(|(models, _)| models.keys());
    let of_sentences = sentences.iter().filter(|_| models.is_none());
    let keys = of_models.chain(of_sentences.filter_map(SentenceSetting::key));
    let keys = keys.map(|name| async move {
        let key = ground.secrets.value(name).await;
        key.map(|key| (name.to_owned(), key))
    });
    let keys: BTreeMap<_, _> = try_join_all(keys).await?.into_iter().collect();
    let caller = ground.caller.clone();
    let parts = ModelParts {
        outbound: &ground.outbound,
        entropy: Arc::clone(&ground.entropy),
        budget: Arc::new(budget),
        engine: ground.understanding.clone(),
        aws: Arc::new(move |region| {
            caller.config(bedrock.endpoint.as_ref(), region.or(bedrock.region.as_deref()))
        }),
        keys,
    };
    let engine = match sentences.filter(|_| models.is_none()) {
        Some(sentences) => {
            let kept = StoredVectors {
                store: ground.store.clone(),
                tenant: tenant.clone(),
                clock: Arc::clone(&ground.clock),
            };
            Slot::hosted(Arc::new(sentences.build(&parts)?), Arc::new(kept))
        }
        None => ground.understanding.clone(),
    };
    let model = match models {
        Some((models, _)) => models.build(&parts)?,
        None => llm::offline(engine.clone()),
    };
    Ok((model, engine))
}
