//! The page's build: the one that the function holds, or one in a folder, which whoever works on the page makes anew all the time.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use miniz_oxide::inflate::decompress_to_vec;

use crate::files::media::media;
use crate::page::serving::tag_of;

/// A file of the page, as the build script packed it.
struct Held {
    /// Its name, with a hash of what it holds.
    name: &'static str,
    /// Its media type.
    media: &'static str,
    /// Its entity tag.
    tag: &'static str,
    /// Itself, gzipped.
    packed: &'static [u8],
}

const HELD: &[Held] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));
const INDEX: &str = include_str!("../../ui/dist/index.html");
const WORKER: &str = include_str!("../../ui/dist/worker.js");

/// What stands around the deflated bytes in a gzip file of ours.
const HEAD: usize = 10;
const FOOT: usize = 8;

/// A build of the page.
#[derive(Debug, Clone)]
pub(crate) enum Built {
    /// The committed one.
    Held,
    /// The one in this folder, as it is when it is asked for.
    In(PathBuf),
}

/// A file of a build.
pub(crate) struct File {
    pub(crate) media: &'static str,
    pub(crate) tag: Cow<'static, str>,
    bytes: Bytes,
}

enum Bytes {
    Packed(&'static [u8]),
    Plain(Vec<u8>),
}

impl Built {
    /// The document, with places for what its tenant says.
    pub(crate) fn index(&self) -> Cow<'static, str> {
        self.text("index.html", INDEX)
    }

    /// The service worker.
    pub(crate) fn worker(&self) -> Cow<'static, str> {
        self.text("worker.js", WORKER)
    }

    /// The names of its files.
    pub(crate) fn names(&self) -> Vec<Cow<'static, str>> {
        match self {
            Self::Held => HELD.iter().map(|held| held.name.into()).collect(),
            Self::In(folder) => named(&folder.join("assets")),
        }
    }

    /// The file of this name.
    pub(crate) fn file(&self, name: &str) -> Option<File> {
        match self {
            Self::Held => HELD.iter().find(|held| held.name == name).map(|held| File {
                media: held.media,
                tag: held.tag.into(),
                bytes: Bytes::Packed(held.packed),
            }),
            // Only what lies there: a name from outside is no path.
            Self::In(_) if !self.names().iter().any(|known| known == name) => None,
            Self::In(folder) => {
                let bytes = fs::read(folder.join("assets").join(name)).ok()?;
                Some(File {
                    media: media(name)?,
                    tag: format!("\"{}\"", tag_of(&bytes)).into(),
                    bytes: Bytes::Plain(bytes),
                })
            }
        }
    }

    /// While a build is written, the one before it or nothing may be there: the page is then loaded once more.
    fn text(&self, name: &str, held: &'static str) -> Cow<'static, str> {
        match self {
            Self::Held => held.into(),
            Self::In(folder) => fs::read_to_string(folder.join(name)).unwrap_or_default().into(),
        }
    }
}

impl File {
    /// The file gzipped, where it is at hand so.
    pub(crate) fn packed(&self) -> Option<&'static [u8]> {
        match self.bytes {
            Bytes::Packed(packed) => Some(packed),
            Bytes::Plain(_) => None,
        }
    }

    /// The file as it is.
    pub(crate) fn plain(self) -> Option<Vec<u8>> {
        match self.bytes {
            Bytes::Packed(packed) => {
                let inner = HEAD..packed.len().saturating_sub(FOOT);
                decompress_to_vec(packed.get(inner).unwrap_or_default()).ok()
            }
            Bytes::Plain(bytes) => Some(bytes),
        }
    }
}

fn named(folder: &Path) -> Vec<Cow<'static, str>> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    let found = found.filter(|entry| entry.path().is_file());
    let names = found.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<_> = names
        .filter(|name| media(name).is_some())
        .map(Cow::Owned)
        .collect();
    names.sort();
    names
}
