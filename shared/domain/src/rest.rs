//! What a newer release said in a record that our types have no place for: found when it is read, put back when it is
//! written.

use serde_json::{Map, Value};

/// The version of the records that this release writes. It is raised with every change of what is written, so that older
/// releases know that there is more in a record than they see. Records of before there were versions count as 0.
pub const RECORDS: u32 = 7;

/// The version that whoever acts on a task must know some of whose strings lie in a blob store.
pub const BLOB_RECORDS: u32 = 7;

/// What stands in our types, and in what they write, for a name that this release does not know.
const UNKNOWN: &str = "unknown";

/// What tells an object's former self from its next: where one of these has changed, what a newer release knew of the
/// object before does not hold any more.
const SELVES: [&str; 3] = ["phase", "state", "at"];

/// What names an object within its list.
const NAMES: [&str; 3] = ["number", "messageId", "artifactId"];

/// What of a stored value our types have no place for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Rest {
    /// A value where we have none.
    More(Value),
    /// The name of a kind that we do not know.
    Unknown(String),
    /// In the fields of an object.
    Fields {
        /// What the object had of [`SELVES`].
        was: Map<String, Value>,
        /// By field.
        rest: Vec<(String, Rest)>,
    },
    /// In the items of a list.
    Items(Vec<(Item, Rest)>),
}

/// Which item of a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    /// The one with this name.
    Named(&'static str, Value),
    /// The one at this place, as long as it is this one.
    At(usize, Value),
}

impl Rest {
    pub(crate) fn of(stored: &Value, known: &Value) -> Option<Self> {
        match (stored, known) {
            (Value::Object(stored), Value::Object(known)) => {
                let rest: Vec<_> = stored
                    .iter()
                    .filter_map(|(field, value)| {
                        let rest = match known.get(field) {
                            Some(known) => Self::of(value, known),
                            None => Some(Self::More(value.clone())),
                        };
                        Some((field.clone(), rest?))
                    })
                    .collect();
                (!rest.is_empty()).then(|| Self::Fields {
                    was: selves(known),
                    rest,
                })
            }
            (Value::Array(stored), Value::Array(known)) => {
                let pairs = stored.iter().zip(known).enumerate();
                let rest: Vec<_> = pairs
                    .filter_map(|(place, (stored, known))| {
                        Some((Item::of(place, known), Self::of(stored, known)?))
                    })
                    .collect();
                (!rest.is_empty()).then_some(Self::Items(rest))
            }
            (Value::String(stored), Value::String(known)) if known == UNKNOWN && stored != UNKNOWN => {
                Some(Self::Unknown(stored.clone()))
            }
            _ => None,
        }
    }

    pub(crate) fn has_unknown(&self) -> bool {
        match self {
            Self::More(_) => false,
            Self::Unknown(_) => true,
            Self::Fields { rest, .. } => rest.iter().any(|(_, rest)| rest.has_unknown()),
            Self::Items(rest) => rest.iter().any(|(_, rest)| rest.has_unknown()),
        }
    }

    pub(crate) fn graft(&self, value: &mut Value) {
        match (self, value) {
            (Self::Unknown(name), Value::String(known)) if known == UNKNOWN => known.clone_from(name),
            (Self::Fields { was, rest }, Value::Object(fields)) if selves(fields) == *was => {
                for (field, rest) in rest {
                    match (rest, fields.get_mut(field)) {
                        (Self::More(more), None) => {
                            fields.insert(field.clone(), more.clone());
                        }
                        (rest, Some(known)) => rest.graft(known),
                        (_, None) => {}
                    }
                }
            }
            (Self::Items(rest), Value::Array(items)) => {
                for (item, rest) in rest {
                    if let Some(known) = item.find(items) {
                        rest.graft(known);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Item {
    fn of(place: usize, known: &Value) -> Self {
        let named = NAMES.iter().find_map(|name| Some((*name, known.get(name)?)));
        match named {
            Some((name, value)) => Self::Named(name, value.clone()),
            None => Self::At(place, known.clone()),
        }
    }

    fn find<'v>(&self, items: &'v mut [Value]) -> Option<&'v mut Value> {
        match self {
            Self::Named(name, value) => items.iter_mut().find(|item| item.get(name) == Some(value)),
            Self::At(place, value) => items.get_mut(*place).filter(|item| *item == value),
        }
    }
}

fn selves(fields: &Map<String, Value>) -> Map<String, Value> {
    let told = SELVES.iter().filter_map(|name| Some((*name, fields.get(*name)?)));
    told.filter(|(_, value)| value.is_string())
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect()
}

/// Whether a number is left out of what is stored.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_zero(number: &u32) -> bool {
    *number == 0
}
