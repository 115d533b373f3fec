//! The pages, which say that they are no real ones.

use super::{Parameters, USERS};

/// What the user is asked: who it is, and a box for each thing.
pub(super) fn asks(asked: &Parameters) -> String {
    let hidden: String = asked
        .iter()
        .map(|(name, value)| {
            format!(
                "<input type=\"hidden\" name=\"{}\" value=\"{}\">",
                escaped(name),
                escaped(value)
            )
        })
        .collect();
    let users: String = USERS
        .iter()
        .enumerate()
        .map(|(number, (user, _))| {
            let first = if number == 0 { " checked" } else { "" };
            format!(
                "<p><label><input type=\"radio\" name=\"user\" value=\"{user}\"{first}> {user}</label></p>"
            )
        })
        .collect();
    let scopes = asked.get("scope").map_or("", String::as_str);
    let boxes: String = scopes
        .split(' ')
        .enumerate()
        .map(|(number, scope)| {
            format!(
                "<p><label><input type=\"checkbox\" name=\"box.{number}\" value=\"on\" checked> {}</label></p>",
                escaped(named(scope))
            )
        })
        .collect();
    framed(
        "Switchyard wants to access your Google account",
        &format!(
            "<form method=\"post\"><h2>Account</h2>{users}<h2>What Switchyard may do</h2>{boxes}{hidden}\
             <p><button name=\"agree\" value=\"yes\">Continue</button> <button>Cancel</button></p></form>"
        ),
    )
}

pub(super) fn fault(fault: &str) -> String {
    framed("Access blocked", &format!("<p>Error 400: {}</p>", escaped(fault)))
}

/// A scope as Google's page says it.
fn named(scope: &str) -> &str {
    match scope.rsplit('/').next() {
        Some("calendar.freebusy") => "View your availability in your calendars",
        Some("calendar.events.readonly") => "View events on all your calendars",
        _ => scope,
    }
}

fn framed(title: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><body style=\"font:16px system-ui;max-width:32em;margin:3em auto;padding:0 1em\">\
         <p><b>Sandbox:</b> this is not Google, and its accounts are made up.</p><h1>{title}</h1>{body}</body></html>"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
