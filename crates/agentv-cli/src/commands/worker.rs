//! `agentv worker`: this machine takes part in runs of a cluster.

use super::cluster::{connect, refuse_cluster};
use crate::cluster_args::WorkerArgs;
use crate::format;
use crate::settings::Environment;
use crate::terminal;
use agentv_cluster::{Worker, WorkerEvent, WorkerOrder};
use agentv_runtime::load::{Labels, is_label};
use agentv_runtime::parallel::cores;
use agentv_runtime::process::Processes;
use agentv_wire::Exit;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use tokio::sync::mpsc;

pub(crate) fn run(args: &WorkerArgs, environment: &Environment) -> Exit {
    let order = match order(args, environment) {
        Ok(order) => order,
        Err(exit) => return exit,
    };
    let runtime = match super::runtime() {
        Ok(runtime) => runtime,
        Err(exit) => return exit,
    };
    runtime.block_on(async {
        let link = match Box::pin(connect(&args.address, "worker", environment)).await {
            Ok(link) => link,
            Err(exit) => return exit,
        };
        // Lines are printed by this task alone; unbounded, as who works must not wait.
        let (events, mut lines) = mpsc::unbounded_channel();
        let observer = Box::new(move |event| drop(events.send(event)));
        let worker = match Worker::open(link, order.clone(), observer).await {
            Ok(worker) => worker,
            Err(error) => return refuse_cluster(&error),
        };
        let mut screen = environment.screen();
        screen.line(greeting(&order, environment));
        screen.show();
        let working = worker.run();
        tokio::pin!(working);
        let ended = loop {
            tokio::select! {
                ended = &mut working => break ended,
                Some(event) = lines.recv() => {
                    if let Some(line) = line(&event, args.verbose) {
                        screen.line(line);
                        screen.show();
                    }
                }
            }
        };
        match ended {
            Ok(()) => Exit::Success,
            Err(error) => refuse_cluster(&error),
        }
    })
}

fn order(args: &WorkerArgs, environment: &Environment) -> Result<WorkerOrder, Exit> {
    if let Some(wrong) = args.labels.iter().find(|label| !is_label(label)) {
        let help = "labels have up to 32 lowercase letters, digits, `-` and `_`";
        return Err(terminal::fail(&format!("`{wrong}` cannot be a label"), Some(help)));
    }
    let processes = Processes::new("worker".to_owned());
    let loader = environment.loader(&processes);
    let targets_file = loader.find_targets(&environment.working_dir, args.targets.as_deref());
    let targets_file = targets_file.map_err(|problem| {
        let help = "write a `targets.yaml` here, or name one with `--targets`";
        terminal::fail(&problem, Some(help))
    })?;
    let cache_dir =
        match (&args.cache_dir, environment.env.get("XDG_CACHE_HOME"), environment.env.get("HOME"))
        {
            (Some(dir), _, _) => environment.working_dir.join(dir),
            (None, Some(cache), _) if !cache.is_empty() => {
                PathBuf::from(cache).join("agentv/worker")
            }
            (None, _, Some(home)) => PathBuf::from(home).join(".cache/agentv/worker"),
            _ => environment.project_root.join(".agentv/worker"),
        };
    let slots = args.workers.map_or_else(cores, usize::from);
    Ok(WorkerOrder {
        name: args.name.clone().unwrap_or_else(|| super::cluster::member_name(environment)),
        slots: NonZeroUsize::new(slots).unwrap_or(NonZeroUsize::MIN),
        labels: args.labels.iter().cloned().collect::<Labels>(),
        environment: environment.session.clone(),
        targets_file,
        cache_dir,
        cache_limit: args.cache_mb.saturating_mul(1 << 20),
    })
}

fn greeting(order: &WorkerOrder, environment: &Environment) -> String {
    let slots = format::count(order.slots.get(), "case", "cases");
    let mut labels = order.labels.iter().map(String::as_str).collect::<Vec<_>>().join(",");
    if !labels.is_empty() {
        labels = format!(", labels {labels}");
    }
    format!(
        "Worker {} is ready: {slots} at a time{labels}, targets of {}. Ctrl-C drains it.",
        order.name,
        environment.shown(&order.targets_file)
    )
}

fn line(event: &WorkerEvent, is_verbose: bool) -> Option<String> {
    Some(match event {
        WorkerEvent::Joined { run } => format!("Run {run}: first case here"),
        WorkerEvent::Finished { case, outcome } if is_verbose => format!("{outcome:<8} {case}"),
        WorkerEvent::Finished { .. } => return None,
        WorkerEvent::Refused { reason } => format!("Refused: {reason}"),
        WorkerEvent::Draining { busy: 0 } => "Draining: nothing is running".to_owned(),
        WorkerEvent::Draining { busy } => {
            let cases = format::count(*busy, "case finishes", "cases finish");
            format!("Draining: {cases}; press Ctrl-C again to stop and hand them on")
        }
        WorkerEvent::Warning(text) => format!("Warning: {text}"),
    })
}
