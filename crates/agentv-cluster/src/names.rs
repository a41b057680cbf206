//! What things are called on the server. All names begin with the prefix, so that several clusters can share a server.

use agentv_runtime::load::Labels;

/// The names of one cluster.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    prefix: String,
}

/// The jobs that any worker can do.
const ANY: &str = "any";

impl Names {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    fn of(&self, what: &str) -> String {
        format!("{}.{what}", self.prefix)
    }

    /// A stream or a bucket; dots are not allowed in these.
    pub(crate) fn store(&self, what: &str) -> String {
        format!("{}_{what}", self.prefix)
    }

    /// All jobs.
    pub(crate) fn jobs(&self) -> String {
        self.of("jobs.>")
    }

    /// The jobs for workers with these labels.
    pub(crate) fn jobs_for(&self, queue: &str) -> String {
        self.of(&format!("jobs.{queue}.>"))
    }

    /// The jobs of a run.
    pub(crate) fn jobs_of_run(&self, run: &str) -> String {
        self.of(&format!("jobs.*.{run}.*"))
    }

    pub(crate) fn job(&self, queue: &str, run: &str, token: &str) -> String {
        self.of(&format!("jobs.{queue}.{run}.{token}"))
    }

    /// The results of all runs.
    pub(crate) fn results(&self) -> String {
        self.of("results.>")
    }

    pub(crate) fn results_of_run(&self, run: &str) -> String {
        self.of(&format!("results.{run}"))
    }

    /// What is known of all runs.
    pub(crate) fn notices(&self) -> String {
        self.of("runs.*")
    }

    pub(crate) fn notice(&self, run: &str) -> String {
        self.of(&format!("runs.{run}"))
    }

    /// What workers say while they work on a run.
    pub(crate) fn updates(&self, run: &str) -> String {
        self.of(&format!("updates.{run}"))
    }

    /// Where the coordinator of a run answers questions about budget, rates and known answers.
    pub(crate) fn services(&self, run: &str) -> String {
        self.of(&format!("services.{run}"))
    }

    /// Orders for all members.
    pub(crate) fn control(&self) -> String {
        self.of("control")
    }

    /// How the members are.
    pub(crate) fn reports(&self) -> String {
        self.of("reports")
    }
}

/// The name of the queue for work that needs these labels.
pub(crate) fn queue_of(needs: &Labels) -> String {
    if needs.is_empty() {
        return ANY.to_owned();
    }
    needs.iter().map(String::as_str).collect::<Vec<_>>().join("+")
}

/// The labels that a queue is for.
pub(crate) fn needs_of(queue: &str) -> Labels {
    if queue == ANY {
        return Labels::new();
    }
    queue.split('+').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_says_what_it_needs() {
        for labels in [&[][..], &["gpu"], &["docker", "gpu"]] {
            let needs: Labels = labels.iter().map(|label| (*label).to_owned()).collect();
            assert_eq!(needs_of(&queue_of(&needs)), needs);
        }
    }
}
