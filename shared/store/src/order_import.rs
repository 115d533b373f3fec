//! Orders as somebody else has them, on their way into the store.

use std::collections::BTreeMap;

use domain::{Owner, Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Order, OrderItem, OrderStatus, Store, StoreError};

/// Most orders of one import.
pub const IMPORTED_MAX: usize = 200;
/// Most characters of an order's number.
const NUMBER_MAX: usize = 32;

/// An order as it is imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportedOrder {
    /// Its number.
    pub id: String,
    /// The name of its user, as it is typed to sign in.
    pub customer: Option<String>,
    /// How far it is.
    pub status: OrderStatus,
    /// What was ordered.
    #[serde(default)]
    pub items: Vec<OrderItem>,
    /// When it was placed.
    pub placed_at: Timestamp,
    /// When it is expected to arrive.
    pub eta: Option<Timestamp>,
    /// When any of this last changed; now, where it is not said.
    pub updated_at: Option<Timestamp>,
}

/// Why orders are not imported; then none of them is, but where the table fails in between.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// There are too many.
    #[error("more than {IMPORTED_MAX} orders at once")]
    TooMany,
    /// A number is none.
    #[error(
        "`{0}` is no number of an order: up to {NUMBER_MAX} letters, digits and dashes, a digit among them"
    )]
    Number(String),
    /// A customer is not known.
    #[error("order {number}: {customer} is no user of the tenant")]
    Customer {
        /// The order's.
        number: String,
        /// As it was said.
        customer: String,
    },
    /// The table failed.
    #[error("the orders' table")]
    Store(#[from] StoreError),
}

impl Store {
    /// Stores a tenant's orders, over what was known of them.
    ///
    /// # Errors
    /// [`ImportError`].
    pub async fn import_orders(
        &self,
        tenant: &Tenant,
        orders: Vec<ImportedOrder>,
        now: Timestamp,
    ) -> Result<usize, ImportError> {
        if orders.len() > IMPORTED_MAX {
            return Err(ImportError::TooMany);
        }
        let users = self.customers(tenant, &orders).await?;
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
            self.orders().put_order(tenant, &order).await?;
        }
        Ok(stored)
    }

    /// Whose the orders are, by the names of users; every number is looked at as well.
    async fn customers(
        &self,
        tenant: &Tenant,
        orders: &[ImportedOrder],
    ) -> Result<BTreeMap<String, Owner>, ImportError> {
        let mut users: BTreeMap<String, Owner> = BTreeMap::new();
        for order in orders {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            let number = &order.id;
            let plain = number.len() <= NUMBER_MAX && number.bytes().all(fits);
            if !plain || !number.bytes().any(|byte| byte.is_ascii_digit()) {
                return Err(ImportError::Number(number.chars().take(NUMBER_MAX).collect()));
            }
            let Some(name) = order.customer.as_ref().filter(|name| !users.contains_key(*name)) else {
                continue;
            };
            match self.identity().find_user(tenant, name).await? {
                Some(user) => users.insert(name.clone(), user.subject),
                None => {
                    let (number, customer) = (number.clone(), name.chars().take(100).collect());
                    return Err(ImportError::Customer { number, customer });
                }
            };
        }
        Ok(users)
    }
}
