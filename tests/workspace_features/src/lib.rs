//! Nothing: its manifest lists the features that other people's crates are built with.
