//! The order agent's data: what a tenant's customers ordered.

use domain::{Owner, Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use crate::change::{Change, text};
use crate::codec::{Key, fits, key_of, keyed};
use crate::dynamo::Query;
use crate::{Page, PageRequest, Store, StoreError};

/// What comes before an order's id in its sort key.
const ORDER: &str = "ORDER#";
/// Most bytes of an order's place in a list, which is the sort key of its entry.
const CURSOR_LIMIT: usize = 1024;

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

/// Where a tenant's orders lie, each by its number.
fn partition(tenant: &Tenant) -> String {
    format!("{}#orders", tenant.prefix())
}

/// A customer's list of orders.
fn of_customer(tenant: &Tenant, customer: &Owner) -> String {
    format!("{}#{customer}", partition(tenant))
}

/// The order's place in its customer's list: by time.
fn index_sort(order: &Order) -> String {
    format!("{}#{}", order.placed_at, order.id)
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
        self.index_order(tenant, order).await?;
        let key = order_key(tenant, &order.id);
        self.store
            .put_record(self.table(), key, "the order", order, None)
            .await
    }

    /// Enters an order into its customer's list. It comes before the order: an entry without one is passed over, an order
    /// without an entry would be in no list.
    ///
    /// # Errors
    /// As [`Orders::put_order`].
    pub async fn index_order(&self, tenant: &Tenant, order: &Order) -> Result<(), StoreError> {
        let Some(customer) = &order.customer else {
            return Ok(());
        };
        let key = (of_customer(tenant, customer), index_sort(order));
        fits("the order's number", key.1.len(), CURSOR_LIMIT)?;
        self.store.put(self.table(), keyed(&key), Change::new()).await?;
        Ok(())
    }

    /// The tenant's order of that number.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_order(&self, tenant: &Tenant, id: &str) -> Result<Option<Order>, StoreError> {
        self.store.record(self.table(), &order_key(tenant, id)).await
    }

    /// A customer's orders, newest first.
    ///
    /// # Errors
    /// [`StoreError::BadCursor`], and what the database says.
    pub async fn customers_orders(
        &self,
        tenant: &Tenant,
        customer: &Owner,
        page: &PageRequest,
    ) -> Result<Page<Order>, StoreError> {
        let partition = of_customer(tenant, customer);
        let start = match page.cursor.as_deref() {
            Some(cursor) if cursor.len() > CURSOR_LIMIT => return Err(StoreError::BadCursor),
            Some(cursor) => Some(keyed(&(partition.clone(), cursor.to_owned()))),
            None => None,
        };
        let query = Query {
            table: self.table(),
            condition: "#pk = :pk",
            values: vec![(":pk", text(partition))],
            limit: Some(page.limit.clamp(1, 100)),
            backwards: true,
            start,
            ..Query::default()
        };
        let (entries, last) = self.store.query(query).await?;
        let mut items = Vec::new();
        for entry in &entries {
            let (_, at) = key_of(self.table(), entry)?;
            let Some((_, id)) = at.split_once('#') else {
                continue;
            };
            // An entry of what the order was before says nothing.
            let order = self.find_order(tenant, id).await?;
            items.extend(
                order.filter(|order| order.customer.as_ref() == Some(customer) && index_sort(order) == at),
            );
        }
        let next = last.map(|last| key_of(self.table(), &last)).transpose()?;
        Ok(Page {
            items,
            next: next.map(|(_, at)| at),
        })
    }

    fn table(&self) -> &str {
        &self.store.tables().orders
    }
}
