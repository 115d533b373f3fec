//! The agent's work on one task.

use agent::{ExecuteError, Executor, Outcome, Run};
use async_trait::async_trait;
use domain::Caller;
use store::{Order, Store};
use words::listed;

use crate::answer::Found;
use crate::question::{MAX_ORDERS, Question};

/// Most of a tenant's orders that are looked through for somebody's own.
const LOOKED_THROUGH: u32 = 100;

/// Answers questions about orders.
pub struct HorizonExecutor {
    store: Store,
}

impl HorizonExecutor {
    /// An executor over the orders of this store.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    async fn numbered(&self, caller: &Caller, numbers: Vec<String>) -> Result<Found, ExecuteError> {
        let mut found = Found {
            left_out: numbers.len().saturating_sub(MAX_ORDERS),
            ..Found::default()
        };
        for number in numbers.into_iter().take(MAX_ORDERS) {
            let order = self.store.orders().find_order(&caller.tenant, &number).await?;
            match order.filter(|order| may_see(caller, order)) {
                Some(order) => found.orders.push(order),
                None => found.unknown.push(number),
            }
        }
        Ok(found)
    }

    /// The caller's own, newest first.
    async fn own(&self, caller: &Caller) -> Result<Vec<Order>, ExecuteError> {
        let mut orders = self
            .store
            .orders()
            .list_orders(&caller.tenant, LOOKED_THROUGH)
            .await?;
        orders.retain(|order| order.customer.as_ref() == Some(&caller.owner));
        orders.sort_by(|a, b| b.placed_at.cmp(&a.placed_at).then_with(|| b.id.cmp(&a.id)));
        Ok(orders)
    }
}

#[async_trait]
impl Executor for HorizonExecutor {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let caller = run.caller();
        let question = Question::of(&run.task().history);
        if let Some(doing) = doing(&question) {
            run.working(&doing).await?;
        }
        let found = match question {
            Question::Numbers(numbers) => self.numbered(&caller, numbers).await?,
            Question::Unclear => return Ok(ask("Which order do you mean?")),
            Question::Mine | Question::Latest => {
                let mut orders = self.own(&caller).await?;
                if orders.is_empty() {
                    return Ok(ask("I find no order under your name."));
                }
                let most = if question == Question::Latest {
                    1
                } else {
                    MAX_ORDERS
                };
                let left_out = if question == Question::Latest {
                    0
                } else {
                    orders.len().saturating_sub(most)
                };
                orders.truncate(most);
                Found {
                    orders,
                    left_out,
                    ..Found::default()
                }
            }
        };
        Ok(Outcome::Completed {
            artifacts: vec![found.artifact(run.now())],
            say: None,
        })
    }
}

fn ask(why: &str) -> Outcome {
    Outcome::InputRequired(format!("{why} Tell me its number, such as 1001."))
}

/// An order that is somebody else's does not exist. One that is nobody's yet is known by its number within the tenant.
fn may_see(caller: &Caller, order: &Order) -> bool {
    order
        .customer
        .as_ref()
        .is_none_or(|customer| *customer == caller.owner)
}

fn doing(question: &Question) -> Option<String> {
    match question {
        Question::Numbers(numbers) => {
            let shown: Vec<String> = numbers.iter().take(MAX_ORDERS).cloned().collect();
            let order = if shown.len() == 1 { "order" } else { "orders" };
            Some(format!("Looking up {order} {} …", listed(&shown, "and")))
        }
        Question::Mine => Some("Looking up your orders …".to_owned()),
        Question::Latest => Some("Looking up your latest order …".to_owned()),
        Question::Unclear => None,
    }
}
