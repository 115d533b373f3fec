//! Files of results that are too large for a task's record: they lie beside it, and the result has their address.
//!
//! Such a file is taken in while the agent's answer comes, and nothing of it is held but what is being written. One that is larger than
//! [`FILE_MAX`] is named as not kept, and the rest of the result is there.

use std::collections::HashMap;

use a2a::sieve::{FilePiece, placeholder};
use domain::{Endpoint, PartContent, RemoteTaskId, SecretString, TaskId};
use futures_util::future::join;
use outbound::{CallError, Outbound, RemoteTask};
use store::{Received, Receiving, StoreError, TaskKey};
use tokio::sync::mpsc;

use crate::deps::OnTask;

/// Most bytes of a file, and of all large files of one answer.
const FILE_MAX: u64 = 50 * 1024 * 1024;
/// Most large files of one answer.
const FILES_MAX: usize = 16;
/// Pieces that may wait to be written; each is as large as what came in at once.
const WAITING: usize = 2;

/// What became of a file.
enum Fate {
    Kept(Received),
    /// It has so many bytes.
    TooLarge(u64),
}

/// Where the host gives a file of a task out to the task's callers.
fn place_of(on: OnTask<'_>, task: TaskId, name: &str) -> String {
    let host = on.deps.url.as_str().trim_end_matches('/');
    format!("{host}/tasks/{task}/files/{name}")
}

/// The agent's task, with the addresses of its large files in their places.
pub(crate) async fn task(
    on: OnTask<'_>,
    outbound: &Outbound,
    (to, id): (&Endpoint, &RemoteTaskId),
    token: &SecretString,
) -> Result<RemoteTask, CallError> {
    let mark = on.deps.entropy.uuid().to_string();
    let (files, pieces) = mpsc::channel(WAITING);
    let sifting = outbound.sifting(&mark, files);
    let call = async move { sifting.task(to, id, Some(token)).await };
    let (answered, taken) = join(call, take_in(on, &mark, pieces)).await;
    let taken = taken.map_err(|error| {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(task.id = %on.task.id, error, "a large file of a result cannot be kept yet");
        CallError::Timeout
    })?;
    let mut remote = answered?;
    let parts = remote
        .artifacts
        .iter_mut()
        .flat_map(|artifact| &mut artifact.parts);
    for part in parts {
        let PartContent::Raw(name) = &part.content else {
            continue;
        };
        match taken.get(name) {
            Some(Fate::Kept(file)) => {
                let place = place_of(on, on.task.id, &file.name);
                part.detach_to(place, (file.size, &file.sha256));
            }
            Some(Fate::TooLarge(bytes)) => part.leave_out(*bytes),
            None => {}
        }
    }
    Ok(remote)
}

/// Takes files in as they come, by what stands for them in the answer.
async fn take_in(
    on: OnTask<'_>,
    mark: &str,
    mut pieces: mpsc::Receiver<FilePiece>,
) -> Result<HashMap<String, Fate>, StoreError> {
    let mut taken = HashMap::new();
    let (mut receiving, mut size, mut room) = (None::<Receiving>, 0_u64, FILE_MAX);
    while let Some(piece) = pieces.recv().await {
        match piece {
            FilePiece::Bytes(bytes) => {
                if size == 0 && taken.len() < FILES_MAX {
                    let seed = format!("{mark}/{}", taken.len());
                    let tasks = on.deps.store.tasks();
                    receiving = tasks.receive(&TaskKey::from(on.task), &seed).await?;
                }
                size = size.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
                match &mut receiving {
                    Some(file) if size <= room => file.write(&bytes).await?,
                    _ => receiving = None,
                }
            }
            FilePiece::End(number) => {
                let fate = match receiving.take() {
                    Some(file) => {
                        room = room.saturating_sub(size);
                        Fate::Kept(file.end().await?)
                    }
                    None => Fate::TooLarge(size),
                };
                taken.insert(placeholder(mark, number), fate);
                size = 0;
            }
        }
    }
    Ok(taken)
}
