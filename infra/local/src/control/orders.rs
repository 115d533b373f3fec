//! Orders of the demo for each tenant's Horizon agent; each says that it is made up.

use std::collections::BTreeMap;

use domain::{Clock, Owner, Timestamp};
use serde::Deserialize;
use store::{Order, OrderItem, OrderStatus, Store};

use crate::data::current::Own;
use crate::error::StartError;

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
