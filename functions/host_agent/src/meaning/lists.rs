//! The closed lists: what a whole message must be to count as a yes, a no or a word about what waits. English, German,
//! Spanish, French, Norwegian, Japanese. In small letters, words parted by one blank.
//!
//! What authorises something goes by these lists alone, never by a model's reading.

/// "Yes, do that."
pub(super) const YES: &[&str] = &[
    "yes",
    "yes please",
    "yep",
    "yeah",
    "go",
    "go ahead",
    "do it",
    "confirm",
    "ja",
    "ja bitte",
    "los",
    "sí",
    "si",
    "sí por favor",
    "adelante",
    "oui",
    "oui s il vous plaît",
    "vas y",
    "allez",
    "allez y",
    "ja takk",
    "kjør",
    "kjør på",
    "はい",
    "お願いします",
];

/// "No, or not now."
pub(super) const NO: &[&str] = &[
    "no",
    "nope",
    "no thanks",
    "no thank you",
    "not now",
    "later",
    "maybe later",
    "skip",
    "skip it",
    "skip that",
    "i don t want to",
    "i do not want to",
    "don t",
    "i d rather not",
    "rather not",
    "nein",
    "nein danke",
    "später",
    "lieber nicht",
    "no gracias",
    "ahora no",
    "más tarde",
    "luego",
    "non",
    "non merci",
    "plus tard",
    "pas maintenant",
    "nei",
    "nei takk",
    "senere",
    "ikke nå",
    "いいえ",
    "いや",
    "結構です",
    "後で",
    "あとで",
];

/// "I have done what you asked of me."
pub(super) const DONE: &[&str] = &[
    "done",
    "i m done",
    "i am done",
    "all done",
    "ok done",
    "i did",
    "i did it",
    "i have agreed",
    "i agreed",
    "fertig",
    "erledigt",
    "listo",
    "hecho",
    "fait",
    "c est fait",
    "ferdig",
    "gjort",
    "できました",
    "終わりました",
];

/// "Forget about it": whatever waits is called off.
pub(super) const NEVER_MIND: &[&str] = &[
    "never mind",
    "nevermind",
    "forget it",
    "forget that",
    "forget about it",
    "leave it",
    "leave that",
    "vergiss es",
    "egal",
    "olvídalo",
    "déjalo",
    "laisse tomber",
    "oublie",
    "glem det",
    "もういいです",
];

/// "Stop what you are doing."
pub(super) const CANCEL: &[&str] = &[
    "abbrechen",
    "stopp",
    "stop",
    "cancel",
    "abort",
    "cancela",
    "cancelar",
    "para",
    "annule",
    "annuler",
    "arrête",
    "avbryt",
    "キャンセル",
    "中止",
];

/// Thanks and praise, and no more.
pub(super) const THANKS: &[&str] = &[
    "thanks",
    "thank",
    "thx",
    "ty",
    "cheers",
    "great",
    "perfect",
    "nice",
    "cool",
    "super",
    "awesome",
    "wonderful",
    "lovely",
    "danke",
    "gracias",
    "merci",
    "takk",
    "tusen",
    "tack",
    "ありがとう",
    "ありがとうございます",
];

/// Greetings.
pub(super) const GREETING: &[&str] = &[
    "hi",
    "hello",
    "hey",
    "howdy",
    "moin",
    "morning",
    "afternoon",
    "evening",
    "greetings",
    "hallo",
    "servus",
    "hola",
    "buenos",
    "días",
    "bonjour",
    "salut",
    "hei",
    "heisann",
    "こんにちは",
];

/// Words of parting.
pub(super) const BYE: &[&str] = &[
    "bye",
    "goodbye",
    "ciao",
    "night",
    "cya",
    "tschüss",
    "adiós",
    "adios",
    "au",
    "revoir",
    "ha",
    "det",
    "さようなら",
];

/// Words that keep a conversation going and ask for nothing.
pub(super) const CHATTER: &[&str] = &[
    "ok", "okay", "k", "fine", "alright", "right", "sure", "haha", "hahaha", "lol", "hm", "hmm", "hmmm",
    "um", "oh", "ah", "wow", "oops", "pity", "sorry", "well", "actually", "yes", "no", "yeah", "kidding",
    "joking", "wait", "mate", "good", "much", "very", "lot", "so", "just", "you", "all", "there", "again",
    "too", "then", "wrong", "window", "that", "was", "it", "is", "a", "the", "i", "see", "got", "and", "for",
    "day", "everyone", "mistake", "my", "nothing", "needed",
];

/// Whole messages that ask who is speaking, or how they are.
pub(super) const ABOUT: &[&str] = &[
    "how are you",
    "how are you today",
    "how are you doing",
    "how do you do",
    "who are you",
    "what are you",
    "who made you",
    "who built you",
    "are you an ai",
    "are you a bot",
    "are you a robot",
    "are you human",
    "are you there",
    "what is your name",
    "what s your name",
    "what is this",
];

/// Whole messages that ask what can be done here.
pub(super) const HELP: &[&str] = &[
    "help",
    "help me",
    "help please",
    "menu",
    "commands",
    "capabilities",
    "what can you do",
    "what can you do for me",
    "what can i do",
    "what can i do here",
    "what can i ask",
    "what can i ask you",
    "what do you do",
    "how can you help",
    "how can you help me",
    "how does this work",
    "how do you work",
    "what agents are there",
    "which agents are there",
    "what agents do you have",
    "which agents do you have",
    "which agents do you know",
    "which agents can you reach",
    "list agents",
    "list the agents",
    "list all agents",
    "list your agents",
    "show me the agents",
    "what agents are available",
    "which agents are available",
    "what else can you do",
    "hilfe",
    "was kannst du",
    "ayuda",
    "aide",
    "hjelp",
];

/// Whole messages that ask what waits.
pub(super) const OPEN: &[&str] = &[
    "open",
    "what is open",
    "what s open",
    "whats open",
    "what is still open",
    "what s still open",
    "whats still open",
    "anything open",
    "is anything open",
    "what is pending",
    "what s pending",
    "what is waiting",
    "what s waiting",
    "what is waiting for me",
    "what s waiting for me",
    "whats waiting for me",
    "what waits for me",
    "what do you need from me",
    "what do i have to do",
    "what is still waiting",
    "what s still waiting",
];

/// Words that point at what is going on without naming it.
pub(super) const POINTING: &[&str] = &[
    "it",
    "that",
    "this",
    "them",
    "everything",
    "request",
    "things",
    "one",
];

/// Words for a task.
pub(super) const TASK: &[&str] = &["task", "tasks", "job", "jobs", "id"];

/// Words that mean each and every one.
pub(super) const ALL: &[&str] = &[
    "all",
    "everything",
    "every",
    "both",
    "things",
    "tasks",
    "anything",
];

/// Words between those that count.
pub(super) const FILLER: &[&str] = &[
    "a", "an", "the", "my", "our", "your", "of", "on", "for", "with", "about", "please", "can", "could",
    "would", "might", "may", "ask", "you", "i", "me", "we", "want", "to", "now", "just", "how", "hows",
    "what", "whats", "s", "is", "are", "has", "have", "there", "so", "ok", "okay", "tell", "show", "list",
    "give", "check", "get", "last", "latest", "newest", "current", "and", "hey", "hello", "hi", "be", "will",
    "when", "any", "been", "does", "do", "did", "look", "where", "yes", "no", "re", "at", "also", "then",
    "instead", "up", "off", "actually", "oh", "hm", "hmm", "oops", "sorry", "wait", "was", "mistake", "pls",
    "user", "running", "anywhere", "right", "ll", "m", "d", "more", "once", "in", "still",
];

/// Words that ask for news.
pub(super) const NEWS: &[&str] = &[
    "status",
    "progress",
    "doing",
    "going",
    "done",
    "ready",
    "finished",
    "finish",
    "complete",
    "completed",
    "state",
    "working",
    "yet",
    "update",
    "updates",
    "news",
    "result",
    "results",
    "canceled",
    "cancelled",
    "stopped",
    "far",
    "happened",
    "happening",
    "failed",
    "stuck",
    "work",
    "worked",
];

/// How a question for news begins.
pub(super) const NEWS_BEGINS: &[&str] = &[
    "how", "hows", "is", "are", "what", "whats", "any", "did", "does", "has", "status", "progress", "might",
    "can", "could", "where", "when", "done", "ready", "news", "update", "updates", "show", "list", "tell",
    "give", "my", "so", "ok", "hey", "hi", "finished", "result", "results",
];

/// Verbs that call something off.
pub(super) const CANCELS: &[&str] = &["cancel", "stop", "abort", "kill", "drop"];

/// What is called off, but not by ending a task: things of the user's own that an agent may look after.
pub(super) const THINGS: &[&str] = &[
    "order",
    "orders",
    "booking",
    "bookings",
    "reservation",
    "subscription",
    "appointment",
    "meeting",
    "flight",
    "delivery",
    "parcel",
    "membership",
    "contract",
];

/// Words that make of one of [`THINGS`] a task about it: "cancel the order question".
pub(super) const ASKING: &[&str] = &["question", "task", "request", "search", "lookup", "job"];

/// How a request begins that stands beside another in one sentence.
pub(super) const REQUESTS: &[&str] = &[
    "tell", "show", "give", "what", "whats", "how", "will", "is", "are", "write", "find", "make", "get",
    "where", "wheres", "weather", "report", "do", "please", "start", "also", "look", "check", "convert",
    "when", "who", "which", "should",
];

/// Words of somebody who means to agree. They never are an agreement.
pub(super) const AGREEING: &[&str] = &[
    "agree",
    "consent",
    "permission",
    "allow",
    "authorize",
    "authorise",
    "approve",
];

/// Ordinals and numerals, from one.
pub(super) const ORDINALS: &[&[&str]] = &[
    &[
        "1", "first", "one", "erste", "ersten", "primero", "premier", "første",
    ],
    &[
        "2",
        "second",
        "two",
        "zweite",
        "zweiten",
        "segundo",
        "deuxième",
        "andre",
    ],
    &["3", "third", "three", "dritte", "tercero", "troisième", "tredje"],
    &["4", "fourth", "four"],
    &["5", "fifth", "five"],
    &["6", "sixth", "six"],
    &["7", "seventh", "seven"],
    &["8", "eighth", "eight"],
];
