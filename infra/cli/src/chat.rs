//! `switchyard chat`: a terminal client of the chat route, with the same session and history as a page would have.

mod commands;
mod form;
mod markdown;
pub(crate) mod session;
mod show;
mod whereabouts;

use std::cell::Cell;
use std::io::IsTerminal;
use std::time::Duration;

use clap::Args;
use domain::{ChatId, Entropy, SystemEntropy, UserContext};
use futures_util::StreamExt;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use self::commands::{Lines, Said};
use self::form::Filled;
use self::show::{Show, Way};
use super::Failure;
use crate::client::{Begun, Call, ClientError};
use crate::here::{AtTenant, Here};
use local::address::below;

/// How long to wait before a broken stream of events is opened again.
const AGAIN: Duration = Duration::from_secs(1);

/// Talk to a tenant's host agent from the terminal
///
/// Shows the task, its progress and the answer. The next call continues the same chat.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  switchyard chat --tenant acme \"Will it rain in Oslo tomorrow?\"\n  switchyard chat --tenant \
                  acme\n\nExit codes: 0 answered, or waiting for you; 1 the task failed; 2 wrong usage; 3 no answer yet; 130 \
                  interrupted."
)]
pub(super) struct Chat {
    #[command(flatten)]
    at: AtTenant,
    /// Continue this chat instead of the last one
    #[arg(long, value_name = "ID", conflicts_with = "new")]
    chat: Option<ChatId>,
    /// Start a new chat
    #[arg(long)]
    new: bool,
    /// How many seconds to wait for an answer; afterwards the task still goes on
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    wait: u64,
    /// The language and region for dates, such as en-GB [default: this terminal's]
    #[arg(long, value_name = "BCP47")]
    locale: Option<String>,
    /// The time zone for "tomorrow", such as Europe/Oslo [default: this machine's]
    #[arg(long, value_name = "IANA")]
    time_zone: Option<String>,
    /// Start the plan that waits for approval in this chat
    #[arg(long, conflicts_with_all = ["new", "prompt"])]
    start: bool,
    /// Fill in a field of what a task of this chat asks for, such as adults=2; may be repeated
    #[arg(long, value_name = "NAME=VALUE", conflicts_with_all = ["new", "prompt", "start"])]
    fill: Vec<Filled>,
    /// Print the answer alone, without the task and its progress; links to open go to the standard error
    #[arg(long, short)]
    quiet: bool,
    /// What to say, with or without quotes; without it, lines are read from the standard input
    prompt: Vec<String>,
}

impl Chat {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let user = UserContext::parse(self.locale, self.time_zone).map_err(Failure::other)?;
        if let Some(named) = &user.time_zone {
            local::zone::known(named).map_err(Failure::other)?;
        }
        let user = UserContext {
            locale: user.locale.or_else(whereabouts::locale),
            time_zone: user.time_zone.or_else(whereabouts::time_zone),
        };
        let mut here = self.at.open()?;
        let known = here.sessions.of(&here.base).clone();
        let wanted = self.chat.is_some();
        let chat = match self.chat.or(known.chat.filter(|_| !self.new)) {
            Some(chat) => chat,
            None => new_chat()?,
        };
        let wait = Duration::from_secs(self.wait);
        let waits = Cell::new(false);
        let mut talk = Talk {
            here,
            chat,
            wanted,
            user,
            wait,
            waits: &waits,
            way: Way::of(self.quiet, crate::out::is_json()),
        };
        if self.prompt.is_empty() && !self.start && self.fill.is_empty() {
            return talk.converse(self.at.place.beside("chat_history")).await;
        }
        let talk = async {
            match self.prompt.as_slice() {
                [] if self.start => talk.start().await,
                [] => talk.fill(&self.fill).await,
                words => talk.say(&words.join(" ")).await,
            }
        };
        tokio::select! {
            done = talk => done,
            _ = tokio::signal::ctrl_c() => Err(Failure::Interrupted { work: waits.get() }),
        }
    }
}

/// A conversation.
struct Talk<'w> {
    here: Here,
    chat: ChatId,
    /// The chat was asked for by its id, so no other will do.
    wanted: bool,
    /// The user's language, region and clock.
    user: UserContext,
    wait: Duration,
    /// Something was said, and is not answered yet.
    waits: &'w Cell<bool>,
    /// How it is shown.
    way: Way,
}

impl Talk<'_> {
    /// Reads lines and says each, until the input ends or somebody leaves. Ctrl-C ends the wait for an answer first.
    async fn converse(&mut self, history: std::path::PathBuf) -> Result<(), Failure> {
        let terminal = std::io::stdin().is_terminal();
        let name = self.here.tenant.name().to_owned();
        if terminal {
            outln!(
                "Talking to {name}'s host agent in chat {}; /help says what can be done here.",
                self.chat
            );
        }
        let mut lines = Lines::new(terminal, format!("{name}> "), history);
        loop {
            let (back, line) = lines.next().await?;
            lines = back;
            let Some(line) = line else { return Ok(()) };
            let said = match commands::read(&line) {
                Said::Nothing => Ok(()),
                Said::Quit => return Ok(()),
                Said::Help => {
                    outln!("{}", commands::HELP);
                    Ok(())
                }
                Said::Unknown(command) => Err(Failure::other(format!(
                    "there is no {command}; /help lists what there is"
                ))),
                Said::New => new_chat().map(|chat| {
                    (self.chat, self.wanted) = (chat, true);
                    outln!("A new chat: {}", self.chat);
                }),
                Said::Tasks => crate::tasks::list(&self.here).await.map(|tasks| {
                    tasks
                        .iter()
                        .for_each(|task| outln!("{}", crate::tasks::line(task)))
                }),
                Said::Open => {
                    crate::status::show(below(&self.here.base, &format!("/chats/{}", self.chat)).as_str());
                    Ok(())
                }
                Said::Fill(filled) => {
                    let filled = filled
                        .split(';')
                        .map(str::parse)
                        .collect::<Result<Vec<Filled>, _>>();
                    match filled {
                        Ok(filled) => self.unless_left(async |talk| talk.fill(&filled).await).await,
                        Err(wrong) => Err(Failure::other(wrong)),
                    }
                }
                Said::Prompt(prompt) => self.unless_left(async |talk| talk.say(prompt).await).await,
            };
            match said {
                Err(Failure::Client(fault @ ClientError::NotRunning(_))) => return Err(fault.into()),
                // Where programs write the lines, the first Ctrl-C ends them.
                Err(left @ Failure::Interrupted { .. }) if !terminal => return Err(left),
                Err(failure) => outln!("({failure})"),
                Ok(()) => {}
            }
        }
    }

    /// Waits, until somebody presses Ctrl-C: the task goes on.
    async fn unless_left(
        &mut self,
        said: impl AsyncFnOnce(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        tokio::select! {
            done = said(self) => done,
            _ = tokio::signal::ctrl_c() => {
                outln!();
                Err(Failure::Interrupted { work: true })
            }
        }
    }

    /// Says one thing and shows what becomes of it.
    async fn say(&mut self, prompt: &str) -> Result<(), Failure> {
        self.waits.set(true);
        let said = self.told(json!([{"type": "text", "text": prompt}]), None).await;
        self.waits.set(false);
        said
    }

    /// Answers the newest question of this chat that asks for data.
    async fn fill(&mut self, filled: &[Filled]) -> Result<(), Failure> {
        let messages = self.messages().await?;
        let (task, form) = show::waiting_form(&messages)
            .ok_or_else(|| Failure::other("nothing in this chat asks for data that can be filled in"))?;
        let (data, said) = form::data(form, filled)?;
        let parts = json!([{"type": "text", "text": said}, {"type": "data-form", "data": data}]);
        self.waits.set(true);
        self.told(parts, Some(task)).await
    }

    /// Says these parts, to a task where one is named, and shows what becomes of them.
    async fn told(&mut self, parts: Value, task: Option<&str>) -> Result<(), Failure> {
        let deadline = Instant::now() + self.wait;
        let id = SystemEntropy.uuid().to_string();
        let message = json!({"id": id, "role": "user", "parts": parts});
        let mut show = Show::of(self.way);
        while !show.answered && show.task.is_none() {
            let mut chunks = self.begin((&message, task), deadline).await?.events();
            while let Ok(Some(chunk)) = timeout_at(deadline, chunks.next()).await {
                show.chunk(&chunk);
            }
            if Instant::now() >= deadline {
                break;
            }
        }
        match show.answered && show.rests() {
            true => show.release(),
            false => self.follow(&mut show, deadline).await?,
        }
        show.ended()
    }

    /// Starts the chat's newest plan that waits, as it was just read, and shows what becomes of it.
    async fn start(&self) -> Result<(), Failure> {
        let deadline = Instant::now() + self.wait;
        let messages = self.messages().await?;
        let mut show = Show::of(self.way);
        let (task, plan) = show
            .waiting_plan(&messages)
            .ok_or_else(|| Failure::other("no plan waits to be started in this chat"))?;
        let url = below(&self.here.base, &format!("/api/tasks/{task}/start"));
        let call = Call::with_body(Method::POST, url, &json!({ "plan": plan }));
        let started = Call {
            cookie: self.here.cookie(),
            ..call
        };
        self.waits.set(true);
        show.started(&self.here.client.json(started).await?);
        self.follow(&mut show, deadline).await?;
        show.ended()
    }

    /// The chat's messages.
    async fn messages(&self) -> Result<Vec<Value>, Failure> {
        let messages = self
            .here
            .get(&format!("/api/chats/{}/messages", self.chat))
            .await?;
        Ok(messages.as_array().cloned().unwrap_or_default())
    }

    /// Sends the message. It carries its own id, so sending it again after an answer broke off says nothing twice.
    async fn begin(
        &mut self,
        (message, task): (&Value, Option<&str>),
        deadline: Instant,
    ) -> Result<Begun, Failure> {
        let mut broke_off = false;
        loop {
            let mut body = json!({
                "id": self.chat, "message": message, "trigger": "submit-message",
                "locale": self.user.locale, "timeZone": self.user.time_zone,
            });
            if let (Some(task), Some(body)) = (task, body.as_object_mut()) {
                body.insert("taskId".to_owned(), json!(task));
            }
            let cookie = self.here.sessions.of(&self.here.base).cookie.clone();
            let call = Call::with_body(Method::POST, below(&self.here.base, "/api/chat"), &body);
            let fault = match self
                .here
                .client
                .send(Call {
                    cookie: cookie.as_deref(),
                    ..call
                })
                .await
            {
                Ok(begun) => {
                    let known = self.here.sessions.of(&self.here.base);
                    known.cookie = begun.cookie().or(cookie);
                    known.chat = Some(self.chat.clone());
                    self.here.sessions.save()?;
                    return Ok(begun);
                }
                Err(fault) => fault,
            };
            match &fault {
                // The remembered chat is of a session that is over: its owner is somebody else now.
                ClientError::Refused {
                    status: StatusCode::NOT_FOUND,
                    ..
                } if !self.wanted => {
                    (self.chat, self.wanted) = (new_chat()?, true);
                    continue;
                }
                ClientError::BrokeOff(_) => broke_off = true,
                ClientError::NotRunning(_) if broke_off => {}
                _ => return Err(fault.into()),
            }
            if Instant::now() >= deadline {
                return Err(fault.into());
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Follows the task of an answer that did not come in the same turn, and shows the answer when it is there.
    async fn follow(&self, show: &mut Show, deadline: Instant) -> Result<(), Failure> {
        let Some((task, _)) = show.task.clone() else {
            return Err(Failure::other("the answer broke off before a task was shown"));
        };
        let cookie = self.here.cookie();
        while !show.rests() {
            let url = below(&self.here.base, &format!("/api/tasks/{task}/events"));
            let call = Call {
                cookie,
                last_event: Some(show.seen),
                ..Call::get(url)
            };
            match timeout_at(deadline, self.here.client.send(call)).await {
                Ok(Ok(begun)) => {
                    let mut events = begun.events();
                    while let Ok(Some(event)) = timeout_at(deadline, events.next()).await {
                        show.event(&event);
                        if show.rests() {
                            break;
                        }
                    }
                }
                Ok(Err(
                    fault @ ClientError::Refused {
                        status: StatusCode::NOT_FOUND,
                        ..
                    },
                )) => return Err(fault.into()),
                // The system may be starting again: its state is kept, so the task goes on.
                Ok(Err(_)) | Err(_) => {}
            }
            if Instant::now() >= deadline {
                return Err(Failure::NotYet(format!(
                    "no answer yet; the task {task} goes on, ask again later"
                )));
            }
            if !show.rests() {
                tokio::time::sleep(AGAIN).await;
            }
        }
        show.answer(&self.messages().await?);
        Ok(())
    }
}

fn new_chat() -> Result<ChatId, Failure> {
    ChatId::parse(&SystemEntropy.uuid().to_string()).map_err(Failure::other)
}

/// A text field of a JSON value.
fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}
