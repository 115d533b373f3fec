//! The commands of `README.md`, of `docs/local.md` and of `docs/figures.md`, run as they stand, one block after the other, by somebody who
//! has just built the system.
//!
//! Only ports differ, because tests run side by side; `cargo run` is the built command.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use system_testing::binary::{self, free_port};
use system_testing::browser::Browser;

use crate::consent::{agree, code_on, link};

/// Blocks that are not run here, by how they begin, with the reason.
const ELSEWHERE: &[(&str, &str)] = &[
    ("python3 -m venv wordy", "it installs packages from the network"),
    (
        "cargo run -- up --containers",
        "it needs Docker's bridge; containers::… run it at another address of this machine",
    ),
    (
        "cargo run -- sam-env --out env.json",
        "it needs sam and Docker: `tests/run sam-local`; containers::… play the events",
    ),
    (
        "(cd functions/weather_agent",
        "cargo lambda builds the function anew",
    ),
    (
        "cargo run -- platform add --aws",
        "AWS: bootstraps::deploy_page runs docs/deploy.md",
    ),
    ("./tests/run", "it runs this"),
    ("cargo run -p tools --release --bin chaos", "a release build"),
    ("cargo run -p tools --release --bin bench", "a release build"),
];

/// What a person fills in: the code that the page has shown.
const CODE: &str = "ABCD-EFGH";

/// The shell's blocks of the pages.
fn blocks() -> Vec<String> {
    let pages = ["README.md", "docs/local.md", "docs/figures.md"];
    let read = |page| std::fs::read_to_string(system_testing::folder().join("..").join(page)).unwrap();
    let of = |text: String| -> Vec<String> {
        let blocks = text.split("```sh\n").skip(1);
        let block = |block: &str| block.split("```").next().unwrap_or_default().to_owned();
        blocks.map(block).collect()
    };
    pages.map(read).map(of).concat()
}

/// A folder as a fresh clone has it, as far as the page speaks of it, with what was started in it.
struct Reader {
    folder: tempfile::TempDir,
    ports: [(&'static str, String); 3],
    running: Vec<Child>,
}

impl Reader {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shims = folder.path().join("bin");
        std::fs::create_dir(&shims).unwrap();
        std::os::unix::fs::symlink(system_testing::folder(), folder.path().join("tests")).unwrap();
        let port = free_port().to_string();
        let cargo = format!(
            "#!/bin/sh\n[ \"$1\" = run ] && shift || exit 64\n[ \"$1\" != -q ] || shift\n[ \"$1\" != -- ] || shift\n\
             case \" $* \" in '  ' | ' up '*) case \" $* \" in *' --port '*) ;; *) set -- \"${{@:-up}}\" --port {port} ;; esac ;; esac\n\
             exec '{}' \"$@\"\n",
            binary::path("switchyard").display()
        );
        let file = shims.join("cargo");
        std::fs::write(&file, cargo).unwrap();
        assert!(
            Command::new("chmod")
                .arg("+x")
                .arg(&file)
                .status()
                .unwrap()
                .success()
        );
        let ports = [
            ("3000", port),
            ("4000", free_port().to_string()),
            ("9100", free_port().to_string()),
        ];
        Self {
            folder,
            ports,
            running: Vec::new(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The commands with this run's ports.
    fn here(&self, text: &str) -> String {
        // In two steps: a port may hold the digits of another.
        let marked = self.ports.iter().fold(text.to_owned(), |text, (told, _)| {
            text.replace(told, &format!("\u{1}{told}\u{2}"))
        });
        self.ports.iter().fold(marked, |text, (told, port)| {
            text.replace(&format!("\u{1}{told}\u{2}"), port)
        })
    }

    fn shell(&self, script: &str) -> Command {
        let script = format!("PATH=\"$PWD/bin:$PATH\"\n{}", self.here(script));
        let mut shell = Command::new("sh");
        shell
            .args(["-eu", "-c", &script])
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        shell
    }

    /// Runs a block to its end; what it printed.
    fn run(&self, block: &str) -> String {
        let Output {
            status,
            stdout,
            stderr,
        } = self.shell(block).output().unwrap();
        let (said, errors) = (text(stdout), text(stderr));
        assert!(status.success(), "{block}\n{status}\n{said}\n{errors}");
        assert!(!errors.contains("panicked"), "{block}\n{errors}");
        said
    }

    /// Starts what does not end by itself; returns once it has said this.
    fn start(&mut self, block: &str, ready: &str) -> usize {
        let log = self.path(&format!("{}.log", self.running.len()));
        let out = std::fs::File::create(&log).unwrap();
        let mut shell = self.shell(&format!("exec {block}"));
        let errors = out.try_clone().unwrap();
        self.running
            .push(shell.stdout(out).stderr(errors).spawn().unwrap());
        let begun = Instant::now();
        while !read(&log).contains(ready) {
            let ended = self.running.last_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "{block}\n{}", read(&log));
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{block}\n{}",
                read(&log)
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        self.running.len() - 1
    }

    /// Ends what was started, by Ctrl-C.
    fn end(&mut self, number: usize) {
        let process = &mut self.running[number];
        let id = process.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &id])
                .status()
                .unwrap()
                .success()
        );
        assert!(process.wait().unwrap().success());
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        for process in &mut self.running {
            let _gone = process.kill();
            let _reaped = process.wait();
        }
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}

/// What blocks must have printed, by how they begin.
const SAYS: &[(&str, &[&str])] = &[
    (
        "cargo run -- chat --tenant acme \"Will it rain",
        &["Oslo", "Weather", "Horizon"],
    ),
    (
        "cargo run -- chat --tenant acme \"Where is my order",
        &["/connect/"],
    ),
    (
        "cargo run -- chat --tenant acme --new \"A flat",
        &["places to stay in Oslo", "MCP_TOOLS="],
    ),
    ("cargo run -- chat --tenant acme \"ABCD", &["1003"]),
    (
        "cargo run -- chat --tenant acme --new \"Am I",
        &["/t/acme/connect/task-", "Google calendar"],
    ),
    ("printf", &["1"]),
    (
        "BASE=",
        &["data-task", "[DONE]", "Bergen", "\"status\":\"completed\""],
    ),
    ("HOST=", &["\"signatures\"", "\"result\""]),
    ("cargo run -- tenant add", &["initech", "demo"]),
    (
        "curl http://127.0.0.1:3000/openapi.json",
        &["\"openapi\"", "sam-env"],
    ),
    (
        "cargo run -- chat --tenant acme --new \"Count",
        &["Wordy", "4 words"],
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_command_of_the_readme_does_what_it_says() {
    let blocks = blocks();
    let mut reader = Reader::new();
    let mut elsewhere: Vec<&str> = ELSEWHERE.iter().map(|(begins, _)| *begins).collect();
    let mut says: Vec<&str> = SAYS.iter().map(|(begins, _)| *begins).collect();
    let mut printed = String::new();
    for block in &blocks {
        if let Some(at) = elsewhere.iter().position(|begins| block.starts_with(begins)) {
            elsewhere.remove(at);
            continue;
        }
        let said = if block == "cargo run\n" {
            reader.start(block, "Switchyard is ready");
            continue;
        } else if block.contains("wordy/agent.py") {
            let venv = system_testing::folder().join(".tools/venv");
            std::os::unix::fs::symlink(venv, reader.path("wordy/.venv")).unwrap();
            reader.start(block, "\"url\"");
            continue;
        } else if block.starts_with("cargo run -- up") {
            for line in block.lines() {
                // Where the line says no port, the first system has the one it would take.
                let line = match line.contains("--port") {
                    true => line.to_owned(),
                    false => line.replacen(" up", " up --port 0", 1),
                };
                let data = if line.contains("--data") || line.contains("--memory") {
                    ""
                } else {
                    " --memory"
                };
                let line = line.split('#').next().unwrap().trim().to_owned() + data;
                let number = reader.start(&line, "Switchyard is ready");
                reader.end(number);
            }
            continue;
        } else if block.contains(CODE) {
            let asked = link(&json!(printed));
            let endpoints: Value =
                serde_json::from_str(&read(&reader.path(".local/endpoints.json"))).unwrap();
            let users = endpoints["users"]["acme"].as_array().unwrap();
            let ada = users.iter().find(|user| user["username"] == "ada").unwrap();
            let page = agree(&mut Browser::default(), &asked, ada).await;
            reader.run(&block.replace(CODE, &code_on(&page)))
        } else {
            reader.run(block)
        };
        if let Some(at) = says.iter().position(|begins| block.starts_with(begins)) {
            let begins = says.remove(at);
            let (_, words) = SAYS.iter().find(|(known, _)| *known == begins).unwrap();
            for word in *words {
                assert!(said.contains(word), "{block}\nsaid no {word}:\n{said}");
            }
        }
        printed = said;
    }
    assert_eq!(
        elsewhere,
        Vec::<&str>::new(),
        "the page has no such blocks any more"
    );
    assert_eq!(says, Vec::<&str>::new(), "the page has no such blocks any more");
    reader.end(0);
}
