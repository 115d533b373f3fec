//! The order agent's data: what a tenant's customers ordered.

use domain::{Owner, Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use crate::change::text;
use crate::codec::Key;
use crate::dynamo::Query;
use crate::record::document_of;
use crate::{Store, StoreError};

/// What comes before an order's id in its sort key.
const ORDER: &str = "ORDER#";

/// An order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Its number, such as `1001`; unique within the tenant.
    pub id: String,
    /// Whose it is, where that is known.
    pub customer: Option<Owner>,
    /// How far it is.
    pub status: OrderStatus,
    /// What was ordered.
    pub items: Vec<OrderItem>,
    /// When it was placed.
    pub placed_at: Timestamp,
    /// When it is expected to arrive.
    pub eta: Option<Timestamp>,
    /// When any of this last changed.
    pub updated_at: Timestamp,
}

/// How far an order is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderStatus {
    /// Received, not begun.
    Placed,
    /// Being packed.
    Packed,
    /// On its way.
    Shipped,
    /// With the customer.
    Delivered,
    /// Called off.
    Cancelled,
}

impl OrderStatus {
    /// The word for it, as it is stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Placed => "placed",
            Self::Packed => "packed",
            Self::Shipped => "shipped",
            Self::Delivered => "delivered",
            Self::Cancelled => "cancelled",
        }
    }
}

/// One line of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderItem {
    /// What.
    pub name: String,
    /// How many.
    pub quantity: u32,
}

/// The table of orders.
#[derive(Clone, Copy)]
pub struct Orders<'s> {
    pub(crate) store: &'s Store,
}

/// A tenant's orders lie together, so that they can be listed.
fn partition(tenant: &Tenant) -> String {
    format!("{}#orders", tenant.prefix())
}

fn order_key(tenant: &Tenant, id: &str) -> Key {
    (partition(tenant), format!("{ORDER}{id}"))
}

impl Orders<'_> {
    /// Stores an order, over what was known of it.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn put_order(&self, tenant: &Tenant, order: &Order) -> Result<(), StoreError> {
        let key = order_key(tenant, &order.id);
        self.store
            .put_record(self.table(), key, "the order", order, None)
            .await
    }

    /// The tenant's order of that number.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_order(&self, tenant: &Tenant, id: &str) -> Result<Option<Order>, StoreError> {
        self.store.record(self.table(), &order_key(tenant, id)).await
    }

    /// The tenant's first orders by number, at most so many; held within 1 to 100.
    ///
    /// # Errors
    /// What the database says.
    pub async fn list_orders(&self, tenant: &Tenant, most: u32) -> Result<Vec<Order>, StoreError> {
        let query = Query {
            table: self.table(),
            condition: "#pk = :pk AND begins_with(#sk, :order)",
            values: vec![(":pk", text(partition(tenant))), (":order", text(ORDER))],
            limit: Some(most.clamp(1, 100)),
            ..Query::default()
        };
        let (items, _) = self.store.query(query).await?;
        items
            .into_iter()
            .map(|item| document_of(self.table(), item))
            .collect()
    }

    fn table(&self) -> &str {
        &self.store.tables().orders
    }
}
