//! Limits by the address that a request comes from, as the gateway sees it.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::{Client, StatusCode};
use system_testing::Local;

/// A client that calls from this address of the machine.
fn client_at(address: &str) -> Client {
    let address: IpAddr = address.parse().expect("an address");
    #[expect(clippy::disallowed_methods, reason = "the tests call the system from outside")]
    let builder = Client::builder();
    builder.local_address(address).build().expect("a client")
}

struct Told {
    status: StatusCode,
    retry_after: Option<u64>,
}

/// A notification with a token that nobody gave out; it claims to come from `claimed`.
async fn guess(client: &Client, local: &Local, number: u32, claimed: &str) -> Told {
    let response = client
        .post(format!(
            "{}/api/webhook/tasks",
            local.endpoint("/tenants/acme/base")
        ))
        .bearer_auth(format!("{}.{number:064}", uuid(number)))
        .header("x-forwarded-for", claimed)
        .header("forwarded", format!("for={claimed}"))
        .header("x-real-ip", claimed)
        .body("{}")
        .send()
        .await
        .expect("an answer");
    let wait = response.headers().get("retry-after");
    let wait = wait.map(|wait| wait.to_str().expect("text").parse().expect("seconds"));
    Told {
        status: response.status(),
        retry_after: wait,
    }
}

fn uuid(number: u32) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

#[tokio::test(flavor = "multi_thread")]
async fn who_guesses_webhook_tokens_is_slowed_down_whatever_its_headers_claim() {
    let local = Local::start().await;
    let attacker = client_at("127.0.0.1");
    let (mut tried, mut refused) = (0, 0);
    for number in 0..600 {
        let claimed = format!("198.51.100.{}", number % 250);
        let told = guess(&attacker, &local, number, &claimed).await;
        match told.status {
            StatusCode::UNAUTHORIZED => tried += 1,
            StatusCode::TOO_MANY_REQUESTS => {
                assert!(told.retry_after.is_some_and(|seconds| seconds >= 1));
                refused += 1;
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!((tried, refused), (10, 590), "the clock stands still meanwhile");

    // Somebody else is heard, also one who claims to be the first.
    let other = client_at("127.0.0.5");
    let told = guess(&other, &local, 601, "127.0.0.1").await;
    assert_eq!(told.status, StatusCode::UNAUTHORIZED);

    // A little later so is the first.
    local.clock.advance(Duration::from_secs(1));
    let told = guess(&attacker, &local, 602, "127.0.0.1").await;
    assert_eq!(told.status, StatusCode::UNAUTHORIZED);
    local.system.stop().await;
}
