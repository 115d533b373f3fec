//! `GET /v1/search`: places by name.

use std::collections::HashMap;

use axum::Json;
use axum::extract::Query;
use serde_json::{Map, Value, json};

use super::Refusal;
use super::gazetteer::{self, Place};

/// Answers a search as the service does: fields without a value are left out, and so is `results` when it is empty.
pub(super) async fn search(Query(query): Query<HashMap<String, String>>) -> Result<Json<Value>, Refusal> {
    let name = query.get("name").ok_or_else(|| Refusal::missing("name"))?;
    let count = match query.get("count").map(|count| count.parse::<usize>()) {
        None => 10,
        Some(Ok(count @ 1..=100)) => count,
        Some(_) => return Err(Refusal::new("Parameter count must be between 1 and 100.")),
    };
    let found = gazetteer::search(name, query.get("countryCode").map(String::as_str));
    let results: Vec<Value> = found.into_iter().take(count).map(result).collect();
    let mut answer = Map::new();
    if !results.is_empty() {
        answer.insert("results".into(), results.into());
    }
    answer.insert("generationtime_ms".into(), json!(0.1));
    answer.insert("sandbox".into(), true.into());
    Ok(Json(Value::Object(answer)))
}

fn result(place: &Place) -> Value {
    let mut result = json!({
        "id": place.id,
        "name": place.name,
        "latitude": place.latitude,
        "longitude": place.longitude,
        "elevation": place.elevation,
        "feature_code": place.feature_code,
        "country_code": place.country_code,
        "timezone": place.timezone,
        "population": place.population,
        "country_id": place.country_id,
        "country": place.country,
        "admin1": place.admin1,
    });
    if let Value::Object(fields) = &mut result {
        fields.retain(|_, value| !value.is_null() && *value != json!("") && *value != json!(0));
    }
    result
}
