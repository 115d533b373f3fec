//! The page at the gateway's root: where to go from here.

use crate::data::endpoints::Endpoints;

/// The page. Every text in it is a name or an address of ours, so nothing needs escaping.
pub(crate) fn page(endpoints: &Endpoints) -> String {
    let tenants: String = endpoints
        .tenants
        .iter()
        .map(|(name, tenant)| {
            format!(
                "<li><a href=\"{base}\">{}</a> <small>host agent: <a href=\"{host}/.well-known/agent-card.json\">card</a></small></li>\n",
                name.name(),
                base = tenant.base,
                host = tenant.host_agent,
            )
        })
        .collect();
    let agents: String = endpoints
        .agents
        .iter()
        .map(|(name, url)| {
            format!("<li>{name} <small><a href=\"{url}/.well-known/agent-card.json\">card</a></small></li>\n")
        })
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Switchyard</title>\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <style>body{{font:16px/1.6 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}}</style>\n\
         <main>\n<h1>Switchyard</h1>\n<p>Talk to a tenant's host agent:</p>\n<ul>\n{tenants}</ul>\n\
         <p>Agents that serve every tenant:</p>\n<ul>\n{agents}</ul>\n\
         <p><small>A local system. What its sandboxes answer is made up, and says so.</small></p>\n</main>\n</html>\n"
    )
}
