//! `agentv cluster`: how a cluster is, and a server to try one. And the connection of everything that uses one.

use crate::args::ReportFormat;
use crate::cluster_args::{AddressArgs, ClusterCommand};
use crate::server;
use crate::settings::Environment;
use crate::terminal::{self, show_cluster};
use agentv_cluster::{ClusterAccess, ClusterError, ClusterLink, KEY_VARIABLE};
use agentv_runtime::session::Refused;
use agentv_wire::env::CLUSTER as ADDRESS_VARIABLE;
use agentv_wire::{Exit, number};
use std::path::Path;

pub(crate) fn run(command: &ClusterCommand, environment: &Environment) -> Exit {
    match command {
        ClusterCommand::Status { address, format } => on(address, environment, async |link| {
            let status = match agentv_cluster::status(&link).await {
                Ok(status) => status,
                Err(error) => return refuse_cluster(&error),
            };
            let mut screen = environment.screen();
            match format {
                ReportFormat::Text => show_cluster(&status, &mut screen),
                ReportFormat::Json => {
                    screen.data(&number::to_string_pretty(&status).unwrap_or_default());
                }
            }
            Exit::Success
        }),
        ClusterCommand::Drain { worker, address } => on(address, environment, async |link| {
            let found = agentv_cluster::drain(&link, worker).await;
            answer(
                found,
                environment,
                &format!("{worker} takes no more cases"),
                &format!("no worker `{worker}`"),
            )
        }),
        ClusterCommand::Cancel { run, address } => on(address, environment, async |link| {
            let found = agentv_cluster::cancel(&link, run).await;
            answer(found, environment, &format!("run {run} is stopped"), &format!("no run `{run}`"))
        }),
        ClusterCommand::Up { dir, port } => up(dir, *port, environment),
        ClusterCommand::Down { dir } => down(dir, environment),
        ClusterCommand::Key => key(environment),
    }
}

/// What an order to a member came to.
fn answer(
    found: Result<bool, ClusterError>,
    environment: &Environment,
    done: &str,
    missing: &str,
) -> Exit {
    match found {
        Ok(true) => {
            environment.screen().line(done);
            Exit::Success
        }
        Ok(false) => terminal::fail(missing, Some("`agentv cluster status` lists all")),
        Err(error) => refuse_cluster(&error),
    }
}

/// Does something with a cluster.
fn on(
    address: &AddressArgs,
    environment: &Environment,
    work: impl AsyncFnOnce(ClusterLink) -> Exit,
) -> Exit {
    let runtime = match super::runtime() {
        Ok(runtime) => runtime,
        Err(exit) => return exit,
    };
    runtime.block_on(async {
        match Box::pin(connect(address, "cluster", environment)).await {
            Ok(link) => work(link).await,
            Err(exit) => exit,
        }
    })
}

/// Connects to the cluster that the command line or the environment names.
pub(super) async fn connect(
    address: &AddressArgs,
    role: &str,
    environment: &Environment,
) -> Result<ClusterLink, Exit> {
    let named = address.cluster.as_deref().or_else(|| environment.env.get(ADDRESS_VARIABLE));
    let Some(url) = named.filter(|url| !url.is_empty()) else {
        let help = format!("name it: `--cluster nats://HOST:4222`, or set `{ADDRESS_VARIABLE}`");
        return Err(terminal::fail("no cluster is named", Some(&help)));
    };
    let access = ClusterAccess::read(url, &environment.env)
        .map_err(|error| terminal::fail(&error.to_string(), Some(error.help())))?;
    ClusterLink::connect(&access, role).await.map_err(|error| refuse_cluster(&error))
}

/// Says why a cluster cannot be used.
pub(super) fn refuse_cluster(error: &ClusterError) -> Exit {
    terminal::complain(&error.to_string(), help(error));
    Exit::Incomplete
}

fn help(error: &ClusterError) -> Option<&'static str> {
    match error {
        ClusterError::Unreachable { reason, .. } if reason.contains("authorization") => Some(
            "set `AGENTV_CLUSTER_USER` and `AGENTV_CLUSTER_PASSWORD`, or another login of the server",
        ),
        ClusterError::Unreachable { .. } => {
            Some("start the server, or try one here with `agentv cluster up`")
        }
        ClusterError::NoJetStream { .. } => {
            Some("start the server with JetStream, as `nats-server -js`")
        }
        ClusterError::OtherKey { .. } => {
            Some("set the key of the other members, or another `AGENTV_CLUSTER_PREFIX`")
        }
        _ => None,
    }
}

/// The same for a run that is refused.
pub(super) fn refused(error: &ClusterError) -> Refused {
    Refused { help: help(error).map(str::to_owned), ..Refused::incomplete(error.to_string()) }
}

/// The name of this process among the members of a cluster.
pub(super) fn member_name(environment: &Environment) -> String {
    format!("{}-{}", host_name(environment), std::process::id())
}

/// The name of this machine, in letters that names on a server may have.
pub(super) fn host_name(environment: &Environment) -> String {
    let system = rustix::system::uname();
    let named = environment.env.get("HOSTNAME").filter(|name| !name.is_empty());
    let name =
        named.map_or_else(|| system.nodename().to_string_lossy().into_owned(), str::to_owned);
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    name.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect()
}

fn up(dir: &Path, port: u16, environment: &Environment) -> Exit {
    let dir = environment.working_dir.join(dir);
    let Some(key) = agentv_cluster::new_key() else {
        return terminal::fail("the system gives no random numbers", None);
    };
    let started = match server::start(&dir, port, &key) {
        Ok(started) => started,
        Err(error) => {
            terminal::complain(&error.to_string(), Some(error.help()));
            return Exit::Incomplete;
        }
    };
    let mut screen = environment.screen();
    let url = format!("nats://127.0.0.1:{}", started.port);
    let verb = if started.was_running { "is already running" } else { "started" };
    screen.line(format!(
        "NATS server {verb}: {url}, process {}, data in {}",
        started.pid,
        environment.shown(&dir)
    ));
    screen.line("");
    screen.line("Set the key in each terminal:");
    screen.line(format!(
        "  export {KEY_VARIABLE}=$(cat {})",
        environment.shown(&server::key_file(&dir))
    ));
    screen.line("Start one or more workers where your targets file is:");
    screen.line(format!("  agentv worker --cluster {url}"));
    screen.line("Run suites on them:");
    screen.line(format!("  agentv eval --cluster {url}"));
    Exit::Success
}

fn down(dir: &Path, environment: &Environment) -> Exit {
    let dir = environment.working_dir.join(dir);
    match server::stop(&dir) {
        Ok(pid) => {
            environment.screen().line(format!("NATS server stopped: process {pid}"));
            Exit::Success
        }
        Err(error) => terminal::fail(&error.to_string(), Some(error.help())),
    }
}

fn key(environment: &Environment) -> Exit {
    match agentv_cluster::new_key() {
        Some(key) => {
            environment.screen().data(&key);
            Exit::Success
        }
        None => terminal::fail("the system gives no random numbers", None),
    }
}
