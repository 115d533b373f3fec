//! What is said of orders, in words and as data.

use chrono::DateTime;
use domain::{Artifact, Part, Timestamp};
use serde_json::{Value, json};
use store::{Order, OrderStatus};
use words::listed;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Orders that may be shown.
    pub(crate) orders: Vec<Order>,
    /// Numbers without an order that may be shown.
    pub(crate) unknown: Vec<String>,
    /// Numbers that were not looked up, because there were too many.
    pub(crate) left_out: usize,
    /// The page that goes on with what is not here.
    pub(crate) next_page: Option<u32>,
    /// What was wanted and cannot be done.
    pub(crate) cannot: Option<&'static str>,
    /// What was said that orders are not found by.
    pub(crate) unused: Vec<String>,
}

/// What cannot be done, and what can.
pub(crate) fn cannot(what: &str) -> String {
    format!("I cannot {what} orders or anything in them: I only say how far they are.")
}

impl Found {
    /// Nothing was asked about that could be answered.
    pub(crate) fn is_empty(&self) -> bool {
        self.orders.is_empty() && self.unknown.is_empty()
    }

    /// The result of a task.
    pub(crate) fn artifact(&self, now: Timestamp) -> Artifact {
        let parts = vec![Part::text(self.text(now)), Part::data(self.data())];
        Artifact::new("orders", parts).named("Order status")
    }

    fn text(&self, now: Timestamp) -> String {
        let mut lines: Vec<String> = self.cannot.map(cannot).into_iter().collect();
        if !self.unused.is_empty() {
            let unused: Vec<String> = self.unused.iter().map(|said| format!("“{said}”")).collect();
            let unused = listed(&unused, "and");
            lines.push(format!(
                "I did not use {unused}: I find orders by their numbers alone."
            ));
        }
        lines.extend(self.orders.iter().map(|order| sentence(order, now)));
        lines.extend(match self.unknown.as_slice() {
            [] => None,
            [one] => Some(format!("There is no order {one} of yours.")),
            several => Some(format!(
                "There are no orders {} of yours.",
                listed(several, "and")
            )),
        });
        if self.left_out > 0 {
            lines.push(format!(
                "{} more were not looked up; ask for them separately.",
                self.left_out
            ));
        }
        if let Some(page) = self.next_page {
            lines.push(format!(
                "There are older ones: ask for page {page} of your orders."
            ));
        }
        lines.join("\n")
    }

    fn data(&self) -> Value {
        let orders: Vec<Value> = self.orders.iter().map(data).collect();
        match self.next_page {
            Some(page) => json!({ "orders": orders, "unknown": self.unknown, "nextPage": page }),
            None => json!({ "orders": orders, "unknown": self.unknown }),
        }
    }
}

fn sentence(order: &Order, now: Timestamp) -> String {
    let how_far = match order.status {
        OrderStatus::Placed => "has been received and is not packed yet".to_owned(),
        OrderStatus::Packed => "is packed and waits for the carrier".to_owned(),
        OrderStatus::Shipped => "is on its way".to_owned(),
        OrderStatus::Delivered => format!("was delivered on {}", day(order.updated_at)),
        OrderStatus::Cancelled => "was cancelled".to_owned(),
    };
    let open = matches!(
        order.status,
        OrderStatus::Placed | OrderStatus::Packed | OrderStatus::Shipped
    );
    let expected = match order.eta.filter(|_| open) {
        None => String::new(),
        Some(eta) if eta < now => format!(", and late: it was expected on {}", day(eta)),
        Some(eta) => format!(", expected on {}", day(eta)),
    };
    let items: Vec<String> = order
        .items
        .iter()
        .map(|item| format!("{} × {}", item.quantity, item.name))
        .collect();
    let items = if items.is_empty() {
        String::new()
    } else {
        format!(" It holds {}.", listed(&items, "and"))
    };
    format!(
        "Order {} {how_far}{expected}.{items} Placed on {}.",
        order.id,
        day(order.placed_at)
    )
}

/// Whose order it is stays out: who may ask knows it already, and results travel on.
fn data(order: &Order) -> Value {
    let items: Vec<Value> = order
        .items
        .iter()
        .map(|item| json!({ "name": item.name, "quantity": item.quantity }))
        .collect();
    json!({
        "id": order.id,
        "status": order.status.as_str(),
        "items": items,
        "placedAt": order.placed_at,
        "eta": order.eta,
        "updatedAt": order.updated_at,
    })
}

fn day(at: Timestamp) -> String {
    let at = DateTime::from_timestamp_millis(at.millis()).unwrap_or_default();
    at.format("%A %-d %B %Y").to_string()
}

#[cfg(test)]
mod tests {
    use store::OrderItem;

    use super::*;

    fn order(status: OrderStatus, eta: Option<&str>) -> Order {
        let at = |text| Timestamp::parse(text).unwrap();
        Order {
            id: "1001".into(),
            customer: None,
            status,
            items: vec![OrderItem {
                name: "lantern".into(),
                quantity: 2,
            }],
            placed_at: at("2026-11-16T10:00:00Z"),
            eta: eta.map(at),
            updated_at: at("2026-11-20T10:00:00Z"),
        }
    }

    fn check(order: &Order, expected: &str) {
        let now = Timestamp::parse("2026-11-21T12:00:00Z").unwrap();
        assert_eq!(sentence(order, now), expected);
    }

    #[test]
    fn every_status_in_words() {
        let tail = "It holds 2 × lantern. Placed on Monday 16 November 2026.";
        let soon = Some("2026-11-24T00:00:00Z");
        check(
            &order(OrderStatus::Shipped, soon),
            &format!("Order 1001 is on its way, expected on Tuesday 24 November 2026. {tail}"),
        );
        check(
            &order(OrderStatus::Packed, Some("2026-11-20T00:00:00Z")),
            &format!(
                "Order 1001 is packed and waits for the carrier, and late: it was expected on Friday 20 November 2026. {tail}"
            ),
        );
        check(
            &order(OrderStatus::Placed, None),
            &format!("Order 1001 has been received and is not packed yet. {tail}"),
        );
        check(
            &order(OrderStatus::Delivered, soon),
            &format!("Order 1001 was delivered on Friday 20 November 2026. {tail}"),
        );
        check(
            &order(OrderStatus::Cancelled, soon),
            &format!("Order 1001 was cancelled. {tail}"),
        );
    }
}
