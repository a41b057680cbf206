//! A NATS server on this machine, to try a cluster. It outlives the command that starts it.

use agentv_runtime::file_input;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = "nats-server";
/// How long it may take to start or to stop.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server that runs.
#[derive(Debug)]
pub(crate) struct StartedServer {
    pub pid: i32,
    pub port: u16,
    pub was_running: bool,
}

/// Why a server cannot be started or stopped.
#[derive(Debug)]
pub(crate) enum ServerError {
    NotInstalled(io::Error),
    Folder(PathBuf, io::Error),
    PortTaken(u16),
    Failed,
    NotRunning(PathBuf),
}

impl std::fmt::Display for ServerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotInstalled(error) => write!(f, "`{PROGRAM}` cannot be started: {error}"),
            Self::Folder(dir, error) => write!(f, "`{}` cannot be used: {error}", dir.display()),
            Self::PortTaken(port) => write!(f, "port {port} is in use"),
            Self::Failed => write!(f, "`{PROGRAM}` ended at once"),
            Self::NotRunning(dir) => write!(f, "no server of `{}` is running", dir.display()),
        }
    }
}

impl ServerError {
    pub(crate) fn help(&self) -> &'static str {
        match self {
            Self::NotInstalled(_) => {
                "install it (Debian: `apt-get install nats-server`), or name a server that runs"
            }
            Self::Folder(..) => "name another folder with `--dir`",
            Self::PortTaken(_) => "name another port with `--port`",
            Self::Failed => "its reasons are in `server.log` in its folder",
            Self::NotRunning(_) => "name its folder with `--dir`",
        }
    }
}

/// The file with the key of the cluster.
pub(crate) fn key_file(dir: &Path) -> PathBuf {
    dir.join("key")
}

fn port_file(dir: &Path) -> PathBuf {
    dir.join("server.port")
}

fn pid_file(dir: &Path) -> PathBuf {
    dir.join("server.pid")
}

/// Starts a server that keeps its data in a folder. `key` is written down for its users, unless there is one.
pub(crate) fn start(dir: &Path, port_wanted: u16, key: &str) -> Result<StartedServer, ServerError> {
    let folder = |error| ServerError::Folder(dir.to_owned(), error);
    if let Some(pid) = running(dir) {
        let port = file_input::read_to_string(&port_file(dir)).ok();
        let port = port.and_then(|port| port.trim().parse().ok()).unwrap_or(port_wanted);
        return Ok(StartedServer { pid, port, was_running: true });
    }
    let port = port_wanted;
    fs::create_dir_all(dir).map_err(folder)?;
    // The key is for this machine.
    fs::write(dir.join(".gitignore"), "*\n").map_err(folder)?;
    let mut options = fs::File::options();
    match options.write(true).create_new(true).mode(0o600).open(key_file(dir)) {
        Ok(mut file) => writeln!(file, "{key}").map_err(folder)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(folder(error)),
    }
    if answers(port) {
        return Err(ServerError::PortTaken(port));
    }
    #[expect(clippy::disallowed_methods, reason = "the server must outlive this program")]
    let mut command = Command::new(PROGRAM);
    command
        .args(["--jetstream", "--addr", "127.0.0.1", "--port"])
        .arg(port.to_string())
        .arg("--store_dir")
        .arg(dir.join("data"))
        .arg("--log")
        .arg(dir.join("server.log"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl-C in this terminal is not meant for it.
        .process_group(0);
    let mut child = command.spawn().map_err(ServerError::NotInstalled)?;
    let pid = i32::try_from(child.id()).unwrap_or_default();
    fs::write(pid_file(dir), format!("{pid}\n")).map_err(folder)?;
    fs::write(port_file(dir), format!("{port}\n")).map_err(folder)?;
    let until = Instant::now() + PATIENCE;
    while !answers(port) {
        let is_over = child.try_wait().ok().flatten().is_some();
        if is_over || Instant::now() > until {
            let _ = child.kill();
            let _ = fs::remove_file(pid_file(dir));
            return Err(ServerError::Failed);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(StartedServer { pid, port, was_running: false })
}

/// Stops the server of a folder. Its data stays.
pub(crate) fn stop(dir: &Path) -> Result<i32, ServerError> {
    let none = || ServerError::NotRunning(dir.to_owned());
    let pid = running(dir).ok_or_else(none)?;
    let process = rustix::process::Pid::from_raw(pid).ok_or_else(none)?;
    let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
    let until = Instant::now() + PATIENCE;
    while running(dir).is_some() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = fs::remove_file(pid_file(dir));
    Ok(pid)
}

/// The process of a folder's server, if it runs. A process of another program may have got its number.
fn running(dir: &Path) -> Option<i32> {
    let text = file_input::read_to_string(&pid_file(dir)).ok()?;
    let pid: i32 = text.trim().parse().ok()?;
    let process = rustix::process::Pid::from_raw(pid)?;
    rustix::process::test_kill_process(process).ok()?;
    // Only Linux says what it is.
    let name = file_input::read_to_string(Path::new(&format!("/proc/{pid}/cmdline")));
    name.map_or(true, |name| name.contains(PROGRAM)).then_some(pid)
}

/// Whether a NATS server answers at a port.
fn answers(port: u16) -> bool {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) else {
        return false;
    };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
    let mut first = [0; 4];
    stream.read_exact(&mut first).is_ok()
}
