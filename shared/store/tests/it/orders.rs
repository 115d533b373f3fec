//! Orders.

use crate::*;
use store::{Order, OrderItem, OrderStatus, counted};

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
async fn a_list_of_orders_is_bounded_and_of_one_tenant() {
    let (store, _database) = store_testing::start().await;
    let (orders, acme) = (store.orders(), tenant("acme"));
    for id in 1001..1006 {
        orders
            .put_order(&acme, &order(&id.to_string(), "lamp"))
            .await
            .unwrap();
    }
    orders
        .put_order(&tenant("acme-2"), &order("1000", "chair"))
        .await
        .unwrap();
    let ids = |orders: Vec<Order>| orders.into_iter().map(|order| order.id).collect::<Vec<_>>();
    let (listed, calls) = counted(orders.list_orders(&acme, 3)).await;
    assert_eq!(
        (ids(listed.unwrap()), calls.total()),
        (vec!["1001".into(), "1002".into(), "1003".into()], 1)
    );
    assert_eq!(orders.list_orders(&acme, u32::MAX).await.unwrap().len(), 5);
    assert_eq!(orders.list_orders(&acme, 0).await.unwrap().len(), 1);
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
