//! Hosted models of sentences: what they are asked, what is taken of their answers, and how often.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use domain::{AgentType, SystemClock, SystemEntropy, Tenant};
use edge::vectors::StoredVectors;
use llm::{
    AgentBrief, Answer, CardText, Model, ModelListError, ModelParts, NoDraft, Prompt, SentenceModel,
    SentenceSetting, Turn, Unlimited,
};
use nlu::{Embed as _, EmbedError, Slot, Vector, VectorStore};
use outbound::{Outbound, Policy};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use url::Url;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

const TITAN: &str = r#"{"kind": "bedrock", "model": "amazon.titan-embed-text-v2:0"}"#;
const COHERE: &str = r#"{"kind": "bedrock", "model": "cohere.embed-multilingual-v3"}"#;
const OPENAI: &str =
    r#"{"kind": "openai", "url": "URL/v1", "model": "own", "key": "models/own", "dimensions": 64}"#;

fn model(setting: &str, url: &str) -> SentenceModel {
    let setting: SentenceSetting = setting.replace("URL", url).parse().unwrap();
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    let bedrock = Url::parse(url).unwrap();
    let parts = ModelParts {
        engine: nlu::Slot::default(),
        outbound: &Outbound::new(policy, Arc::new(SystemEntropy)),
        entropy: Arc::new(SystemEntropy),
        budget: Arc::new(Unlimited),
        aws: Arc::new(move |region| edge::aws::sdk_config(Some(&bedrock), region)),
        keys: BTreeMap::from([("models/own".to_owned(), "hunter2".into())]),
    };
    setting.build(&parts).unwrap()
}

/// A server that makes vectors of letters, in the dialect in which it is asked, and can be away.
#[derive(Clone, Default)]
struct Letters(Arc<Served>);

#[derive(Default)]
struct Served {
    texts: Mutex<Vec<String>>,
    calls: AtomicUsize,
    is_away: AtomicBool,
}

const WIDTH: usize = 64;

impl Respond for Letters {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        self.0.calls.fetch_add(1, Ordering::SeqCst);
        if self.0.is_away.load(Ordering::SeqCst) {
            return ResponseTemplate::new(503);
        }
        let body: Value = request.body_json().unwrap();
        let list = |name: &str| body[name].as_array().cloned();
        let texts = list("input")
            .or(list("texts"))
            .unwrap_or(vec![body["inputText"].clone()]);
        let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
        self.0
            .texts
            .lock()
            .unwrap()
            .extend(texts.iter().map(|text| (*text).to_owned()));
        let vectors: Vec<Vec<f32>> = texts.iter().map(|text| letters(text)).collect();
        ResponseTemplate::new(200).set_body_json(if body["input"].is_array() {
            // Out of order, as is allowed: each says whose it is.
            let data = vectors.iter().enumerate().rev();
            let data = data.map(|(index, vector)| json!({"object": "embedding", "index": index, "embedding": vector}));
            json!({"object": "list", "data": data.collect::<Vec<Value>>(), "model": "own", "usage": {"prompt_tokens": 8, "total_tokens": 8}})
        } else if body["texts"].is_array() {
            json!({"id": "1", "response_type": "embeddings_floats", "texts": texts, "embeddings": vectors})
        } else {
            json!({"embedding": vectors[0], "embeddingsByType": {"float": vectors[0]}, "inputTextTokenCount": 3})
        })
    }
}

fn letters(text: &str) -> Vec<f32> {
    let mut numbers = vec![0.1; WIDTH];
    for (at, pair) in text.as_bytes().windows(2).enumerate() {
        let [one, two] = pair else { continue };
        numbers[(usize::from(*one) * 31 + usize::from(*two)) % WIDTH] += 1.0 / (1.0 + at as f32 / 20.0);
    }
    numbers
}

async fn served(letters: &Letters) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(letters.clone())
        .mount(&server)
        .await;
    server
}

#[tokio::test]
async fn each_dialect_is_asked_as_its_maker_has_it_and_answers_in_the_order_of_the_texts() {
    let texts = ["Will it rain?", "¿Lloverá?", " "];
    for (setting, path, kept_as, bodies) in [
        (
            OPENAI,
            "/v1/embeddings",
            "openai:own/64@URL/v1",
            vec![
                json!({"model": "own", "input": ["Will it rain?", "¿Lloverá?", "?"], "encoding_format": "float", "dimensions": 64}),
            ],
        ),
        (
            COHERE,
            "/model/cohere.embed-multilingual-v3/invoke",
            "bedrock:cohere.embed-multilingual-v3",
            vec![
                json!({"texts": ["Will it rain?", "¿Lloverá?", "?"], "input_type": "classification", "truncate": "END"}),
            ],
        ),
        (
            TITAN,
            "/model/amazon.titan-embed-text-v2%3A0/invoke",
            "bedrock:amazon.titan-embed-text-v2:0/512",
            ["Will it rain?", "¿Lloverá?", "?"]
                .map(|text| json!({"inputText": text, "dimensions": 512, "normalize": true}))
                .to_vec(),
        ),
    ] {
        let server = served(&Letters::default()).await;
        let model = model(setting, &server.uri());
        assert_eq!(model.model(), kept_as.replace("URL", &server.uri()));
        let vectors = model.embed(&texts).await.unwrap();
        let expected = ["Will it rain?", "¿Lloverá?", "?"].map(|text| Vector::read(letters(text)).unwrap());
        assert_eq!(vectors, expected, "{path}");
        let asked = server.received_requests().await.unwrap();
        let of_order = |body: &Value| body.to_string();
        let mut told: Vec<Value> = asked.iter().map(|asked| asked.body_json().unwrap()).collect();
        let mut bodies = bodies;
        told.sort_by_key(of_order);
        bodies.sort_by_key(of_order);
        assert_eq!(told, bodies);
        for asked in &asked {
            assert_eq!((asked.url.path(), asked.method.as_str()), (path, "POST"));
            let authorization = asked.headers.get("authorization").unwrap().to_str().unwrap();
            let expected = if setting == OPENAI {
                "Bearer hunter2"
            } else {
                "AWS4-HMAC-SHA256"
            };
            assert!(authorization.starts_with(expected), "{authorization}");
        }
    }
}

#[tokio::test]
async fn many_texts_go_in_as_many_calls_as_their_dialect_wants() {
    let texts: Vec<String> = (0..100).map(|at| format!("text {at}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for (setting, calls) in [(OPENAI, 7), (COHERE, 2), (TITAN, 100)] {
        let letters = Letters::default();
        let server = served(&letters).await;
        let vectors = model(setting, &server.uri()).embed(&texts).await.unwrap();
        assert_eq!(vectors.len(), 100);
        assert_eq!(vectors[99], Vector::read(self::letters("text 99")).unwrap());
        assert_eq!(letters.0.calls.load(Ordering::SeqCst), calls);
    }
}

/// What a server may answer that nobody can use: each is one typed error, which tells nothing of what it said.
#[tokio::test]
async fn what_is_no_answer_is_an_error() {
    let vector = |count: usize| vec![0.5; count];
    let openai = |vectors: &[Value]| json!({"data": vectors}).to_string();
    let datum = |index: usize, vector: Value| json!({"index": index, "embedding": vector});
    let two = [datum(0, json!(vector(4))), datum(1, json!(vector(4)))];
    let nan = r#"{"data": [{"index": 0, "embedding": [NaN, 1.0]}, {"index": 1, "embedding": [1.0, 1.0]}]}"#;
    let openai_rows: Vec<(&str, u16, String, usize)> = vec![
        ("too few", 200, openai(&two[..1]), 1),
        (
            "too many",
            200,
            openai(&[two.clone(), [datum(2, json!(vector(4))), datum(3, json!([]))]].concat()),
            1,
        ),
        ("none", 200, openai(&[]), 1),
        (
            "of other texts",
            200,
            openai(&[two[0].clone(), two[0].clone()]),
            1,
        ),
        (
            "an index beyond",
            200,
            openai(&[two[0].clone(), datum(usize::MAX, json!(vector(4)))]),
            1,
        ),
        ("NaN", 200, nan.to_owned(), 1),
        (
            "too large a number",
            200,
            openai(&[two[0].clone(), datum(1, json!([1e39, 1.0]))]),
            1,
        ),
        ("an endless number", 200, nan.replace("NaN", "1e999"), 1),
        (
            "zeros",
            200,
            openai(&[two[0].clone(), datum(1, json!([0.0, 0.0]))]),
            1,
        ),
        (
            "no numbers",
            200,
            openai(&[two[0].clone(), datum(1, json!([]))]),
            1,
        ),
        (
            "text",
            200,
            openai(&[two[0].clone(), datum(1, json!(["1.0"]))]),
            1,
        ),
        (
            "too wide",
            200,
            openai(&[two[0].clone(), datum(1, json!(vector(2_049)))]),
            1,
        ),
        ("another form", 200, r#"{"vectors": [[1.0]]}"#.to_owned(), 1),
        ("no JSON", 200, "hunter2".to_owned(), 1),
        ("deep", 200, "[".repeat(100_000), 1),
        ("too large", 200, openai(&vec![two[0].clone(); 60_000]), 1),
        ("a redirect", 307, String::new(), 1),
        ("unauthorized", 401, r#"{"error": "hunter2"}"#.to_owned(), 1),
        ("busy", 429, String::new(), 2),
        ("broken", 500, "hunter2".to_owned(), 2),
    ];
    let bedrock_rows = vec![
        ("too few", 200, json!({"embeddings": [vector(4)]}).to_string(), 1),
        (
            "too many",
            200,
            json!({"embeddings": [vector(4), vector(4), vector(4)]}).to_string(),
            1,
        ),
        (
            "zeros",
            200,
            json!({"embeddings": [vector(4), [0.0]]}).to_string(),
            1,
        ),
        (
            "too wide",
            200,
            json!({"embeddings": [vector(4), vector(2_049)]}).to_string(),
            1,
        ),
        ("no JSON", 200, "hunter2".to_owned(), 1),
        ("too large", 200, " ".repeat(2 * 1024 * 1024 + 1), 1),
        ("a redirect", 307, String::new(), 1),
        ("denied", 403, r#"{"message": "hunter2"}"#.to_owned(), 1),
        ("busy", 429, String::new(), 2),
        ("a model that failed", 424, String::new(), 2),
    ];
    for (setting, rows) in [(OPENAI, openai_rows), (COHERE, bedrock_rows)] {
        for (what, status, body, attempts) in rows {
            let server = MockServer::start().await;
            let elsewhere = MockServer::start().await;
            let answer = ResponseTemplate::new(status)
                .insert_header("location", elsewhere.uri())
                .set_body_raw(body, "application/json");
            Mock::given(any()).respond_with(answer).mount(&server).await;
            let refused = model(setting, &server.uri()).embed(&["one", "two"]).await.err();
            let Some(EmbedError::Hosted(told)) = &refused else {
                panic!("{what}: {refused:?}")
            };
            assert!(!told.contains("hunter2"), "{what}: {told}");
            let asked = server.received_requests().await.unwrap().len();
            assert_eq!(asked, attempts, "{what}: {told}");
            assert!(elsewhere.received_requests().await.unwrap().is_empty(), "{what}");
        }
    }
}

/// An answer that has no end: what is read of it is bounded, and so is the time.
#[tokio::test]
async fn an_endless_answer_is_left() {
    for setting in [OPENAI, COHERE] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let sent = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&sent);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let counted = Arc::clone(&counted);
                tokio::spawn(async move {
                    let _asked = stream.read(&mut [0; 4096]).await;
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
                    let _head = stream.write_all(head.as_bytes()).await;
                    let piece = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
                    while stream.write_all(piece.as_bytes()).await.is_ok() {
                        counted.fetch_add(0x10000, Ordering::SeqCst);
                    }
                });
            }
        });
        let refused = model(setting, &url).embed(&["one"]).await;
        assert!(matches!(refused, Err(EmbedError::Hosted(_))), "{refused:?}");
        // What lies in the buffers of two sockets comes on top.
        let sent = sent.load(Ordering::SeqCst);
        assert!(sent < 32 * 1024 * 1024, "{sent} bytes");
    }
}

#[test]
fn what_is_no_model_of_sentences_is_said_and_never_quoted() {
    for (text, expected) in [
        ("hunter2", "not the JSON"),
        ("[]", "not the JSON"),
        (r#"{"kind": "rules"}"#, "rules are no model of sentences"),
        (
            r#"{"kind": "bedrock", "model": "hunter2"}"#,
            "is amazon.titan-embed",
        ),
        (
            r#"{"kind": "bedrock", "model": "amazon.titan-embed-text-v2:0", "dimensions": 100}"#,
            "256, 512 or 1024",
        ),
        (
            r#"{"kind": "bedrock", "model": "cohere.embed-english-v3", "dimensions": 512}"#,
            "cannot be chosen",
        ),
        (
            r#"{"kind": "openai", "url": "https://m.example", "model": "m", "dimensions": 9000}"#,
            "64 to 2048",
        ),
        (
            r#"{"kind": "openai", "url": "https://m.example", "model": "m", "max_tokens": 90}"#,
            "gives no answers",
        ),
        (
            r#"{"kind": "openai", "url": "https://u:hunter2@m.example", "model": "m"}"#,
            "user name",
        ),
        (r#"{"kind": "openai", "model": "m"}"#, "has no url"),
    ] {
        let told = text
            .parse::<SentenceSetting>()
            .map(|_| ())
            .unwrap_err()
            .to_string();
        assert!(
            told.contains(expected) && !told.contains("hunter2"),
            "{text}: {told}"
        );
    }
    let refused = |url: &str| {
        let setting = format!(r#"{{"kind": "openai", "url": "{url}", "model": "m", "key": "missing"}}"#);
        let parts = ModelParts {
            engine: nlu::Slot::default(),
            outbound: &Outbound::new(Policy::default(), Arc::new(SystemEntropy)),
            entropy: Arc::new(SystemEntropy),
            budget: Arc::new(Unlimited),
            aws: Arc::new(|_| unreachable!("a client is made at the first call")),
            keys: BTreeMap::new(),
        };
        setting.parse::<SentenceSetting>().unwrap().build(&parts).err()
    };
    assert!(matches!(
        refused("https://169.254.169.254/v1"),
        Some(ModelListError::Address(_))
    ));
    assert_eq!(
        refused("https://m.example/v1"),
        Some(ModelListError::Key("missing".to_owned()))
    );
}

/// The tables, with what is asked of them written down.
struct Watched {
    stored: StoredVectors,
    calls: Arc<Mutex<Vec<&'static str>>>,
}

#[async_trait]
impl VectorStore for Watched {
    async fn load(&self, key: &str) -> Option<Vec<u8>> {
        self.calls.lock().unwrap().push("GetItem");
        self.stored.load(key).await
    }
    async fn keep(&self, key: &str, bytes: Vec<u8>) {
        self.calls.lock().unwrap().push("PutItem");
        self.stored.keep(key, bytes).await;
    }
}

struct Process {
    model: Arc<dyn Model>,
    letters: Letters,
    calls: Arc<Mutex<Vec<&'static str>>>,
    server: Arc<MockServer>,
}

impl Process {
    async fn of(store: &store::Store) -> Self {
        let letters = Letters::default();
        let server = Arc::new(served(&letters).await);
        Self::over(store, letters, server)
    }

    /// Another process over the same tables, with the same server.
    fn beside(&self, store: &store::Store) -> Self {
        Self::over(store, self.letters.clone(), Arc::clone(&self.server))
    }

    fn over(store: &store::Store, letters: Letters, server: Arc<MockServer>) -> Self {
        let calls = Arc::default();
        let watched = Watched {
            stored: StoredVectors {
                store: store.clone(),
                tenant: Tenant::parse("acme").unwrap(),
                clock: Arc::new(SystemClock),
            },
            calls: Arc::clone(&calls),
        };
        Self {
            model: llm::offline(Slot::hosted(
                Arc::new(model(OPENAI, &server.uri())),
                Arc::new(watched),
            )),
            letters,
            calls,
            server,
        }
    }

    async fn asked(&self, text: &str) -> Answer {
        let agent = |name: &str, description: &str| {
            AgentBrief::new(
                AgentType::parse(name).unwrap(),
                CardText { name, description },
                [],
            )
        };
        let agents = vec![
            agent("weather", "Says whether it will rain or snow in a place"),
            agent("stays", "Finds flats, houses and rooms to stay in"),
        ];
        let prompt = Prompt {
            agents: agents.into(),
            turns: vec![Turn::User(text.to_owned())],
            ..Prompt::default()
        };
        self.model.step(&prompt, &mut NoDraft).await.unwrap()
    }

    /// The texts that the server was given since the last look, and the calls to the database.
    fn taken(&self) -> (Vec<String>, Vec<&'static str>) {
        let texts = std::mem::take(&mut *self.letters.0.texts.lock().unwrap());
        (texts, std::mem::take(&mut *self.calls.lock().unwrap()))
    }

    /// Asks until the engine is there: the first message does not wait for all that is learnt.
    async fn learnt(&self) {
        for at in 0..300 {
            self.taken();
            let text = format!("Will it rain in Oslo on day {at}?");
            self.asked(&text).await;
            if self.taken() == (vec![text], Vec::new()) {
                return;
            }
        }
        panic!("nothing was learnt");
    }
}

#[tokio::test]
async fn a_message_costs_one_call_of_the_model_and_none_of_the_database() {
    let (store, _database) = store_testing::start().await;
    let first = Process::of(&store).await;
    first.learnt().await;
    first.asked("Will it snow in Bergen?").await;
    let (texts, calls) = first.taken();
    assert_eq!(texts, ["Will it snow in Bergen?"]);
    assert!(calls.is_empty(), "{calls:?}");

    // Another process reads what was learnt, and its two cards: neither is made again.
    let second = first.beside(&store);
    second.asked("Will it snow in Bergen?").await;
    let (texts, calls) = second.taken();
    assert_eq!(texts, ["Will it snow in Bergen?"]);
    assert_eq!(calls, ["GetItem"; 3]);
}

#[tokio::test]
async fn a_model_that_is_away_is_left_alone_for_a_while_and_words_decide() {
    let (store, _database) = store_testing::start().await;
    let process = Process::of(&store).await;
    process.letters.0.is_away.store(true, Ordering::SeqCst);
    let answer = process.asked("Will it rain in Oslo?").await;
    assert!(answer.is_by_rule());
    let asked = process.letters.0.calls.load(Ordering::SeqCst);
    assert!((1..=8).contains(&asked), "{asked}");
    for _ in 0..5 {
        process.asked("Will it rain in Oslo?").await;
    }
    assert_eq!(process.letters.0.calls.load(Ordering::SeqCst), asked);
}

#[tokio::test]
async fn a_message_does_not_wait_for_a_model_that_says_nothing() {
    let (store, _database) = store_testing::start().await;
    let process = Process::of(&store).await;
    process.learnt().await;
    process.server.reset().await;
    let late = ResponseTemplate::new(200).set_delay(Duration::from_secs(60));
    Mock::given(any()).respond_with(late).mount(&process.server).await;
    let begun = Instant::now();
    process.asked("Will it rain in Oslo?").await;
    let waited = begun.elapsed();
    assert!(waited < Duration::from_millis(2_500), "{waited:?}");
}
