//! Objects of a bucket of S3, by requests that are signed here (AWS Signature Version 4): an SDK would be a megabyte of each program for a few
//! operations.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::Timestamp;
use http::Method;
use http::header::ETAG;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use roxmltree::{Document, ParsingOptions};
use sha2::{Digest as _, Sha256};
use tracing::Instrument as _;
use url::Url;

use crate::client::{self, Ask};
use crate::{CallError, Outbound, Signer};

/// What a key is written with in a path: all but what RFC 3986 calls unreserved, and the slash.
const PATH: &AsciiSet = &QUERY.remove(b'/');
/// What a value is written with in a query.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Most bytes of a listing: a thousand keys of a thousand bytes, each escaped and with what stands beside it.
const LISTING_MAX: usize = 8 * 1024 * 1024;
/// Most nodes of a listing's XML: a thousand objects, with a dozen fields and their texts each.
const NODES_MAX: u32 = 64_000;
/// Most bytes of what is said of an object that comes in parts.
const PARTS_ANSWER_MAX: usize = 16 * 1024;
/// How often a request is sent that failed by no fault of its own, and how long it waits before the second time; then four times as long.
const TRIES: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Which bucket, where, and who asks.
#[derive(Debug, Clone)]
pub struct ObjectsPlace {
    /// The bucket.
    pub bucket: String,
    /// Another S3 than AWS's, in whose paths buckets are.
    pub endpoint: Option<Url>,
    /// Who asks, and in which region.
    pub signer: Signer,
}

/// The objects of a bucket.
#[derive(Debug, Clone)]
pub struct Objects {
    outbound: Outbound,
    place: ObjectsPlace,
    base: Url,
}

/// An object of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedObject {
    /// Its key.
    pub key: String,
    /// When it was put.
    pub put_at: Timestamp,
}

/// What came back; the body of a success alone.
struct Answered {
    status: u16,
    etag: Option<String>,
    body: Vec<u8>,
}

/// What is asked.
#[derive(Clone)]
struct Asked<'a> {
    method: Method,
    url: &'a Url,
    headers: &'a [(&'a str, &'a str)],
    body: Option<&'a [u8]>,
}

impl<'a> Asked<'a> {
    fn of(method: Method, url: &'a Url) -> Self {
        Self {
            method,
            url,
            headers: &[],
            body: None,
        }
    }
}

impl Answered {
    fn done(&self) -> Result<(), CallError> {
        match self.status {
            200..300 => Ok(()),
            status => Err(CallError::Status(status)),
        }
    }
}

impl Objects {
    /// The objects of this bucket.
    ///
    /// # Errors
    /// [`CallError::NotAllowed`] where bucket and region make no address.
    pub fn new(outbound: Outbound, place: ObjectsPlace) -> Result<Self, CallError> {
        let (bucket, region) = (&place.bucket, &place.signer.region);
        let base = match &place.endpoint {
            Some(endpoint) => Ok(crate::below(endpoint, &format!("{bucket}/"))),
            None => Url::parse(&format!("https://{bucket}.s3.{region}.amazonaws.com/")),
        };
        let base = base.map_err(|_| CallError::NotAllowed("the bucket has no address".to_owned()))?;
        Ok(Self {
            outbound,
            place,
            base,
        })
    }

    /// Puts an object, in the place of the one that was there.
    ///
    /// # Errors
    /// What became of the call.
    pub async fn put(&self, key: &str, bytes: &[u8], now: Timestamp) -> Result<(), CallError> {
        let url = self.object(key, "")?;
        // S3 holds what came against it, and wants it where objects are locked.
        let hash = STANDARD.encode(Sha256::digest(bytes));
        let ask = Asked {
            headers: &[("x-amz-checksum-sha256", &hash)],
            body: Some(bytes),
            ..Asked::of(Method::PUT, &url)
        };
        self.asked_with(ask, 0, now).await?.done()
    }

    /// The bytes of an object, at most `most`; `None` where there is none.
    ///
    /// # Errors
    /// What became of the call; [`CallError::TooLarge`] where they are more.
    pub async fn get(&self, key: &str, most: usize, now: Timestamp) -> Result<Option<Vec<u8>>, CallError> {
        self.got(key, &[], most, now).await
    }

    /// So many bytes of an object, from the one of that number on, fewer where it ends before; `None` where there is none.
    ///
    /// # Errors
    /// What became of the call.
    pub async fn piece(
        &self,
        key: &str,
        (from, most): (u64, usize),
        now: Timestamp,
    ) -> Result<Option<Vec<u8>>, CallError> {
        let last = from
            .saturating_add(u64::try_from(most).unwrap_or(u64::MAX))
            .saturating_sub(1);
        let range = format!("bytes={from}-{last}");
        self.got(key, &[("range", &range)], most, now).await
    }

    async fn got(
        &self,
        key: &str,
        headers: &[(&str, &str)],
        most: usize,
        now: Timestamp,
    ) -> Result<Option<Vec<u8>>, CallError> {
        let url = self.object(key, "")?;
        let ask = Asked {
            headers,
            ..Asked::of(Method::GET, &url)
        };
        let answered = self.asked_with(ask, most, now).await?;
        match answered.status {
            404 => Ok(None),
            200 | 206 => Ok(Some(answered.body)),
            status => Err(CallError::Status(status)),
        }
    }

    /// Begins an object that comes in parts; the id of that.
    ///
    /// # Errors
    /// What became of the call.
    pub async fn begin(&self, key: &str, now: Timestamp) -> Result<String, CallError> {
        let url = self.object(key, "uploads=")?;
        let answered = self
            .asked((Method::POST, &url), Some(b""), PARTS_ANSWER_MAX, now)
            .await?;
        answered.done()?;
        let named = text_of(&answered.body, ("InitiateMultipartUploadResult", "UploadId"));
        named.ok_or_else(|| CallError::BadAnswer("it names no upload".to_owned()))
    }

    /// Puts a part of an object, 5 MiB or more but for the last; what it is called at the end. Parts are counted from 1.
    ///
    /// # Errors
    /// What became of the call.
    pub async fn put_part(
        &self,
        (key, upload, number): (&str, &str, usize),
        bytes: &[u8],
        now: Timestamp,
    ) -> Result<String, CallError> {
        let upload = utf8_percent_encode(upload, QUERY);
        let url = self.object(key, &format!("partNumber={number}&uploadId={upload}"))?;
        let answered = self.asked((Method::PUT, &url), Some(bytes), 0, now).await?;
        answered.done()?;
        let untold = || CallError::BadAnswer("a part has no entity tag".to_owned());
        answered.etag.ok_or_else(untold)
    }

    /// Makes an object of its parts, which are called so.
    ///
    /// # Errors
    /// What became of the call.
    pub async fn end(
        &self,
        (key, upload): (&str, &str),
        parts: &[String],
        now: Timestamp,
    ) -> Result<(), CallError> {
        let url = self.object(key, &format!("uploadId={}", utf8_percent_encode(upload, QUERY)))?;
        let parts = (1..).zip(parts).map(|(number, tag)| {
            let tag = tag.replace('&', "&amp;").replace('<', "&lt;");
            format!("<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>")
        });
        let body = format!(
            "<CompleteMultipartUpload>{}</CompleteMultipartUpload>",
            parts.collect::<String>()
        );
        let asked = self.asked((Method::POST, &url), Some(body.as_bytes()), PARTS_ANSWER_MAX, now);
        let answered = asked.await?;
        answered.done()?;
        // S3 says that it is done before it is, and takes it back in the body.
        let done = text_of(&answered.body, ("CompleteMultipartUploadResult", "ETag"));
        done.map(|_| ())
            .ok_or_else(|| CallError::BadAnswer("the parts are no object".to_owned()))
    }

    /// Deletes an object, where there is one.
    ///
    /// # Errors
    /// What became of the call.
    pub async fn delete(&self, key: &str, now: Timestamp) -> Result<(), CallError> {
        let url = self.object(key, "")?;
        self.asked((Method::DELETE, &url), None, 0, now).await?.done()
    }

    /// The objects whose keys begin so, from behind `after` on, in their order: a thousand at most.
    ///
    /// # Errors
    /// What became of the call.
    pub async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<ListedObject>, CallError> {
        let value = |text: &str| utf8_percent_encode(text, QUERY).to_string();
        let mut query = format!("list-type=2&prefix={}", value(prefix));
        if let Some(after) = after {
            query.push_str(&format!("&start-after={}", value(after)));
        }
        let mut url = self.base.clone();
        url.set_query(Some(&query));
        let answered = self.asked((Method::GET, &url), None, LISTING_MAX, now).await?;
        answered.done()?;
        listed(&answered.body).ok_or_else(|| CallError::BadAnswer("it is no listing".to_owned()))
    }

    fn object(&self, key: &str, query: &str) -> Result<Url, CallError> {
        let key = utf8_percent_encode(key, PATH);
        let url = Url::parse(&format!("{}{key}", self.base));
        let mut url = url.map_err(|_| CallError::NotAllowed("the object has no address".to_owned()))?;
        url.set_query(Some(query).filter(|query| !query.is_empty()));
        Ok(url)
    }

    async fn asked(
        &self,
        (method, url): (Method, &Url),
        body: Option<&[u8]>,
        most: usize,
        now: Timestamp,
    ) -> Result<Answered, CallError> {
        let ask = Asked {
            body,
            ..Asked::of(method, url)
        };
        self.asked_with(ask, most, now).await
    }

    /// Asks, and once more where the answer says that another time may do: each of the requests does the same however often it is made.
    async fn asked_with(&self, ask: Asked<'_>, most: usize, now: Timestamp) -> Result<Answered, CallError> {
        let mut pause = FIRST_PAUSE;
        for _ in 1..TRIES {
            match self.exchanged(ask.clone(), most, now).await {
                Ok(answered) if answered.status < 500 && answered.status != 429 => return Ok(answered),
                Err(error) if !matches!(error, CallError::Timeout | CallError::Unreachable { .. }) => {
                    return Err(error);
                }
                Ok(_) | Err(_) => {}
            }
            tokio::time::sleep(pause).await;
            pause *= 4;
        }
        self.exchanged(ask, most, now).await
    }

    async fn exchanged(&self, asked: Asked<'_>, most: usize, now: Timestamp) -> Result<Answered, CallError> {
        let signed = (asked.method.as_str(), asked.url);
        let signer = &self.place.signer;
        let body = asked.body.unwrap_or_default();
        let headers = signer.headers(signed, asked.headers, body, now).await?;
        let ask = Ask {
            method: asked.method,
            url: asked.url,
            headers,
            body: asked.body.map(<[u8]>::to_vec),
            timeout: None,
            most: Some(most),
        };
        self.outbound.check_url(ask.url)?;
        let span = client::span(&ask);
        let response = Box::pin(self.outbound.opened(ask)).instrument(span).await?;
        let status = response.status().as_u16();
        let etag = response.headers().get(ETAG);
        let etag = etag.and_then(|tag| tag.to_str().ok().map(str::to_owned));
        let body = match status {
            // What is packed in an object stays so.
            200 | 206 => client::whole(response, most).await?.into(),
            _ => Vec::new(),
        };
        Ok(Answered { status, etag, body })
    }
}

/// The text of a field below the root of an XML document, whose name is told too.
fn text_of(xml: &[u8], (root, field): (&str, &str)) -> Option<String> {
    let options = ParsingOptions {
        nodes_limit: 100,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(std::str::from_utf8(xml).ok()?, options).ok()?;
    let told = document.root_element();
    let mut fields = told.children().filter(|_| told.tag_name().name() == root);
    let found = fields.find(|node| node.tag_name().name() == field)?;
    found.text().map(str::to_owned)
}

/// The objects of a listing's XML.
fn listed(xml: &[u8]) -> Option<Vec<ListedObject>> {
    let options = ParsingOptions {
        nodes_limit: NODES_MAX,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(std::str::from_utf8(xml).ok()?, options).ok()?;
    let root = document.root_element();
    if root.tag_name().name() != "ListBucketResult" {
        return None;
    }
    let objects = root
        .children()
        .filter(|node| node.tag_name().name() == "Contents");
    let objects = objects.map(|object| {
        let field = |name: &str| {
            object
                .children()
                .find(|node| node.tag_name().name() == name)?
                .text()
        };
        Some(ListedObject {
            key: field("Key")?.to_owned(),
            put_at: Timestamp::parse(field("LastModified")?)?,
        })
    });
    objects.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_read_and_rubbish_is_none() {
        let xml = r#"<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><KeyCount>1</KeyCount>
<Contents><Key>acme#chat#a&amp;b/0</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified><Size>7</Size></Contents>
</ListBucketResult>"#;
        let found = listed(xml.as_bytes()).unwrap();
        assert_eq!(found[0].key, "acme#chat#a&b/0");
        assert_eq!(found[0].put_at.to_string(), "2026-01-02T03:04:05.000Z");
        assert_eq!(listed(b"<ListBucketResult/>"), Some(Vec::new()));
        let bomb = format!("<ListBucketResult>{}</ListBucketResult>", "<a/>".repeat(70_000));
        for rubbish in [
            "",
            "no xml",
            "<Error/>",
            "<ListBucketResult><Contents/></ListBucketResult>",
            &bomb,
        ] {
            assert_eq!(listed(rubbish.as_bytes()), None);
        }
    }
}
