//! Which media types files of the page have, by their ending. The build script reads this too.

/// The media type; none where no page has such files.
pub(crate) fn media(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1 {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        _ => return None,
    })
}
