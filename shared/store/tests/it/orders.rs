//! Orders.

use crate::*;
use store::{Order, OrderItem, OrderStatus, PageRequest, counted};

fn order(id: &str, what: &str) -> Order {
    Order {
        id: id.into(),
        customer: Some(owner("user-1")),
        status: OrderStatus::Shipped,
        items: vec![OrderItem {
            name: what.into(),
            quantity: 2,
        }],
        placed_at: now(),
        eta: Some(later(86_400)),
        updated_at: later(60),
    }
}

#[tokio::test]
async fn an_order_is_its_tenants() {
    let (store, _database) = store_testing::start().await;
    let (orders, acme, globex) = (store.orders(), tenant("acme"), tenant("globex"));
    orders.put_order(&acme, &order("1001", "lamp")).await.unwrap();
    orders.put_order(&globex, &order("1001", "chair")).await.unwrap();
    let (found, calls) = counted(orders.find_order(&acme, "1001")).await;
    assert_eq!((found.unwrap(), calls.total()), (Some(order("1001", "lamp")), 1));
    assert_eq!(
        orders.find_order(&globex, "1001").await.unwrap(),
        Some(order("1001", "chair"))
    );
    assert_eq!(orders.find_order(&tenant("initech"), "1001").await.unwrap(), None);

    let delivered = Order {
        status: OrderStatus::Delivered,
        customer: None,
        eta: None,
        ..order("1001", "lamp")
    };
    orders.put_order(&acme, &delivered).await.unwrap();
    assert_eq!(orders.find_order(&acme, "1001").await.unwrap(), Some(delivered));
}

#[tokio::test]
async fn a_number_that_cannot_be_is_no_order() {
    let (store, _database) = store_testing::start().await;
    let (orders, acme) = (store.orders(), tenant("acme"));
    for id in ["", "#", "1001#x", &"9".repeat(5000)] {
        assert_eq!(orders.find_order(&acme, id).await.unwrap(), None);
    }
    let refused = orders.put_order(&acme, &order(&"9".repeat(5000), "lamp")).await;
    assert!(matches!(refused, Err(StoreError::TooLarge { .. })));
}

#[tokio::test]
async fn a_customers_orders_come_newest_first_in_pages() {
    let (store, _database) = store_testing::start().await;
    let (orders, acme, user) = (store.orders(), tenant("acme"), owner("user-1"));
    // Numbers say nothing of time here.
    for number in 0..150_u32 {
        let order = Order {
            placed_at: later(u64::from(number)),
            ..order(&(9000 - number).to_string(), "lamp")
        };
        orders.put_order(&acme, &order).await.unwrap();
    }
    for (tenant_name, customer) in [
        ("acme-2", Some("user-1")),
        ("acme", Some("user-10")),
        ("acme", None),
    ] {
        let others = Order {
            customer: customer.map(owner),
            ..order(&format!("other-{}", customer.unwrap_or(tenant_name)), "chair")
        };
        orders.put_order(&tenant(tenant_name), &others).await.unwrap();
    }
    let mut page = PageRequest {
        limit: 40,
        cursor: None,
    };
    let mut ids: Vec<String> = Vec::new();
    loop {
        let found = orders.customers_orders(&acme, &user, &page).await.unwrap();
        ids.extend(found.items.into_iter().map(|order| order.id));
        page.cursor = found.next;
        if page.cursor.is_none() {
            break;
        }
    }
    let expect: Vec<String> = (0..150).rev().map(|number| (9000 - number).to_string()).collect();
    assert_eq!(ids, expect);
    let bad = PageRequest {
        limit: 1,
        cursor: Some("x".repeat(2000)),
    };
    assert!(matches!(
        orders.customers_orders(&acme, &user, &bad).await,
        Err(StoreError::BadCursor)
    ));
}

#[tokio::test]
async fn an_order_that_changed_hands_is_in_one_list_alone() {
    let (store, _database) = store_testing::start().await;
    let (orders, acme) = (store.orders(), tenant("acme"));
    let mut order = order("1001", "lamp");
    orders.put_order(&acme, &order).await.unwrap();
    order.placed_at = later(5);
    orders.put_order(&acme, &order).await.unwrap();
    let list = async |name: &str| {
        let page = PageRequest {
            limit: 10,
            cursor: None,
        };
        let found = orders.customers_orders(&acme, &owner(name), &page).await.unwrap();
        found.items.len()
    };
    assert_eq!((list("user-1").await, list("user-2").await), (1, 0));
    order.customer = Some(owner("user-2"));
    orders.put_order(&acme, &order).await.unwrap();
    assert_eq!((list("user-1").await, list("user-2").await), (0, 1));
}

#[test]
fn the_word_of_a_status_is_the_stored_one() {
    for status in [
        OrderStatus::Placed,
        OrderStatus::Packed,
        OrderStatus::Shipped,
        OrderStatus::Delivered,
        OrderStatus::Cancelled,
    ] {
        assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
    }
}
