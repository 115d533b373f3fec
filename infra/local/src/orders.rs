//! Demo orders of each tenant, for its Horizon agent. Every one says that it is made up.

use domain::{Clock, Owner, Timestamp};
use store::{Order, OrderItem, OrderStatus, Store};

use crate::StartError;
use crate::current::Own;

/// A day, in milliseconds.
const DAY: i64 = 24 * 3600 * 1000;

/// An order as it is told here; times are seen from the first start.
struct Demo {
    number: &'static str,
    status: OrderStatus,
    /// The name of its user. An order without one is the tenant's: each of its users finds it by the number.
    customer: Option<&'static str>,
    items: &'static [(&'static str, u32)],
    placed_days_ago: i64,
    eta_days: Option<i64>,
}

const fn demo(
    number: &'static str,
    status: OrderStatus,
    customer: Option<&'static str>,
    items: &'static [(&'static str, u32)],
    days: (i64, Option<i64>),
) -> Demo {
    Demo {
        number,
        status,
        customer,
        items,
        placed_days_ago: days.0,
        eta_days: days.1,
    }
}

const ACME: &[Demo] = &[
    demo(
        "1001",
        OrderStatus::Shipped,
        None,
        &[("Rocket skates (demo)", 1)],
        (4, Some(2)),
    ),
    demo(
        "1002",
        OrderStatus::Packed,
        None,
        &[("Giant magnet (demo)", 1), ("Rope, 10 m (demo)", 2)],
        (2, Some(4)),
    ),
    demo(
        "1003",
        OrderStatus::Shipped,
        Some("ada"),
        &[("Mechanical calculator (demo)", 1)],
        (3, Some(1)),
    ),
    demo(
        "1004",
        OrderStatus::Placed,
        Some("alan"),
        &[("Bicycle chain (demo)", 1)],
        (1, Some(6)),
    ),
    demo(
        "1005",
        OrderStatus::Delivered,
        Some("ada"),
        &[("Punched cards (demo)", 500)],
        (20, None),
    ),
];
const GLOBEX: &[Demo] = &[
    demo(
        "1001",
        OrderStatus::Delivered,
        None,
        &[("Weather balloon (demo)", 3)],
        (12, None),
    ),
    demo(
        "1002",
        OrderStatus::Cancelled,
        None,
        &[("Umbrella stand (demo)", 1)],
        (9, None),
    ),
    demo(
        "1003",
        OrderStatus::Packed,
        Some("grace"),
        &[("Copper wire, 30 cm (demo)", 10)],
        (2, Some(3)),
    ),
    demo(
        "1004",
        OrderStatus::Shipped,
        Some("george"),
        &[("Truth tables (demo)", 2)],
        (5, Some(1)),
    ),
];
const OTHERS: &[Demo] = &[
    demo(
        "1001",
        OrderStatus::Shipped,
        None,
        &[("Desk lamp (demo)", 1)],
        (3, Some(2)),
    ),
    demo(
        "1002",
        OrderStatus::Placed,
        Some("demo"),
        &[("Notebook (demo)", 5)],
        (1, Some(5)),
    ),
];

impl Demo {
    fn order(&self, customer: Option<Owner>, now: Timestamp) -> Order {
        let days = |days: i64| Timestamp::from_millis(now.millis().saturating_add(days * DAY));
        let items = self.items.iter().map(|(name, quantity)| OrderItem {
            name: (*name).to_owned(),
            quantity: *quantity,
        });
        Order {
            id: self.number.to_owned(),
            customer,
            status: self.status,
            items: items.collect(),
            placed_at: days(-self.placed_days_ago),
            eta: self.eta_days.map(days),
            updated_at: now,
        }
    }
}

/// Stores a tenant's orders where they are missing; what was changed since stays as it is.
pub(crate) async fn set_up(store: &Store, own: &Own<'_>, clock: &dyn Clock) -> Result<(), StartError> {
    let demos = match own.name.name() {
        "acme" => ACME,
        "globex" => GLOBEX,
        _ => OTHERS,
    };
    let now = clock.now();
    let orders = store.orders();
    for demo in demos {
        let known = orders.find_order(own.name, demo.number).await;
        if known.map_err(StartError::part("demo orders"))?.is_some() {
            continue;
        }
        let customer = match demo.customer {
            Some(name) => {
                let user = store.identity().find_user(own.name, name).await;
                user.map_err(StartError::part("demo orders"))?
                    .map(|user| user.subject)
            }
            None => None,
        };
        let order = demo.order(customer, now);
        orders
            .put_order(own.name, &order)
            .await
            .map_err(StartError::part("demo orders"))?;
    }
    Ok(())
}
