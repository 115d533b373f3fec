//! The agent's work on one task.

use agent::{ExecuteError, Executor, Outcome, Run};
use async_trait::async_trait;
use domain::Caller;
use nlu::Takes;
use store::{Order, PageRequest, Store};
use words::listed;

use crate::answer::{self, Found};
use crate::question::{self, MAX_ORDERS, Question};

/// How far back a question reaches that does not say which orders, in questions.
const EARLIER_MAX: usize = 4;

/// Answers questions about orders.
pub struct HorizonExecutor {
    store: Store,
    takes: Takes,
}

impl HorizonExecutor {
    /// An executor over the orders of this store.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self {
            store,
            takes: Takes::new(&question::schema(), &[]),
        }
    }

    /// Asks for an order's number.
    fn ask(&self, why: &str) -> Outcome {
        let question = format!("{why} Tell me its number, such as 1001.");
        let schema = self.takes.schema().of_fields(&["orders"]);
        Outcome::Missing { question, schema }
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

    /// A page of the caller's own, newest first; pages are counted from 1.
    async fn own(&self, caller: &Caller, (number, size): (u32, usize)) -> Result<Found, ExecuteError> {
        let mut page = PageRequest {
            limit: u32::try_from(size).unwrap_or(u32::MAX),
            cursor: None,
        };
        let orders = self.store.orders();
        for _ in 1..number {
            let before = orders
                .customers_orders(&caller.tenant, &caller.owner, &page)
                .await?;
            match before.next {
                Some(next) => page.cursor = Some(next),
                None => return Ok(Found::default()),
            }
        }
        let found = orders
            .customers_orders(&caller.tenant, &caller.owner, &page)
            .await?;
        Ok(Found {
            orders: found.items,
            next_page: found.next.map(|_| number + 1),
            ..Found::default()
        })
    }
}

#[async_trait]
impl Executor for HorizonExecutor {
    fn takes(&self) -> Option<&Takes> {
        Some(&self.takes)
    }

    fn recalls(&self) -> usize {
        EARLIER_MAX
    }

    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let caller = run.caller();
        let taken = run.taken();
        let (cannot, unused) = (question::cannot(taken), taken.unsure.clone());
        let question = match Question::of(&taken.data) {
            // "I want a refund" is not about the orders before.
            _ if !taken.recalled.is_empty() && cannot.is_some() => Question::Unclear,
            question => question,
        };
        if let Some(doing) = doing(&question) {
            run.working(&doing).await?;
        }
        let mut found = match question {
            Question::Numbers(numbers) => self.numbered(&caller, numbers).await?,
            Question::Unclear => match cannot {
                Some(cannot) => return Ok(Outcome::Rejected(answer::cannot(cannot))),
                None => return Ok(self.ask("Which order do you mean?")),
            },
            Question::Mine { page } => match self.own(&caller, (page, MAX_ORDERS)).await? {
                found if found.orders.is_empty() && page > 1 => {
                    return Ok(self.ask(&format!("You have no page {page} of orders.")));
                }
                found => found,
            },
            Question::Latest => Found {
                next_page: None,
                ..self.own(&caller, (1, 1)).await?
            },
        };
        if found.is_empty() {
            return Ok(self.ask("I find no order under your name."));
        }
        (found.cannot, found.unused) = (cannot, unused);
        Ok(Outcome::Completed {
            artifacts: vec![found.artifact(run.now())],
            say: None,
        })
    }
}

/// An order that is somebody else's does not exist, nor does one that is nobody's yet.
fn may_see(caller: &Caller, order: &Order) -> bool {
    order.customer.as_ref() == Some(&caller.owner)
}

fn doing(question: &Question) -> Option<String> {
    match question {
        Question::Numbers(numbers) => {
            let shown: Vec<String> = numbers.iter().take(MAX_ORDERS).cloned().collect();
            let order = if shown.len() == 1 { "order" } else { "orders" };
            Some(format!("Looking up {order} {} …", listed(&shown, "and")))
        }
        Question::Mine { .. } => Some("Looking up your orders …".to_owned()),
        Question::Latest => Some("Looking up your latest order …".to_owned()),
        Question::Unclear => None,
    }
}
