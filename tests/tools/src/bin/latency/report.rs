//! What is printed at the end.

use std::time::Duration;

use crate::Arguments;
use crate::receivers;
use crate::run::Run;
use tools::figures::{Times, millis};

/// What every p99 must stay below.
const LIMIT: Duration = Duration::from_secs(1);

/// Prints the tables; true where every figure is as it must be.
pub(crate) fn print(arguments: &Arguments, runs: &[(String, Run)]) -> bool {
    println!("p50 / p99 in milliseconds, counted from the scheduled time:\n");
    println!(
        "| tasks | send → acknowledged | send → executor starts | state change → first push attempt | webhook → visible | webhook → result visible |"
    );
    println!("|---|---|---|---|---|---|");
    for (name, run) in runs {
        let both = |times: &Times| format!("{} / {}", millis(times.within(0.5)), millis(times.within(0.99)));
        println!(
            "| {name} | {} | {} | {} | {} | {} |",
            both(&run.acknowledged),
            both(&run.started),
            both(&run.pushed),
            both(&run.progress),
            both(&run.result)
        );
    }
    println!("\nWhat each task asked of DynamoDB:\n");
    println!(
        "| tasks | calls | of requests | of wakes | of streams | read units | write units | by operation |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---|");
    for (name, run) in runs {
        let asked = &run.asked;
        let operations = asked.operations.iter();
        let operations: Vec<String> = operations
            .map(|(operation, count)| format!("{operation} {count:.1}"))
            .collect();
        println!(
            "| {name} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {} |",
            asked.requests + asked.wakes + asked.streams,
            asked.requests,
            asked.wakes,
            asked.streams,
            asked.read_units,
            asked.write_units,
            operations.join(", ")
        );
    }
    println!(
        "\n{} tasks a second for {} s each, one of {} followed by a page, notifications to {} receivers (the one that may \
         be dead is in no figure); {} processors, load average at the end {}.",
        arguments.rate,
        arguments.seconds,
        arguments.followed,
        receivers::COUNT,
        std::thread::available_parallelism().map_or(0, usize::from),
        load_average()
    );
    let mut well = true;
    for (name, run) in runs {
        let unfinished = run.tasks - run.done.len();
        if unfinished > 0 || run.untold > 0 || run.started.count() < run.tasks {
            println!(
                "{name}: {unfinished} tasks did not complete, {} changes were not told, {} starts were not seen",
                run.untold,
                run.tasks - run.started.count()
            );
            well = false;
        }
        let all = [
            ("send → executor starts", &run.started),
            ("state change → first push attempt", &run.pushed),
            ("webhook → visible", &run.progress),
        ];
        for (what, times) in all {
            if times.count() == 0 || times.within(0.99) >= LIMIT {
                println!(
                    "{name}: {what} is not below a second at p99 ({} ms)",
                    millis(times.within(0.99))
                );
                well = false;
            }
        }
    }
    println!(
        "{}",
        if well {
            "Every p99 is below a second."
        } else {
            "Not every figure is as it must be."
        }
    );
    well
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}
