//! Mistakes that the account can be told to make: what a function, the router, the authorizer, the gateway or Lambda itself does wrong on
//! the way from a request to its answer, for one tenant that is taken for another. Whether anything of the other is lost then, the layers
//! behind it say. The product knows nothing of this.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use domain::Tenant;
use url::form_urlencoded;

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mistake {
    /// A function writes the other tenant's prefix or name into what it asks of a service. A table is named by its end; without one it is
    /// every service but SQS.
    Keys {
        /// The function, such as `pool-ChatApiFunction`.
        function: String,
        /// The end of the name of the one table whose keys it is wrong about.
        table: Option<String>,
    },
    /// A function asks for its session with these tags of the other tenant.
    Tags {
        /// The function.
        function: String,
        /// The names of the tags.
        tags: &'static [&'static str],
    },
    /// The authorizer says the other tenant's prefix.
    Authorizer,
    /// The gateway lets pass what a client says of its tenant.
    Header,
    /// Lambda hands events to a sandbox of the other tenant, and says whose they are.
    Sandbox,
    /// The router of wakes invokes the functions for the other tenant.
    Wakes,
    /// The queue's messages name the other tenant.
    Messages,
}

/// A mistake, whom it is about, and for whom they are taken.
#[derive(Debug, Clone)]
struct Confusion {
    mistake: Mistake,
    whose: Tenant,
    taken_for: Tenant,
}

/// The mistake that is made, if one is.
#[derive(Debug, Default)]
pub struct Mistakes {
    current: Mutex<Option<Confusion>>,
    struck: AtomicU64,
}

impl Mistakes {
    fn current(&self) -> MutexGuard<'_, Option<Confusion>> {
        self.current.lock().expect("no panic under the lock")
    }

    /// This one is made from now on, and no other: the first tenant is taken for the second.
    pub fn make(&self, mistake: Mistake, (whose, taken_for): (&Tenant, &Tenant)) {
        let (whose, taken_for) = (whose.clone(), taken_for.clone());
        self.struck.store(0, Ordering::Relaxed);
        *self.current() = Some(Confusion {
            mistake,
            whose,
            taken_for,
        });
    }

    /// None is made any more. How often the last one was.
    pub fn end(&self) -> u64 {
        *self.current() = None;
        self.struck.load(Ordering::Relaxed)
    }

    /// What a mistake of a fitting kind makes of something, where there is one, and it does.
    fn makes<T>(&self, of: impl FnOnce(&Confusion) -> Option<T>) -> Option<T> {
        let current = self.current().clone();
        let made = current.as_ref().and_then(of);
        if made.is_some() {
            self.struck.fetch_add(1, Ordering::Relaxed);
        }
        made
    }

    /// What a function asks of a service in truth: `place` names the table, if it is about one.
    pub fn asked(&self, function: &str, place: &str, text: &str) -> Option<String> {
        self.makes(
            |Confusion {
                 mistake,
                 whose,
                 taken_for,
             }| {
                let fits = match mistake {
                    Mistake::Keys {
                        function: wrong,
                        table,
                    } => {
                        function == wrong
                            && table.as_ref().is_none_or(|table| place.ends_with(table.as_str()))
                    }
                    _ => false,
                };
                let mixed = fits.then(|| mixed_up(text, (whose, taken_for)));
                mixed.filter(|mixed| mixed != text)
            },
        )
    }

    /// What a function asks of STS in truth.
    pub fn session(&self, function: &str, form: &[u8]) -> Option<Vec<u8>> {
        self.makes(
            |Confusion {
                 mistake,
                 whose,
                 taken_for,
             }| {
                let Mistake::Tags {
                    function: wrong,
                    tags,
                } = mistake
                else {
                    return None;
                };
                if wrong != function {
                    return None;
                }
                let given: Vec<(String, String)> = form_urlencoded::parse(form).into_owned().collect();
                let tag = |field: &str| {
                    let number = field.strip_suffix(".Value")?;
                    let name = format!("{number}.Key");
                    given
                        .iter()
                        .find(|(field, _)| *field == name)
                        .map(|(_, tag)| tag.as_str())
                };
                let mut wrong = form_urlencoded::Serializer::new(String::new());
                for (field, value) in &given {
                    let other = match tag(field).filter(|tag| tags.contains(tag)) {
                        Some("tenant") if value == whose.prefix() => taken_for.prefix(),
                        Some("tenant_name") if value == whose.name() => taken_for.name(),
                        _ => value,
                    };
                    wrong.append_pair(field, other);
                }
                let wrong = wrong.finish().into_bytes();
                (wrong != form).then_some(wrong)
            },
        )
    }

    /// Whose prefix the gateway hands on to Lambda: `told` is the authorizer's word, `sent` the client's.
    pub fn prefix(&self, told: &str, sent: Option<&str>) -> Option<String> {
        self.makes(
            |Confusion {
                 mistake,
                 whose,
                 taken_for,
             }| match mistake {
                Mistake::Authorizer if told == whose.prefix() => Some(taken_for.prefix().to_owned()),
                Mistake::Header if told == whose.prefix() => sent.map(str::to_owned),
                _ => None,
            },
        )
    }

    /// Of which tenant the sandbox is that an event of this one is handed to.
    pub fn sandbox(&self, tenant: &str) -> Option<String> {
        self.makes(
            |Confusion {
                 mistake,
                 whose,
                 taken_for,
             }| {
                let fits = *mistake == Mistake::Sandbox && tenant == whose.prefix();
                fits.then(|| taken_for.prefix().to_owned())
            },
        )
    }

    /// For whom the router invokes a function.
    pub fn invoked(&self, tenant: &str) -> Option<String> {
        self.makes(
            |Confusion {
                 mistake,
                 whose,
                 taken_for,
             }| {
                let fits = *mistake == Mistake::Wakes && tenant == whose.prefix();
                fits.then(|| taken_for.prefix().to_owned())
            },
        )
    }

    /// What a message says.
    pub fn message(&self, body: &str) -> Option<String> {
        self.makes(
            |Confusion {
                 mistake,
                 whose,
                 taken_for,
             }| {
                let mixed = (*mistake == Mistake::Messages).then(|| mixed_up(body, (whose, taken_for)));
                mixed.filter(|mixed| mixed != body)
            },
        )
    }
}

/// A text in which one tenant's keys, and its name as a whole key, are another's.
#[must_use]
pub fn mixed_up(text: &str, (whose, taken_for): (&Tenant, &Tenant)) -> String {
    let (prefix, other) = (whose.prefix(), taken_for.prefix());
    let text = text
        .replace(&format!("\"{prefix}#"), &format!("\"{other}#"))
        .replace(&format!("\"{prefix}\""), &format!("\"{other}\""));
    // In S3's paths and in its queries.
    let text = match text.strip_prefix(&format!("{prefix}#")) {
        Some(rest) => format!("{other}#{rest}"),
        None => text,
    };
    text.replace(
        &format!("{{\"S\":\"{}\"}}", whose.name()),
        &format!("{{\"S\":\"{}\"}}", taken_for.name()),
    )
}
