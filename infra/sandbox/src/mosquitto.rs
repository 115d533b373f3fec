//! A Mosquitto of this machine as a process: an MQTT broker for the local system and for tests, on the loopback address alone.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long it may take to listen.
const START: Duration = Duration::from_secs(10);
/// How often it is looked whether it does.
const LOOK: Duration = Duration::from_millis(10);
/// Where packages put it, which is not on everybody's path.
const PACKAGED: &str = "/usr/sbin/mosquitto";
/// What it says to nobody but the folder that it was started in.
const LOG: &str = "mosquitto.log";
/// Its file of users, in that folder.
const PASSWORDS: &str = "passwords";
/// Its access control list, in that folder.
const ACL: &str = "acl";
/// What it says once it listens: another process on its port does not say so here.
const RUNNING: &str = " running";
/// What it says where another process has its port.
const TAKEN: &str = "Address already in use";

/// How the broker is to be.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// User names with their passwords; anybody may connect where there are none, unless it is `closed`.
    pub users: Vec<(String, String)>,
    /// Only users may connect, and [`Mosquitto::admit`] says later who they are. A user's name is its client id too, so that
    /// nobody takes over the session of somebody else.
    pub closed: bool,
    /// Its access control list, in its own words; everything is allowed where there is none.
    pub acl: Option<String>,
    /// More lines of its configuration.
    pub lines: Vec<String>,
    /// What it has is kept in its folder: through a kill, all but the last second.
    pub persistent: bool,
}

/// A running Mosquitto; it is killed when this value is dropped.
#[derive(Debug)]
pub struct Mosquitto {
    process: Child,
    port: u16,
    program: PathBuf,
    folder: PathBuf,
}

impl Mosquitto {
    /// Starts `program` in that folder, on that port (0 takes one that is free), and waits until it listens. Whoever has the port
    /// meanwhile is never taken for it.
    ///
    /// # Errors
    /// Where there is no such program, or it does not listen.
    pub fn start(program: &Path, folder: &Path, port: u16, wanted: &Wanted) -> Result<Self> {
        let until = Instant::now() + START;
        loop {
            let port = match port {
                0 => TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port(),
                port => port,
            };
            match Self::try_start(program, folder, port, wanted, until) {
                // Whoever has it may leave it; where any will do, it is another the next time.
                Err(error) if error.kind() == ErrorKind::AddrInUse && Instant::now() < until => {
                    std::thread::sleep(LOOK);
                }
                tried => return tried,
            }
        }
    }

    fn try_start(program: &Path, folder: &Path, port: u16, wanted: &Wanted, until: Instant) -> Result<Self> {
        let configuration = folder.join("mosquitto.conf");
        std::fs::write(&configuration, configured(program, folder, port, wanted)?)?;
        let log = folder.join(LOG);
        let process = Command::new(program)
            .arg("-c")
            .arg(&configuration)
            // What it says of a port is read.
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()?;
        let mut started = Self {
            process,
            port,
            program: program.to_owned(),
            folder: folder.to_owned(),
        };
        started.wait(&log, until)?;
        Ok(started)
    }

    /// The port it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("mqtt://127.0.0.1:{}", self.port)
    }

    /// From now on these are its users, and this is its access control list. Whoever is no user any more is disconnected. Only for
    /// a broker that was started `closed`.
    ///
    /// # Errors
    /// Where the files cannot be written, or the broker is gone.
    pub fn admit(&self, users: &[(String, String)], acl: &str) -> Result<()> {
        write_passwords(&self.program, &self.folder, users)?;
        std::fs::write(self.folder.join(ACL), acl)?;
        // Its signal to read them again.
        let told = Command::new("kill")
            .arg("-HUP")
            .arg(self.process.id().to_string())
            .status()?;
        match told.success() {
            true => Ok(()),
            false => Err(Error::other("mosquitto does not run any more")),
        }
    }

    /// The process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Kills it at once, as a crash would.
    pub fn kill(&mut self) {
        // It may be gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    fn wait(&mut self, log: &Path, until: Instant) -> Result<()> {
        loop {
            // It writes its last line before it ends.
            let ended = self.process.try_wait()?;
            let said = String::from_utf8_lossy(&std::fs::read(log)?).into_owned();
            if let Some(status) = ended {
                let kind = match said.contains(TAKEN) {
                    true => ErrorKind::AddrInUse,
                    false => ErrorKind::Other,
                };
                let last = said.lines().last().unwrap_or_default();
                return Err(Error::new(
                    kind,
                    format!("mosquitto ended at once, {status}: {last}"),
                ));
            }
            if said.lines().any(|line| line.ends_with(RUNNING)) {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(Error::new(ErrorKind::TimedOut, "mosquitto does not listen"));
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The program of this name on the path, or where packages put it.
#[must_use]
pub fn program() -> PathBuf {
    let answers = |program: &Path| {
        let asked = Command::new(program)
            .arg("-h")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        asked.is_ok()
    };
    let on_path = PathBuf::from("mosquitto");
    match answers(&on_path) {
        true => on_path,
        false => PathBuf::from(PACKAGED),
    }
}

fn configured(program: &Path, folder: &Path, port: u16, wanted: &Wanted) -> Result<String> {
    let mut lines = String::new();
    let mut say = |line: String| writeln!(lines, "{line}").map_err(Error::other);
    say(format!("listener {port} 127.0.0.1"))?;
    // Started by root it would look for a user of its own, which only a package makes.
    say("user root".to_owned())?;
    // No more than when it listens and why it ends: neither who connects nor what is published.
    say("log_dest stderr".to_owned())?;
    say("log_type error".to_owned())?;
    say("log_type information".to_owned())?;
    say("connection_messages false".to_owned())?;
    // Stock Mosquitto drops what is beyond a thousand, retained cards too.
    say("max_queued_messages 1000000".to_owned())?;
    say("max_inflight_messages 1000".to_owned())?;
    // Small packets leave at once.
    say("set_tcp_nodelay true".to_owned())?;
    let is_open = wanted.users.is_empty() && !wanted.closed;
    say(format!("allow_anonymous {is_open}"))?;
    if !is_open {
        write_passwords(program, folder, &wanted.users)?;
        say(format!("password_file {}", folder.join(PASSWORDS).display()))?;
    }
    if wanted.closed {
        say("use_username_as_clientid true".to_owned())?;
    }
    let nothing = wanted.closed.then(String::new);
    if let Some(acl) = wanted.acl.as_ref().or(nothing.as_ref()) {
        let file = folder.join(ACL);
        std::fs::write(&file, acl)?;
        say(format!("acl_file {}", file.display()))?;
    }
    if wanted.persistent {
        say("persistence true".to_owned())?;
        say(format!("persistence_location {}/", folder.display()))?;
        // Every second. After every change it would write all that it has before it goes on to the next packet, and hold up everybody.
        say("autosave_on_changes false".to_owned())?;
        say("autosave_interval 1".to_owned())?;
    }
    for line in &wanted.lines {
        say(line.clone())?;
    }
    Ok(lines)
}

/// Writes the file of users: under another name first, so that the broker never reads a password that is not hashed.
fn write_passwords(program: &Path, folder: &Path, users: &[(String, String)]) -> Result<()> {
    let plain = folder.join("passwords.new");
    let lines = users
        .iter()
        .map(|(name, password)| format!("{name}:{password}\n"));
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(&plain)?;
    file.write_all(lines.collect::<String>().as_bytes())?;
    drop(file);
    if !users.is_empty() {
        let hashing = match program.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Some(parent) if parent.join("mosquitto_passwd").exists() => parent.join("mosquitto_passwd"),
            _ => PathBuf::from("mosquitto_passwd"),
        };
        let hashed = Command::new(hashing)
            .arg("-U")
            .arg(&plain)
            .stdout(Stdio::null())
            .status()?;
        if !hashed.success() {
            return Err(Error::other("mosquitto_passwd refuses the passwords"));
        }
    }
    std::fs::rename(plain, folder.join(PASSWORDS))
}
