//! The closed lists: what a whole message must be to count as a yes, a no or a word about what waits. English, German,
//! Spanish, French, Norwegian, Japanese. In small letters, words parted by one blank.
//!
//! What authorises something goes by these lists alone, never by a model's reading. What says nothing by itself is no list of
//! ours: `filler` has it from a library.

/// "Yes, do that."
#[rustfmt::skip]
pub(super) const YES: &[&str] = &[
    "yes", "yep", "yeah", "yup", "go", "go ahead", "do it", "do that", "confirm", "ja", "ja bitte", "los", "jawohl", "sí", "si",
    "sí por favor", "adelante", "oui", "oui s il vous plaît", "vas y", "allez", "allez y", "ja takk", "kjør", "kjør på", "はい",
    "お願いします",
];

/// "Begin", said to a plan that waits for it.
#[rustfmt::skip]
pub(super) const START: &[&str] = &[
    "start", "start it", "start the plan", "begin", "go for it", "run it", "starten", "starte", "empezar", "empieza", "commence",
    "commencez", "démarre", "démarrez", "start den", "sett i gang", "開始", "始めて",
];

/// "Without …", said to a plan that waits; what is left out stands behind.
#[rustfmt::skip]
pub(super) const WITHOUT: &[&str] = &[
    "without", "go without", "but without", "leave out", "drop", "skip", "ohne", "los ohne", "sin", "sans", "uten",
];

/// "Go on", said where a part of a plan was not done.
#[rustfmt::skip]
pub(super) const GO_ON: &[&str] = &[
    "go on", "go on anyway", "continue", "continue anyway", "carry on", "proceed", "weiter", "mach weiter", "continúa", "sigue",
    "continue sans", "fortsett", "続けて",
];

/// The same with what is left out behind it.
#[rustfmt::skip]
pub(super) const GO_ON_WITHOUT: &[&str] = &[
    "go on without", "continue without", "carry on without", "proceed without", "without", "weiter ohne", "ohne", "continúa sin", "sin",
    "continue sans", "sans", "fortsett uten", "uten",
];

/// Words that part what is said, in a message that calls something off.
#[rustfmt::skip]
pub(super) const PARTING: &[&str] = &[
    "and", "then", "also", "but", "und", "aber", "dann", "y", "pero", "luego", "et", "mais", "puis", "og", "och",
];

/// Words that join what is named.
pub(super) const JOINING: &[&str] = &["and", "or", "und", "y", "et", "og"];

/// "No, or not now."
#[rustfmt::skip]
pub(super) const NO: &[&str] = &[
    "no", "nope", "nah", "none", "none of them", "none of these", "neither", "no thank you", "not now", "not today", "not yet", "later", "maybe later", "skip", "skip it", "skip that",
    "i don t want to", "i don t want to do that", "i don t want to sign in", "i don t want to connect", "i d rather not sign in", "i m not signing in", "i won t sign in", "i do not want to", "i d rather not", "i would rather not", "rather not", "don t", "nein", "nein danke", "nö",
    "ich will nicht", "ich möchte nicht", "no quiero", "je ne veux pas", "jeg vil ikke", "nee", "keiner", "keine", "später", "lieber nicht", "jetzt nicht", "no gracias", "ninguno", "ninguna", "ahora no", "más tarde", "luego", "non", "non merci", "aucun", "aucune", "plus tard",
    "pas maintenant", "nei", "nei takk", "ingen", "no grazie", "não", "não obrigado", "não obrigada", "nej", "nej tack", "nee dank je", "nee bedankt", "later misschien", "agora não", "nie", "i won t", "no way", "senere", "ikke nå", "いいえ", "いや", "結構です", "後で", "あとで",
];

/// What a consent takes, as those refuse it who have something else open too.
#[rustfmt::skip]
pub(super) const SIGNING_IN: &[&str] = &[
    "sign", "log", "login", "connect", "consent", "anmelden", "einloggen", "verbinden", "zustimmen", "iniciar", "conectar", "connecter",
    "consentir", "logge", "inloggen", "aanmelden", "accedere", "logga", "entrar",
];

/// "I have done what you asked of me."
#[rustfmt::skip]
pub(super) const DONE: &[&str] = &[
    "done", "i m done", "i am done", "all done", "i did", "i did it", "i have agreed", "i agreed", "fertig", "erledigt", "listo",
    "hecho", "fait", "c est fait", "ferdig", "gjort", "できました", "終わりました",
];

/// "Forget about it": whatever waits is called off. What says nothing may stand behind it.
#[rustfmt::skip]
pub(super) const NEVER_MIND: &[&str] = &[
    "never mind", "nevermind", "forget it", "forget that", "forget about it", "leave it", "leave that", "vergiss es", "egal",
    "olvídalo", "déjalo", "laisse tomber", "oublie", "glem det", "laat maar", "lass mal", "lass es", "lass gut sein", "lascia stare",
    "lascia perdere", "deixa", "deixa pra lá", "deixa estar", "esquece", "glöm det", "strunt i det", "もういいです",
];

/// What is said before something is called off, and calls off nothing itself.
pub(super) const CHANGED: &[&str] = &["i changed my mind", "i ve changed my mind", "changed my mind"];

/// "The same for those that are left", behind something that was called off.
pub(super) const TOO: &[&str] = &["too", "also", "other", "others", "rest"];

/// "No longer wanted", behind what is meant.
pub(super) const UNWANTED: &[&str] = &["needed", "necessary", "required"];

/// "Stop what you are doing."
#[rustfmt::skip]
pub(super) const CANCEL: &[&str] = &[
    "abbrechen", "abbruch", "stopp", "stop", "cancel", "abort", "cancela", "cancelar", "para", "annule", "annuler", "arrête", "avbryt",
    "キャンセル", "中止",
];

/// Verbs that call something off.
#[rustfmt::skip]
pub(super) const CANCELS: &[&str] = &["cancel", "stop", "abort", "kill", "drop", "scrap"];

/// The same in other languages. These may be about an order as well, so that only what is being worked on is called off by them.
pub(super) use words::CANCELS_ABROAD as CANCELS_TOO;

/// Verbs that say that a task is not wanted any more. Nothing but a task can be forgotten, be it about an order.
#[rustfmt::skip]
pub(super) const FORGETS: &[&str] = &["forget", "skip"];

/// What is called off, but not by ending a task: things of the user's own that an agent may look after.
#[rustfmt::skip]
pub(super) const THINGS: &[&str] = &[
    "order", "orders", "booking", "bookings", "reservation", "subscription", "appointment", "meeting", "flight", "delivery", "parcel",
    "membership", "contract",
];

/// Words that make of one of [`THINGS`] a task about it: "cancel the order question".
#[rustfmt::skip]
pub(super) const ASKING: &[&str] = &["question", "task", "request", "search", "lookup", "job"];

/// "Do it once more": whatever stands around it says nothing.
#[rustfmt::skip]
pub(super) const ONCE_MORE: &[&str] = &[
    "retry", "redo", "once more", "one more time", "another go", "another try", "another attempt", "another shot", "start over",
    "nochmal", "noch einmal", "erneut", "otra vez", "de nuevo", "de novo", "outra vez", "encore une fois", "de nouveau", "réessaye", "réessayer", "reintenta",
    "reintentar", "igjen", "en gang til", "riprova", "di nuovo", "ancora una volta", "ricomincia", "opnieuw", "nog eens", "nog een keer", "recommence", "recommencez",
    "novamente", "mais uma vez", "igen", "en gång till", "nochmals", "vuelve a intentarlo", "もう一度", "再試行",
];

/// What is done "again", where a task is meant, and not a word that was said.
#[rustfmt::skip]
pub(super) const TRIES: &[&str] = &["try", "do", "run", "give", "start", "make", "attempt", "go", "have"];

/// Words that ask for news of what is under way.
#[rustfmt::skip]
pub(super) const NEWS: &[&str] = &[
    "status", "progress", "doing", "going", "done", "ready", "finished", "finish", "complete", "completed", "state", "working", "yet",
    "update", "updates", "news", "result", "results", "canceled", "cancelled", "stopped", "far", "happened", "happening", "failed",
    "stuck", "work", "worked", "long", "eta", "running",
];

/// The same in other languages, of what is being worked on.
#[rustfmt::skip]
pub(super) const NEWS_TOO: &[&str] = &[
    "fertig", "läuft", "stehts", "steht", "listo", "lista", "terminado", "avance", "fini", "terminé", "prêt", "ferdig", "klaar", "pronto",
    "går", "gaat", "va", "weit", "punto", "まだですか", "まだでしょうか", "終わりましたか", "できましたか", "どうなって", "進み具合", "進捗", "進捗状況", "状況",
];

/// Words for what waits.
#[rustfmt::skip]
pub(super) const OPEN: &[&str] = &[
    "open", "pending", "waiting", "waits", "outstanding", "unanswered", "running", "offen", "läuft", "pendiente",
    "pendientes", "attente", "cours", "curso", "pendente", "pendentes", "sospeso", "openstaat", "loopt", "åpent", "öppet", "未完了",
];

/// Whole messages that ask the same without such a word.
#[rustfmt::skip]
pub(super) const OPEN_TOO: &[&str] = &["what do you need from me", "what do i have to do", "what do you still need"];

/// Words for a task.
#[rustfmt::skip]
pub(super) const TASK: &[&str] = &["task", "tasks", "job", "jobs", "id", "request"];

/// Words that mean each and every one.
#[rustfmt::skip]
pub(super) const ALL: &[&str] = &[
    "all", "everything", "every", "both", "things", "tasks", "anything", "alles", "beides", "todo", "todos", "tout", "tous", "tutto", "alt",
];

/// Thanks and praise, and no more.
#[rustfmt::skip]
pub(super) const THANKS: &[&str] = &[
    "thanks", "thank", "thx", "ty", "cheers", "great", "perfect", "nice", "cool", "super", "awesome", "wonderful", "lovely", "danke",
    "dank", "bedankt", "dankjewel", "gracias", "merci", "grazie", "mille", "obrigado", "obrigada", "tack", "takk", "tusen", "dziękuję", "ありがとう", "ありがとうございます",
];

/// Greetings.
#[rustfmt::skip]
pub(super) const GREETING: &[&str] = &[
    "hi", "hello", "hey", "howdy", "moin", "morning", "afternoon", "evening", "greetings", "hallo", "servus", "hola", "buenos",
    "días", "buenas", "bonjour", "salut", "hei", "heisann", "hej", "hoi", "ciao", "buongiorno", "olá", "bom", "こんにちは",
];

/// Words of parting.
#[rustfmt::skip]
pub(super) const BYE: &[&str] = &[
    "bye", "goodbye", "cya", "arrivederci", "tchau", "doei", "hejdå", "tschüss", "adiós", "adios", "revoir", "ha det", "good night", "see you", "さようなら",
];

/// Sounds and assents that keep a conversation going and ask for nothing.
#[rustfmt::skip]
pub(super) const CHATTER: &[&str] = &[
    "ok", "okay", "k", "fine", "alright", "sure", "haha", "hahaha", "lol", "hm", "hmm", "hmmm", "um", "oh", "ah", "wow", "oops",
    "pity", "sorry", "well", "yeah", "kidding", "joking", "wait", "good", "wrong", "mistake", "mate", "night", "day", "understood",
    "noted", "vale", "klar", "genau", "greit", "prima", "toll", "parfait", "perfekt", "perfecto", "genial", "got it", "makes sense",
    "fair enough", "i see",
];

/// Of what somebody says that there is none, who puts another at ease: "no rush", "kein Stress", "sin prisa".
#[rustfmt::skip]
pub(super) const NO_NEED: &[&str] = &[
    "rush", "hurry", "worries", "worry", "problem", "problems", "stress", "pressure", "sweat", "bother", "eile", "sorgen", "prisa",
    "problema", "souci", "soucis", "problème", "hast", "haast", "fretta", "pressa", "bråttom",
];

/// What is praised together with whoever did it: "good job".
pub(super) const PRAISED: &[&str] = &[
    "job", "work", "idea", "point", "thinking", "stuff", "morning", "one",
];

/// Whom one speaks to.
pub(super) const YOU: &[&str] = &[
    "you", "your", "yours", "u", "ur", "dir", "dein", "deine", "votre", "ton", "tu", "deg", "tuo", "tua",
];

/// Who speaks, where something is to be done for him.
#[rustfmt::skip]
pub(super) const ME: &[&str] = &["me", "us", "my", "our", "mir", "mich", "uns", "moi", "nos", "meg", "oss", "mij", "ons"];

/// What somebody says of "you" who wants something done: "you should", "I need you to".
pub(super) const OUGHT: &[&str] = &["to", "should", "must", "need", "and", "know"];

/// Words about who is speaking.
#[rustfmt::skip]
pub(super) const ABOUT: &[&str] = &["ai", "bot", "robot", "human", "name", "person", "built"];

/// Words that ask what can be done here.
#[rustfmt::skip]
pub(super) const HELP: &[&str] = &[
    "help", "menu", "commands", "capabilities", "agents", "hilfe", "kannst", "ayuda", "aide", "hjelp",
];

/// Verbs that ask whether somebody can do something: a question that begins so wants it done. The library's stop words have most of
/// them, but no word classes: nothing there tells them from "the" or "of".
#[rustfmt::skip]
pub(super) const CAN: &[&str] = &[
    "can", "could", "would", "will", "may", "do", "kannst", "könntest", "könnt", "kann", "puedes", "podrías", "peux", "pourrais", "pouvez",
    "puoi", "potresti", "kun", "kunt", "kan", "kunne", "podes", "pode", "poderias",
];

/// Words that say no within a sentence. Of the library's stop words, as above, nothing tells which do.
#[rustfmt::skip]
pub(super) const NOT: &[&str] = &[
    "no", "not", "don", "won", "never", "without", "skip", "nicht", "kein", "keine", "nein", "pas", "non", "nei", "ikke", "niet", "geen",
    "nee", "não", "nej", "inte",
];

/// Words of somebody who means to agree. They never are an agreement.
#[rustfmt::skip]
pub(super) const AGREEING: &[&str] = &[
    "agree", "consent", "permission", "allow", "authorize", "authorise", "approve",
];

/// Ordinals and numerals, from one.
#[rustfmt::skip]
pub(super) const ORDINALS: &[&[&str]] = &[
    &["1", "first", "one", "erste", "ersten", "primero", "primera", "premier", "première", "første"],
    &["2", "second", "two", "zweite", "zweiten", "segundo", "segunda", "deuxième", "andre"],
    &["3", "third", "three", "dritte", "dritten", "tercero", "tercera", "troisième", "tredje"],
    &["4", "fourth", "four"],
    &["5", "fifth", "five"],
    &["6", "sixth", "six"],
    &["7", "seventh", "seven"],
    &["8", "eighth", "eight"],
];
