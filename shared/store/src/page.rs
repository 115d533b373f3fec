//! Paging with cursors that are opaque and bound to the listing they came from.

/// Which page is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// At most so many; held within 1 to 100.
    pub limit: u32,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

/// One page of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// What is on it; it may be short, also where more follows.
    pub items: Vec<T>,
    /// Where the next one starts, if there is more.
    pub next: Option<String>,
}
