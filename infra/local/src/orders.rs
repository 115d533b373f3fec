//! Orders for each tenant's Horizon agent: those of the demo, each of which says that it is made up, and what is imported.

use std::collections::BTreeMap;

use domain::{Clock, Owner, Tenant, Timestamp};
use serde::{Deserialize, Serialize};
use store::{Order, OrderItem, OrderStatus, Store};

use crate::StartError;
use crate::current::Own;

/// The orders by tenant; `others` are those of every tenant that is not named.
const DEMO: &str = include_str!("orders/demo.json");

/// A day, in milliseconds.
const DAY: i64 = 24 * 3600 * 1000;

/// An order as it is told here; times are seen from the first start.
#[derive(Deserialize)]
struct Demo {
    number: String,
    status: OrderStatus,
    /// The name of its user. An order without one is nobody's yet: no user finds it.
    customer: Option<String>,
    items: Vec<OrderItem>,
    placed_days_ago: i64,
    eta_days: Option<i64>,
}

impl Demo {
    fn order(self, customer: Option<Owner>, now: Timestamp) -> Order {
        let days = |days: i64| Timestamp::from_millis(now.millis().saturating_add(days * DAY));
        Order {
            id: self.number,
            customer,
            status: self.status,
            items: self.items,
            placed_at: days(-self.placed_days_ago),
            eta: self.eta_days.map(days),
            updated_at: now,
        }
    }
}

/// Stores a tenant's orders where they are missing; what was changed since stays as it is.
pub(crate) async fn set_up(store: &Store, own: &Own<'_>, clock: &dyn Clock) -> Result<(), StartError> {
    const PART: &str = "demo orders";
    let mut demos: BTreeMap<String, Vec<Demo>> =
        serde_json::from_str(DEMO).map_err(StartError::part(PART))?;
    let name = own.name.name();
    let demos = demos.remove(name).or_else(|| demos.remove("others"));
    let now = clock.now();
    let orders = store.orders();
    for demo in demos.into_iter().flatten() {
        let known = orders.find_order(own.name, &demo.number).await;
        if let Some(known) = known.map_err(StartError::part(PART))? {
            // Releases before the lists of customers left it in none.
            let indexed = orders.index_order(own.name, &known).await;
            indexed.map_err(StartError::part(PART))?;
            continue;
        }
        let customer = match &demo.customer {
            Some(name) => {
                let user = store.identity().find_user(own.name, name).await;
                user.map_err(StartError::part(PART))?.map(|user| user.subject)
            }
            None => None,
        };
        let order = demo.order(customer, now);
        orders
            .put_order(own.name, &order)
            .await
            .map_err(StartError::part(PART))?;
    }
    Ok(())
}

/// Most orders of one import.
pub(crate) const MOST_AT_ONCE: usize = 200;
/// Most characters of an order's number.
const NUMBER_MAX: usize = 32;

/// An order as it is imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Imported {
    /// Its number.
    pub(crate) id: String,
    /// The name of its user, as it is typed to sign in.
    pub(crate) customer: Option<String>,
    pub(crate) status: OrderStatus,
    #[serde(default)]
    pub(crate) items: Vec<OrderItem>,
    pub(crate) placed_at: Timestamp,
    pub(crate) eta: Option<Timestamp>,
    /// When any of this last changed; now, where it is not said.
    pub(crate) updated_at: Option<Timestamp>,
}

/// Why orders are not imported; then none of them is.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportError {
    #[error("more than {MOST_AT_ONCE} orders at once")]
    TooMany,
    #[error(
        "`{0}` is no number of an order: up to {NUMBER_MAX} letters, digits and dashes, a digit among them"
    )]
    Number(String),
    #[error("order {number}: {customer} is no user of the tenant")]
    Customer { number: String, customer: String },
    #[error("the orders' table")]
    Store(#[from] store::StoreError),
}

/// Stores a tenant's orders, over what was known of them.
pub(crate) async fn import(
    store: &Store,
    tenant: &Tenant,
    orders: Vec<Imported>,
    now: Timestamp,
) -> Result<usize, ImportError> {
    if orders.len() > MOST_AT_ONCE {
        return Err(ImportError::TooMany);
    }
    let mut users: BTreeMap<String, Owner> = BTreeMap::new();
    for order in &orders {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let number = &order.id;
        let plain = number.len() <= NUMBER_MAX && number.bytes().all(fits);
        if !plain || !number.bytes().any(|byte| byte.is_ascii_digit()) {
            return Err(ImportError::Number(number.chars().take(NUMBER_MAX).collect()));
        }
        let Some(name) = order.customer.as_ref().filter(|name| !users.contains_key(*name)) else {
            continue;
        };
        match store.identity().find_user(tenant, name).await? {
            Some(user) => users.insert(name.clone(), user.subject),
            None => {
                let (number, customer) = (number.clone(), name.chars().take(100).collect());
                return Err(ImportError::Customer { number, customer });
            }
        };
    }
    let stored = orders.len();
    for order in orders {
        let order = Order {
            // Whoever asks for a-1 means A-1.
            id: order.id.to_ascii_uppercase(),
            customer: order.customer.and_then(|name| users.get(&name).cloned()),
            status: order.status,
            items: order.items,
            placed_at: order.placed_at,
            eta: order.eta,
            updated_at: order.updated_at.unwrap_or(now),
        };
        store.orders().put_order(tenant, &order).await?;
    }
    Ok(stored)
}
