//! A `lambda_http` function that does nothing: what the start of our own is measured against.

#[tokio::main]
async fn main() -> Result<(), lambda_http::Error> {
    lambda_http::run(lambda_http::service_fn(async |_: lambda_http::Request| {
        Ok::<_, std::convert::Infallible>("")
    }))
    .await
}
