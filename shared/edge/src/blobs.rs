//! A bucket of S3 as the blob store of a deployment.

use std::sync::Arc;

use async_trait::async_trait;
use domain::Clock;
use outbound::{CallError, Objects, ObjectsPlace, Outbound};
use store::{BlobKey, BlobScope, Blobs, Incoming, ListedBlob, StoreError};
use url::Url;

use crate::aws::{Caller, without_credentials};

/// Which bucket.
#[derive(Debug, Clone, Default)]
pub struct Bucket {
    /// Its name.
    pub name: String,
    /// Another S3 than AWS's.
    pub endpoint: Option<Url>,
    /// Its region.
    pub region: Option<String>,
    /// Who calls.
    pub caller: Caller,
}

/// Large things in a bucket.
#[derive(Clone)]
pub struct S3Blobs {
    objects: Result<Objects, String>,
    clock: Arc<dyn Clock>,
}

impl S3Blobs {
    /// What lies in this bucket. Nothing is asked before the first large thing.
    #[must_use]
    pub fn new(bucket: Bucket, outbound: &Outbound, clock: &Arc<dyn Clock>) -> Self {
        let (endpoint, region) = (bucket.endpoint.as_ref(), bucket.region.as_deref());
        let place = ObjectsPlace {
            bucket: bucket.name,
            signer: bucket.caller.signer("s3", endpoint, region),
            endpoint: endpoint.map(without_credentials),
        };
        Self {
            objects: Objects::new(outbound.clone(), place).map_err(|error| error.to_string()),
            clock: clock.clone(),
        }
    }

    fn objects(&self, operation: &'static str) -> Result<&Objects, StoreError> {
        self.objects.as_ref().map_err(|reason| StoreError::Unavailable {
            operation,
            source: reason.clone().into(),
        })
    }
}

/// A blob of the bucket that comes in parts. One without an end is tidied up by the bucket.
struct Parts {
    blobs: S3Blobs,
    key: String,
    upload: String,
    tags: Vec<String>,
}

#[async_trait]
impl Incoming for Parts {
    async fn write(&mut self, part: Vec<u8>) -> Result<(), StoreError> {
        let (objects, now) = (self.blobs.objects("UploadPart")?, self.blobs.clock.now());
        let place = (
            self.key.as_str(),
            self.upload.as_str(),
            self.tags.len().saturating_add(1),
        );
        let tag = objects
            .put_part(place, &part, now)
            .await
            .map_err(failed("UploadPart"))?;
        self.tags.push(tag);
        Ok(())
    }

    async fn end(self: Box<Self>) -> Result<(), StoreError> {
        let operation = "CompleteMultipartUpload";
        let (objects, now) = (self.blobs.objects(operation)?, self.blobs.clock.now());
        let ended = objects.end((&self.key, &self.upload), &self.tags, now);
        ended.await.map_err(failed(operation))
    }
}

/// What became of a call.
fn failed(operation: &'static str) -> impl FnOnce(CallError) -> StoreError {
    move |error| match error {
        CallError::Status(429 | 503) => StoreError::Throttled { operation },
        error => StoreError::Unavailable {
            operation,
            source: Box::new(error),
        },
    }
}

#[async_trait]
impl Blobs for S3Blobs {
    async fn put(&self, key: &BlobKey, bytes: &[u8]) -> Result<(), StoreError> {
        let (objects, now) = (self.objects("PutObject")?, self.clock.now());
        objects
            .put(&key.path(), bytes, now)
            .await
            .map_err(failed("PutObject"))
    }

    async fn get(&self, key: &BlobKey, most: usize) -> Result<Option<Vec<u8>>, StoreError> {
        let (objects, now) = (self.objects("GetObject")?, self.clock.now());
        objects
            .get(&key.path(), most, now)
            .await
            .map_err(failed("GetObject"))
    }

    async fn begin(&self, key: &BlobKey) -> Result<Box<dyn Incoming>, StoreError> {
        let operation = "CreateMultipartUpload";
        let (objects, now) = (self.objects(operation)?, self.clock.now());
        let upload = objects.begin(&key.path(), now).await.map_err(failed(operation))?;
        Ok(Box::new(Parts {
            blobs: self.clone(),
            key: key.path(),
            upload,
            tags: Vec::new(),
        }))
    }

    async fn piece(&self, key: &BlobKey, from: u64, most: usize) -> Result<Option<Vec<u8>>, StoreError> {
        let (objects, now) = (self.objects("GetObject")?, self.clock.now());
        let piece = objects.piece(&key.path(), (from, most), now).await;
        match piece {
            // There is nothing behind its end.
            Err(CallError::Status(416)) => Ok(Some(Vec::new())),
            piece => piece.map_err(failed("GetObject")),
        }
    }

    async fn delete(&self, key: &BlobKey) -> Result<(), StoreError> {
        let (objects, now) = (self.objects("DeleteObject")?, self.clock.now());
        objects
            .delete(&key.path(), now)
            .await
            .map_err(failed("DeleteObject"))
    }

    async fn list(&self, scope: &BlobScope, after: Option<&BlobKey>) -> Result<Vec<ListedBlob>, StoreError> {
        let (objects, now) = (self.objects("ListObjects")?, self.clock.now());
        let after = after.map(BlobKey::path);
        let listed = objects.list(&scope.prefix(), after.as_deref(), now).await;
        // What is no blob's is somebody else's.
        let blobs = listed
            .map_err(failed("ListObjects"))?
            .into_iter()
            .filter_map(|one| {
                Some(ListedBlob {
                    key: BlobKey::parse(&one.key)?,
                    put_at: one.put_at,
                })
            });
        Ok(blobs.collect())
    }
}
