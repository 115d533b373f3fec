//! Which orders a request is about, as data.

use std::collections::HashSet;

use agent::Taken;
use serde_json::{Map, Value, json};

/// Most orders of one question.
pub(crate) const MAX_ORDERS: usize = 20;
/// The last page that is turned to; each is read past those before it.
const MAX_PAGE: u64 = 500;

/// What customers ask for that this agent does not do.
const CANNOT: [&str; 6] = ["cancel", "refund", "return", "change", "buy", "speed up"];

/// Which orders somebody asks about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Question {
    /// These numbers.
    Numbers(Vec<String>),
    /// The asker's own, twenty at a time.
    Mine {
        /// Which twenty, from 1.
        page: u32,
    },
    /// The asker's newest.
    Latest,
    /// It does not say.
    Unclear,
}

/// What the agent takes as data.
pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "orders": {
                "type": ["array", "string", "integer"],
                "items": {"type": ["string", "integer"], "format": "id"},
                "description": "Order numbers",
            },
            "select": {
                "oneOf": [
                    {"const": "latest", "description": "the newest, last or most recent one"},
                    {"const": "all", "description": "twenty a page"},
                ],
                "default": "all",
                "description": "Orders of the caller: parcels, packages, deliveries, shipments, purchases",
            },
            "page": {"type": "integer", "description": "Page, 1 to 500"},
        },
    })
}

impl Question {
    /// The question that the data asks.
    pub(crate) fn of(data: &Map<String, Value>) -> Self {
        let numbers = numbers(data);
        let page = data.get("page").and_then(Value::as_u64);
        match data.get("select").and_then(Value::as_str) {
            _ if !numbers.is_empty() => Self::Numbers(numbers),
            Some("latest") => Self::Latest,
            None if page.is_none() => Self::Unclear,
            _ => {
                let page = page.unwrap_or(1).clamp(1, MAX_PAGE);
                Self::Mine {
                    page: u32::try_from(page).unwrap_or(1),
                }
            }
        }
    }
}

/// What somebody wants done with orders that nobody can do here; the word as the card's tags have it.
pub(crate) fn cannot(taken: &Taken) -> Option<&'static str> {
    let is_said = |part: &str| taken.unread.iter().any(|word| word == part);
    CANNOT.into_iter().find(|cannot| cannot.split(' ').all(is_said))
}

/// The numbers of `{"order": 1001}`, `{"orders": ["1001"]}` and the like, each once.
fn numbers(data: &Map<String, Value>) -> Vec<String> {
    const NAMES: [&str; 8] = [
        "order",
        "orders",
        "orderId",
        "order_id",
        "orderIds",
        "order_ids",
        "number",
        "numbers",
    ];
    let number = |value: &Value| match value {
        Value::String(text) if text.len() <= 32 && !text.trim().is_empty() => {
            Some(text.trim().to_uppercase())
        }
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let mut known = HashSet::new();
    NAMES
        .iter()
        .filter_map(|name| data.get(*name))
        .flat_map(|value| match value {
            Value::Array(values) => values.iter().filter_map(number).collect(),
            value => number(value).into_iter().collect::<Vec<_>>(),
        })
        .filter(|number| known.insert(number.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use domain::{Timestamp, UserContext};
    use nlu::{Asked, Takes, extract};

    use super::*;

    fn read(text: &str, known: &Value) -> Question {
        let asked = Asked {
            known: known.as_object().unwrap(),
            before: &Map::new(),
            answers: None,
            now: Timestamp::parse("2026-11-21T09:00:00Z").unwrap(),
            user: &UserContext::default(),
        };
        let takes = Takes::new(&schema(), &[]);
        Question::of(&extract(text, &takes, asked).data)
    }

    /// The table that the agent's own reading was held against, and two rows more.
    #[test]
    fn questions_in_their_forms() {
        let numbers = |list: &[&str]| Question::Numbers(list.iter().map(|text| (*text).to_owned()).collect());
        for (text, expected) in [
            ("Where is my order 1001?", numbers(&["1001"])),
            ("status of orders 1001 and 1002", numbers(&["1001", "1002"])),
            ("1001", numbers(&["1001"])),
            ("#1001, #1002 and order no. 7", numbers(&["1001", "1002", "7"])),
            ("order #1001 and order 1001 again", numbers(&["1001"])),
            ("orders 1001-1003", numbers(&["1001", "1002", "1003"])),
            ("orders 0998–1001", numbers(&["0998", "0999", "1000", "1001"])),
            ("Is A-1001 on its way?", numbers(&["A-1001"])),
            ("is it 1001-999999?", numbers(&["1001-999999"])),
            ("my last 3 orders", Question::Latest),
            ("my orders since 2026", Question::Mine { page: 1 }),
            ("what did I order before 2026-11-20", Question::Mine { page: 1 }),
            ("my orders", Question::Mine { page: 1 }),
            ("Show all orders", Question::Mine { page: 1 }),
            ("where is my parcel", Question::Mine { page: 1 }),
            ("page 2 of my orders", Question::Mine { page: 2 }),
            ("orders, page 3", Question::Mine { page: 3 }),
            ("my orders, page 0", Question::Mine { page: 1 }),
            ("latest order", Question::Latest),
            ("When does my most recent one arrive?", Question::Latest),
            // Was asked about; whoever speaks of orders is now shown their own.
            ("What is the status of an order?", Question::Mine { page: 1 }),
            ("Which of them is on its way?", Question::Unclear),
            ("order nr 7", numbers(&["7"])),
            ("my orders in 7 days", Question::Mine { page: 1 }),
            ("Wo bleibt Bestellung 1003?", numbers(&["1003"])),
            (
                "I ordered 3 lamps, where are my parcels?",
                Question::Mine { page: 1 },
            ),
            ("my deliveries from 2025", Question::Mine { page: 1 }),
            ("hello", Question::Unclear),
            ("at 10am", Question::Unclear),
            ("", Question::Unclear),
            ("١٠٠١", Question::Unclear),
        ] {
            assert_eq!(read(text, &json!({})), expected, "{text}");
        }
    }

    #[test]
    fn data_says_which_orders_too() {
        for (data, expected) in [
            (
                json!({"orders": ["a-1", 1002, null, {}], "order": ""}),
                vec!["A-1", "1002"],
            ),
            (json!({"order_id": 1001}), vec!["1001"]),
            (json!({"orders": "1001", "select": "latest"}), vec!["1001"]),
        ] {
            let takes = Takes::new(&schema(), &[]);
            let fields = data.as_object().unwrap();
            assert_eq!(takes.schema().misfit_of_fields(fields), None);
            let expected = Question::Numbers(expected.into_iter().map(str::to_owned).collect());
            assert_eq!(Question::of(fields), expected, "{data}");
        }
        let beside = read("and 1002", &json!({"orders": [1001]}));
        assert_eq!(beside, Question::Numbers(vec!["1001".into(), "1002".into()]));
    }
}
