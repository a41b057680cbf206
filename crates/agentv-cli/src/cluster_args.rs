//! The commands around a cluster as clap types.

use crate::args::ReportFormat;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A worker runs cases of `agentv eval --cluster URL` with its own targets file, keys and
tools. It gets the files that a case names, and nothing else of the run's machine.
Ctrl-C drains it: running cases finish, no new ones start. A second Ctrl-C stops them,
and other workers run them.

AGENTV_CLUSTER_KEY must be the same for runs and workers: jobs with another signature are
refused. Logins: AGENTV_CLUSTER_CREDS, AGENTV_CLUSTER_NKEY, AGENTV_CLUSTER_USER and
AGENTV_CLUSTER_PASSWORD, AGENTV_CLUSTER_TOKEN; for TLS: AGENTV_CLUSTER_CA.

Exit codes: 0 drained, 2 wrong input, 3 the cluster cannot be reached

Examples:
  agentv worker --cluster nats://build-1:4222
  agentv worker --cluster tls://nats.example.com --workers 8 --labels gpu,linux")]
pub(crate) struct WorkerArgs {
    #[command(flatten)]
    pub address: AddressArgs,
    /// Cases to run in parallel, 1 to 1024 [default: number of cores]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// What this machine has; cases that `needs` a label only run on workers with it
    #[arg(long, value_name = "LABEL", value_delimiter = ',')]
    pub labels: Vec<String>,
    /// Targets file of this machine [default: found as for `agentv eval`]
    #[arg(long, value_name = "FILE")]
    pub targets: Option<PathBuf>,
    /// Name of the worker [default: host name and process id]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Folder for files of cases [default: ~/.cache/agentv/worker]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Size limit of that folder in megabytes
    #[arg(long, value_name = "MB", default_value_t = 4096)]
    pub cache_mb: u64,
    /// Print a line for each finished case
    #[arg(long)]
    pub verbose: bool,
}

/// How a cluster is named.
#[derive(Debug, clap::Args)]
pub(crate) struct AddressArgs {
    /// NATS server, as `nats://HOST:4222` or `tls://HOST:4222`, several with commas [default: `AGENTV_CLUSTER`]
    #[arg(long, value_name = "URL")]
    pub cluster: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum ClusterCommand {
    /// Show workers, runs and queues
    #[command(after_help = "Examples:\n  agentv cluster status --cluster nats://build-1:4222")]
    Status {
        #[command(flatten)]
        address: AddressArgs,
        /// Output format
        #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
        format: ReportFormat,
    },
    /// Let a worker finish its cases and take no more
    #[command(after_help = "Examples:\n  agentv cluster drain build-2-4711")]
    Drain {
        /// Name of the worker, as `agentv cluster status` shows it
        worker: String,
        #[command(flatten)]
        address: AddressArgs,
    },
    /// Stop a run, or remove what an abandoned run left on the server
    #[command(after_help = "Examples:\n  agentv cluster cancel 2026-11-18T10-00-00-000Z-ab12")]
    Cancel {
        /// Id of the run
        run: String,
        #[command(flatten)]
        address: AddressArgs,
    },
    /// Start a NATS server on this machine, to try a cluster
    #[command(after_help = "\
The server listens on 127.0.0.1 only. Its data, log, process id and the cluster key are in
DIR. It runs until `agentv cluster down`.

Exit codes: 0 it runs, 2 wrong input, 3 it cannot be started

Examples:
  agentv cluster up
  agentv cluster up --port 4333")]
    Up {
        /// Folder for its data
        #[arg(long, value_name = "DIR", default_value = ".agentv/cluster")]
        dir: PathBuf,
        /// Port on 127.0.0.1
        #[arg(long, value_name = "PORT", default_value_t = 4222)]
        port: u16,
    },
    /// Stop the server of `agentv cluster up`
    #[command(after_help = "Examples:\n  agentv cluster down")]
    Down {
        /// Folder of its data
        #[arg(long, value_name = "DIR", default_value = ".agentv/cluster")]
        dir: PathBuf,
    },
    /// Print a new random key for `AGENTV_CLUSTER_KEY`
    #[command(
        after_help = "Examples:\n  agentv cluster key > cluster.key\n  export AGENTV_CLUSTER_KEY=$(cat cluster.key)"
    )]
    Key,
}
