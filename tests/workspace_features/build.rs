//! Nothing: without a build script cargo looks past `[build-dependencies]`.

fn main() {}
