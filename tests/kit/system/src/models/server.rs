//! An HTTP server that answers by a script, to the byte.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use url::Url;

/// What comes of one request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// A stream.
    Stream {
        /// What it says it is.
        content_type: &'static str,
        /// What it does.
        pieces: Vec<Piece>,
    },
    /// Something else.
    Status {
        /// Its status.
        status: u16,
        /// Its headers.
        headers: Vec<(String, String)>,
        /// Its body.
        body: String,
    },
}

impl Reply {
    /// The same with one more header, where it is no stream.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        if let Self::Status { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }
}

/// A piece of a stream.
#[derive(Debug, Clone)]
pub enum Piece {
    /// Bytes, sent at once.
    Bytes(Vec<u8>),
    /// A pause, for other work to go on.
    Pause(Duration),
    /// Nothing more, and no end, until the client leaves.
    Hang,
    /// The end of the body. Without it the connection breaks.
    End,
}

/// A request that came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The request line and the headers.
    pub head: String,
    /// The body.
    pub body: Value,
    /// When it had come.
    pub at: Instant,
}

impl Asked {
    /// Whether the last thing that it was told is what came of its decision.
    #[must_use]
    pub fn has_results(&self) -> bool {
        self.messages().last().is_some_and(is_result)
    }

    /// What the user said last.
    #[must_use]
    pub fn prompt(&self) -> String {
        let said = self.messages().iter().rev().find(|message| is_said(message));
        let said = said.map(text).unwrap_or_default();
        said.split("\n\n(Today is").next().unwrap_or_default().to_owned()
    }

    /// How many answers it gave since the user spoke last.
    #[must_use]
    pub fn steps(&self) -> usize {
        let since = self
            .messages()
            .iter()
            .rev()
            .take_while(|message| !is_said(message));
        since.filter(|message| message["role"] == "assistant").count()
    }

    /// Whether words are wanted of it, and no decision.
    #[must_use]
    pub fn writes(&self) -> bool {
        ["response_format", "toolConfig"]
            .iter()
            .all(|decides| self.body[*decides].is_null())
    }

    /// The conversation, without instructions.
    #[must_use]
    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }
}

fn text(message: &Value) -> &str {
    let content = &message["content"];
    content[0]["text"]
        .as_str()
        .or(content.as_str())
        .unwrap_or_default()
}

/// What came of work stands behind these words.
fn is_result(message: &Value) -> bool {
    text(message).starts_with("What came of it:")
}

fn is_said(message: &Value) -> bool {
    message["role"] == "user" && !is_result(message)
}

/// What a model answers to what it is asked.
type Thinks = Box<dyn FnMut(&Asked) -> Reply + Send>;

/// A scripted model. It answers with the next reply of its script, and with the last one for ever; or as it is made to by
/// what it is asked.
pub struct ModelServer {
    url: Url,
    asked: Arc<Mutex<Vec<Asked>>>,
    left: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ModelServer {
    /// Starts on a free port of the loopback address.
    pub async fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        let mut script: VecDeque<Reply> = script.into_iter().collect();
        Self::thinking(move |_| match script.len() {
            0 | 1 => script
                .front()
                .cloned()
                .expect("a model without a script was asked"),
            _ => script.pop_front().expect("one of several"),
        })
        .await
    }

    /// Starts one whose answers follow from what it is asked.
    pub async fn thinking(thinks: impl FnMut(&Asked) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("no port");
        let address = listener.local_addr().expect("no address");
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let thinks: Arc<Mutex<Thinks>> = Arc::new(Mutex::new(Box::new(thinks)));
        let kept = Arc::clone(&asked);
        let left: Arc<AtomicUsize> = Arc::default();
        let counted = Arc::clone(&left);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (thinks, asked, left) = (Arc::clone(&thinks), Arc::clone(&kept), Arc::clone(&counted));
                tokio::spawn(async move {
                    // A client that leaves is no fault of ours.
                    let _left = answer(stream, &thinks, (&asked, &left)).await;
                });
            }
        });
        Self {
            url: Url::parse(&format!("http://{address}")).expect("no URL"),
            asked,
            left,
            task,
        }
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// How many clients have left while it hung.
    #[must_use]
    pub fn left(&self) -> usize {
        self.left.load(Ordering::SeqCst)
    }

    /// What it was asked so far.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn answer(
    mut stream: TcpStream,
    thinks: &Mutex<Thinks>,
    (asked, left): (&Mutex<Vec<Asked>>, &AtomicUsize),
) -> std::io::Result<()> {
    let request = read(&mut stream).await?;
    // Somebody looks whether a server is there: that is no question.
    if request.body.is_null() {
        let here = b"HTTP/1.1 404 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        return stream.write_all(here).await;
    }
    asked
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(request.clone());
    let reply = thinks.lock().unwrap_or_else(PoisonError::into_inner)(&request);
    match reply {
        Reply::Status {
            status,
            headers,
            body,
        } => {
            let headers: String = headers
                .iter()
                .map(|(name, value)| format!("{name}: {value}\r\n"))
                .collect();
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
            );
            stream.write_all((head + &body).as_bytes()).await?;
        }
        Reply::Stream { content_type, pieces } => {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await?;
            for piece in pieces {
                match piece {
                    Piece::Bytes(bytes) => {
                        stream
                            .write_all(format!("{:x}\r\n", bytes.len()).as_bytes())
                            .await?;
                        stream.write_all(&bytes).await?;
                        stream.write_all(b"\r\n").await?;
                    }
                    Piece::Pause(pause) => tokio::time::sleep(pause).await,
                    Piece::Hang => {
                        // What a client still says is of no interest; that it says nothing any more is.
                        while stream.read(&mut [0; 1024]).await.is_ok_and(|count| count > 0) {}
                        left.fetch_add(1, Ordering::SeqCst);
                        return Ok(());
                    }
                    Piece::End => stream.write_all(b"0\r\n\r\n").await?,
                }
            }
        }
    }
    stream.shutdown().await
}

async fn read(stream: &mut TcpStream) -> std::io::Result<Asked> {
    let mut bytes = Vec::new();
    loop {
        let head_end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = head_end {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                let is_length = name.eq_ignore_ascii_case("content-length");
                is_length.then(|| value.trim().parse::<usize>().ok())?
            });
            let body = &bytes[end + 4..];
            if body.len() >= length.unwrap_or_default() {
                let body = serde_json::from_slice(body).unwrap_or_default();
                return Ok(Asked {
                    head,
                    body,
                    at: Instant::now(),
                });
            }
        }
        let mut more = [0; 16 * 1024];
        let count = stream.read(&mut more).await?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&more[..count]);
    }
}
