//! A short run of the chaos program: killed, frozen and cut-off workers over one store. The long runs are started by
//! hand: `cargo run -p tools --release --bin chaos -- --seed N --tasks 2000`.

use std::process::{Command, Output, Stdio};

/// The same one each time: it plans the same faults.
const SEED: &str = "1";
const TASKS: &str = "24";
/// Seconds; on a machine that does nothing else a run takes a fraction of it.
const LIMIT: &str = "150";

fn chaos(arguments: &[&str]) -> Output {
    Command::new(system_testing::binary::path("chaos"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

#[test]
fn no_task_is_lost_or_done_twice_however_rough_the_day() {
    let ended = chaos(&["--seed", SEED, "--tasks", TASKS, "--limit", LIMIT]);
    let (said, wrong) = (
        String::from_utf8_lossy(&ended.stdout),
        String::from_utf8_lossy(&ended.stderr),
    );
    assert!(ended.status.success(), "{said}\n{wrong}");
    assert!(said.contains("CLEAN: nothing was lost"), "{said}");
    assert!(
        said.contains(&format!("\n{TASKS} tasks: ")),
        "all were judged: {said}"
    );
}

#[test]
fn a_run_that_has_no_time_fails_and_says_what_is_missing() {
    let ended = chaos(&["--tasks", "5", "--limit", "0", "--calm"]);
    let said = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(
        said.contains("WRONG, tasks that were not acknowledged in time: 1") && said.contains("FAILED"),
        "{said}"
    );
}

#[test]
fn wrong_arguments_and_help() {
    assert_eq!(chaos(&["--tasks", "none"]).status.code(), Some(2));
    assert_eq!(chaos(&["--lost", "100"]).status.code(), Some(2));
    let help = chaos(&["--help"]);
    let said = String::from_utf8_lossy(&help.stdout).into_owned();
    assert!(help.status.success());
    for option in [
        "--seed",
        "--tasks",
        "--workers",
        "--at-once",
        "--lost",
        "--limit",
        "--calm",
        "--like-aws",
        "--model",
        "Exit code",
    ] {
        assert!(said.contains(option), "{option} in {said}");
    }
    assert!(
        !said.contains("worker  "),
        "the workers' own command is nobody's business: {said}"
    );
}
