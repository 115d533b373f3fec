//! `switchyard page --watch`: the whole system, with a page that is built anew whenever its sources change.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clap::Args;

use super::{Failure, up};

const EVERY: Duration = Duration::from_millis(100);
/// Where the build lies, in the data folder.
const BUILD: &str = "page";
/// What the watcher writes once the first build is there.
const READY: &str = ".ready";

/// Develop the page: start everything, and rebuild the page when its sources change
#[derive(Args)]
pub(super) struct Page {
    /// Start everything as `up` does, and rebuild the page when its sources change; reload to see it (required; needs Node.js)
    #[arg(long, required = true)]
    watch: bool,
    /// The folder of the page's sources
    #[arg(long, value_name = "FOLDER", default_value = "functions/chat_api/ui")]
    sources: PathBuf,
    #[command(flatten)]
    up: up::Up,
}

impl Page {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let mut up = self.up;
        let Some(data) = up.data() else {
            return Err(Failure::other(
                "a page that is built anew lies in the data folder: leave --memory out",
            ));
        };
        std::fs::create_dir_all(data).map_err(Failure::other)?;
        let build = data.canonicalize().map_err(Failure::other)?.join(BUILD);
        let mut watcher = Watcher::start(&self.sources, &build)?;
        watcher.wait_for(&build.join(READY)).await?;
        up.page = Some(build);
        tokio::select! {
            ended = Box::pin(up.run()) => ended,
            failure = watcher.ended() => Err(failure),
        }
    }
}

/// What builds the page. It ends with us, as it reads what we never write.
struct Watcher(Child);

impl Watcher {
    fn start(sources: &Path, build: &Path) -> Result<Self, Failure> {
        let script = sources.join("scripts/watch.mjs");
        if !script.is_file() {
            let place = sources.display();
            return Err(Failure::other(format!(
                "there are no sources of a page in {place}: start this in the repository, or name them with --sources"
            )));
        }
        // The last run's.
        match std::fs::remove_dir_all(build) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(Failure::other(error)),
            _ => {}
        }
        let started = Command::new("node")
            .arg(script)
            .arg(build)
            .stdin(Stdio::piped())
            .spawn();
        started.map(Self).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::other(
                "the page is built by Node.js (20.19, or 22.12 and later), and there is no `node` here; \
                 `switchyard up` needs none: it has a page that is built",
            ),
            _ => Failure::other(format!("node does not start: {error}")),
        })
    }

    async fn wait_for(&mut self, file: &Path) -> Result<(), Failure> {
        while !file.exists() {
            if let Ok(Some(_)) | Err(_) = self.0.try_wait() {
                return Err(Failure::other("the page was not built"));
            }
            tokio::time::sleep(EVERY).await;
        }
        Ok(())
    }

    async fn ended(&mut self) -> Failure {
        while let Ok(None) = self.0.try_wait() {
            tokio::time::sleep(EVERY).await;
        }
        Failure::other("the page is no longer built: its build has ended")
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
