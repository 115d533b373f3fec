//! Why the system does not start, one sentence each.

use std::path::PathBuf;

/// Why the system does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another process listens there.
    #[error("port {port} is taken; stop what listens there or choose another with --port")]
    PortTaken {
        /// The port asked for.
        port: u16,
    },
    /// The port cannot be opened for another reason.
    #[error("port {port} cannot be opened: {source}")]
    Listen {
        /// The port asked for.
        port: u16,
        /// What the system says.
        source: std::io::Error,
    },
    /// Another system runs on this data folder.
    #[error("the data folder {} is in use by another switchyard; stop that one or choose another folder with --data", .0.display())]
    Busy(PathBuf),
    /// The data folder cannot be made, read or written.
    #[error("{} cannot be used: {source}", path.display())]
    Folder {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Something in the data folder is not what this program wrote.
    #[error("the data folder is damaged: {} {reason}; move the folder away to start afresh", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A part of the system does not start; that is a fault of this program.
    #[error("the {part} does not start: {source}")]
    Part {
        /// Which part.
        part: &'static str,
        /// What it says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl StartError {
    /// For `map_err`: a part that does not start.
    pub(crate) fn part<E>(part: &'static str) -> impl FnOnce(E) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        move |source| Self::Part {
            part,
            source: source.into(),
        }
    }
}
