//! What files alone can tell: the ladder of rooms, features, templates, what documents name. It is built in seconds and asks nothing
//! of the code itself, so that it comes first: `cargo run -p check`.

mod circles;
mod documents;
mod doors;
mod features;
mod named;
mod rooms;
mod templates;
mod watched;

use std::process::ExitCode;
use std::thread;

/// A check, which panics where something is wrong, and its name.
type Check = (&'static str, fn());

macro_rules! checks {
    ($($module:ident::$name:ident),+ $(,)?) => {
        &[$((concat!(stringify!($module), "::", stringify!($name)), $module::$name as fn())),+]
    };
}

const CHECKS: &[Check] = checks![
    features::a_room_alone_is_built_with_the_features_of_the_workspace,
    rooms::a_room_uses_only_lower_rungs,
    rooms::only_the_host_has_a_model,
    rooms::the_bridge_stores_nothing,
    rooms::every_rung_is_taken_by_a_room,
    rooms::a_functions_main_only_wires,
    rooms::every_module_says_what_it_is_for,
    rooms::every_setting_is_in_the_table,
    doors::crates_are_named_by_those_alone_who_may,
    circles::no_crate_has_a_circle_of_imports,
    documents::what_documents_link_and_name_is_there,
    documents::what_is_said_to_be_shown_is_shown_by_tests_that_there_are,
    templates::only_listed_models_may_be_asked_and_only_by_the_host,
    templates::the_table_of_settings_says_who_gets_each,
    templates::a_function_of_the_pool_may_what_a_silos_may,
    templates::every_function_of_the_repository_is_in_a_template_under_its_own_name,
    templates::the_sweeper_knows_the_queue_of_every_agent_of_every_tenant,
    templates::of_the_tenants_record_the_chat_writes_the_settings_alone,
    templates::agents_reach_their_own_tasks_alone_and_only_the_sweeper_sees_what_is_due,
    templates::what_serves_every_tenant_reaches_its_own_kinds_of_items_alone,
    templates::a_changed_api_is_deployed_anew,
    templates::agents_addresses_cannot_be_guessed,
    templates::secrets_and_logs_are_each_functions_own,
    templates::what_stands_in_front_gives_the_challenge_its_name_back,
    templates::nothing_is_reserved_unless_somebody_says_so,
    templates::an_api_with_a_domain_of_its_own_is_nowhere_else,
    templates::a_web_acl_stands_before_an_api_where_one_is_named,
    templates::production_has_an_address_of_its_own,
    templates::a_line_of_an_api_holds_nothing_that_is_secret,
    templates::only_who_is_named_or_has_a_second_factor_may_purge,
    templates::every_api_takes_so_many_requests_a_second_and_no_more,
    watched::every_alarm_watches_a_metric_that_something_emits,
    watched::every_graph_of_the_dashboard_shows_what_it_is_called,
];

fn main() -> ExitCode {
    // What each has to say it says by panicking, in a thread that is called what the check is.
    let begun = CHECKS.iter().map(|(name, check)| {
        let thread = thread::Builder::new().name((*name).to_owned()).spawn(*check);
        (*name, thread.expect("a thread"))
    });
    let begun: Vec<_> = begun.collect();
    let failed: Vec<&str> = begun
        .into_iter()
        .filter_map(|(name, thread)| thread.join().is_err().then_some(name))
        .collect();
    if failed.is_empty() {
        println!("{} checks, all good", CHECKS.len());
        return ExitCode::SUCCESS;
    }
    println!(
        "of {} checks {} failed:\n  {}",
        CHECKS.len(),
        failed.len(),
        failed.join("\n  ")
    );
    ExitCode::FAILURE
}
