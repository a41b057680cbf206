//! A cluster as people see it.

use super::screen::Screen;
use agentv_cluster::ClusterStatus;

pub(crate) fn show_cluster(status: &ClusterStatus, screen: &mut Screen) {
    if status.workers.is_empty() {
        screen.line("No workers. Start one with `agentv worker --cluster URL`.");
    } else {
        let mut rows = vec![["WORKER", "BUSY", "DONE", "LABELS", "STATE"].map(str::to_owned)];
        for worker in &status.workers {
            let labels: Vec<&str> = worker.labels.iter().map(String::as_str).collect();
            let state = if worker.is_draining { "draining" } else { "ready" };
            let state = match worker.forged {
                0 => state.to_owned(),
                forged => format!("{state}, {forged} with a wrong signature refused"),
            };
            rows.push([
                worker.name.clone(),
                format!("{}/{}", worker.busy, worker.slots),
                worker.done.to_string(),
                if labels.is_empty() { "-".to_owned() } else { labels.join(",") },
                state,
            ]);
        }
        table(&rows, screen);
    }
    screen.line("");
    if status.runs.is_empty() {
        screen.line("No runs.");
    } else {
        let mut rows = vec![["RUN", "DONE", "HOST"].map(str::to_owned)];
        for run in &status.runs {
            rows.push([run.run.clone(), format!("{}/{}", run.done, run.total), run.host.clone()]);
        }
        table(&rows, screen);
    }
    for run in &status.abandoned_runs {
        screen.line(format!("{run} has no coordinator: resume it with `agentv eval --resume {run}`, or remove it with `agentv cluster cancel {run}`"));
    }
    screen.line("");
    let mut rows = vec![["QUEUE", "PENDING", "RUNNING", "REDELIVERED"].map(str::to_owned)];
    for queue in &status.queues {
        let needs: Vec<&str> = queue.needs.iter().map(String::as_str).collect();
        rows.push([
            if needs.is_empty() { "any worker".to_owned() } else { needs.join(",") },
            queue.pending.to_string(),
            queue.running.to_string(),
            queue.redelivered.to_string(),
        ]);
    }
    table(&rows, screen);
    screen.line("");
    screen.line(format!("{:.1} cases per second", status.cases_per_second));
}

fn table<const N: usize>(rows: &[[String; N]], screen: &mut Screen) {
    let widths: [usize; N] = std::array::from_fn(|column| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
    });
    for row in rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        screen.line(cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}
