//! Rubbish at every route: a typed 4xx, never a 5xx.

use axum::body::Body;
use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE};
use http::{Request, StatusCode};

use crate::fixture::{Idp, SECRET, basic, encoded, request};

#[tokio::test]
async fn rubbish_bodies_get_the_errors_of_rfc_6749() {
    let idp = Idp::start().await;
    let deep = "a[".repeat(5_000);
    let many = "a=1&".repeat(1_000);
    let long = format!("grant_type={}", "x".repeat(100_000));
    let bodies: [&[u8]; 12] = [
        b"",
        b"{}",
        b"null",
        b"grant_type",
        b"grant_type=%",
        b"grant_type=%00%ff",
        b"\xff\xfe\x00",
        b"=&=&=",
        b"grant_type=authorization_code&code=%00&redirect_uri=%00&code_verifier=%00",
        deep.as_bytes(),
        many.as_bytes(),
        long.as_bytes(),
    ];
    for path in ["token", "generate-token", "revoke", "introspect"] {
        for body in bodies {
            for kind in [
                "application/x-www-form-urlencoded",
                "application/json",
                "",
                "\u{e4}",
            ] {
                let request = Request::post(format!("/acme/{path}"))
                    .header(AUTHORIZATION, basic("host", SECRET))
                    .header(CONTENT_TYPE, kind.as_bytes())
                    .body(Body::from(body.to_vec()))
                    .unwrap();
                let answer = idp.call(request).await;
                assert_eq!(
                    answer.status,
                    StatusCode::BAD_REQUEST,
                    "{path} {kind} {}",
                    answer.text
                );
                assert!(answer.json()["error"].is_string());
                assert!(answer.json()["error_description"].is_string());
            }
        }
        let huge = Request::post(format!("/acme/{path}"))
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(vec![b'a'; 2 * 1024 * 1024]))
            .unwrap();
        assert_eq!(idp.call(huge).await.status, StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(
            idp.get(&format!("/acme/{path}")).await.status,
            StatusCode::METHOD_NOT_ALLOWED
        );
    }
}

#[tokio::test]
async fn rubbish_at_the_pages_gets_a_page() {
    let idp = Idp::start().await;
    let query = encoded(&request());
    let long = format!("client_id=host&x={}", "x".repeat(20_000));
    for query in [
        "",
        "%",
        "%ff=%00",
        "client_id=%00",
        "client_id=a%23b&redirect_uri=%00",
        "&&&",
        long.as_str(),
    ] {
        for method in ["GET", "POST"] {
            let request = Request::builder()
                .method(method)
                .uri(format!("/acme/authorize?{query}"));
            let answer = idp.call(request.body(Body::empty()).unwrap()).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{method} {query:.60}");
            assert!(answer.header("content-type").starts_with("text/html"));
        }
    }
    for (kind, body) in [
        ("", ""),
        ("application/json", "{}"),
        ("application/x-www-form-urlencoded", ""),
        ("application/x-www-form-urlencoded", "step=fly"),
        ("application/x-www-form-urlencoded", "step=login&step=allow"),
        ("application/x-www-form-urlencoded", "step=login&form=%00"),
        ("application/x-www-form-urlencoded", "step=allow&form=x"),
    ] {
        for cookie in [
            "",
            "switchyard_idp_acme",
            "switchyard_idp_acme=;;=",
            "switchyard_idp_form_acme=swf_\u{e4}",
        ] {
            let request = Request::post(format!("/acme/authorize?{query}"))
                .header(CONTENT_TYPE, kind)
                .header(COOKIE, cookie.as_bytes());
            let answer = idp.call(request.body(Body::from(body)).unwrap()).await;
            let expected = answer.status.is_client_error() || answer.status == StatusCode::SEE_OTHER;
            assert!(expected, "{kind} {body} {cookie} {}", answer.status);
        }
    }
}
