//! What a task was asked for, as data.

use nlu::Named;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::ExecuteError;

/// What a task was asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Taken {
    /// The data, of the types that its schema has. Fields that the schema has not are there as they came.
    pub data: Map<String, Value>,
    /// The fields that are an earlier task's of the chat, which this one only changes.
    pub recalled: Vec<String>,
    /// What was said that no field holds, as it was said: a value, or a clause that nobody does.
    pub unsure: Vec<String>,
    /// What of the newest message nothing took, in small letters; beside places and days the phrases as they are written.
    pub unread: Vec<String>,
    /// The places as they are named, with how surely each is one.
    pub places: Vec<Named>,
    /// What was said to the newest form of the executor's own ([`Outcome::Form`](crate::Outcome::Form)), once that is all of it.
    pub form: Option<Filled>,
}

/// What was said to a form.
#[derive(Debug, Clone, PartialEq)]
pub enum Filled {
    /// These fields.
    In(Map<String, Value>),
    /// That it stays empty.
    Declined,
}

impl Taken {
    /// The data as a type; what is `null` is left out.
    ///
    /// # Errors
    /// [`ExecuteError::Retry`] for a type that the schema does not promise.
    pub fn typed<T: DeserializeOwned>(&self) -> Result<T, ExecuteError> {
        let said = self.data.iter().filter(|(_, value)| !value.is_null());
        let said = said.map(|(name, value)| (name.clone(), value.clone())).collect();
        serde_json::from_value(Value::Object(said)).map_err(|error| ExecuteError::Retry(error.to_string()))
    }
}
