//! `agentv doctor`: what will not work, found before a run does, each with the one thing that fixes it.

mod children;
mod files;
mod finding;
mod needs;

pub(crate) use children::{Access, ChildSecrets};
pub(crate) use finding::{Area, Finding, FindingState};

use crate::args::ReportFormat;
use crate::settings::{self, Environment};
use crate::setup_args::DoctorArgs;
use crate::terminal::{self, Screen, show_children, show_findings};
use agentv_runtime::load::DiscoverError;
use agentv_runtime::process::{Processes, sandbox};
use agentv_wire::{Exit, number};
use files::{FileCheck, UsedByCases};
use needs::Telling;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// Who looks.
struct Doctor<'a> {
    environment: &'a Environment,
    processes: Arc<Processes>,
    is_offline: bool,
}

pub(crate) fn run(args: &DoctorArgs, environment: &Environment) -> Exit {
    let suites = match settings::files(&args.paths, environment) {
        Ok((suites, _)) => suites,
        // That nothing is here yet is something to be told, not a mistake.
        Err(DiscoverError::NoSuites) => Vec::new(),
        Err(error) => return terminal::fail(&error.to_string(), Some(&error.help())),
    };
    let processes = Processes::new(format!("doctor-{}", std::process::id()));
    let doctor =
        Doctor { environment, processes: Arc::clone(&processes), is_offline: args.offline };
    if args.env {
        return doctor.show_children(&suites, args);
    }
    let findings = match super::work(&processes, doctor.examine(&suites, args)) {
        Ok(findings) => findings,
        Err(exit) => return exit,
    };
    show(&findings, args.format, &mut environment.screen());
    if findings.iter().any(|finding| finding.state == FindingState::Problem) {
        Exit::Gate
    } else {
        Exit::Success
    }
}

impl Doctor<'_> {
    fn look(
        &self,
        suites: &[PathBuf],
        args: &DoctorArgs,
        findings: &mut Vec<Finding>,
    ) -> UsedByCases {
        let files = FileCheck {
            loader: &self.environment.loader(&self.processes),
            environment: self.environment,
            given_targets: args.targets.as_deref(),
            lists_children: args.env,
        };
        files.look(suites, findings)
    }

    /// Shows who gets which secrets. What is wrong with the files is shown before.
    fn show_children(&self, suites: &[PathBuf], args: &DoctorArgs) -> Exit {
        let mut findings = Vec::new();
        let UsedByCases { targets, children, .. } = self.look(suites, args, &mut findings);
        let of_targets = targets.iter().flat_map(|targets| self.children_of_targets(targets));
        let children: Vec<ChildSecrets> = of_targets.chain(children).collect();
        findings.retain(|finding| finding.state == FindingState::Problem);
        let mut screen = self.environment.screen();
        if args.format == ReportFormat::Text {
            if !findings.is_empty() {
                show_findings(&findings, &mut screen);
                screen.line(String::new());
            }
            show_children(&children, &mut screen);
        } else {
            let all = json!({ "children": children, "findings": findings });
            screen.data(&number::to_string_pretty(&all).unwrap_or_default());
        }
        if findings.is_empty() { Exit::Success } else { Exit::Gate }
    }

    async fn examine(&self, suites: &[PathBuf], args: &DoctorArgs) -> Vec<Finding> {
        let mut findings = Vec::new();
        let asked = self.look(suites, args, &mut findings);
        let redactor = asked.secrets.redactor();
        self.processes.redact_with(&redactor);
        let UsedByCases { targets, programs, .. } = asked;
        let telling = if targets.len() > 1 { Telling::WithFile } else { Telling::ByName };
        for targets in &targets {
            findings.extend(self.targets(targets, telling).await);
        }
        findings.extend(self.judges(&programs).await);
        findings.push(self.git().await);
        findings.push(self.run_folder());
        findings.push(Finding::good(Area::Machine, "sandbox", sandbox::summary()));
        findings.sort_by_key(|finding| finding.area);
        for finding in &mut findings {
            finding.mask(&redactor);
        }
        findings
    }
}

fn show(findings: &[Finding], format: ReportFormat, screen: &mut Screen) {
    if format == ReportFormat::Text {
        show_findings(findings, screen);
        return;
    }
    let of = |state| findings.iter().filter(|finding| finding.state == state).count();
    let summary = json!({
        "good": of(FindingState::Good),
        "warnings": of(FindingState::Warning),
        "problems": of(FindingState::Problem),
    });
    let all = json!({ "findings": findings, "summary": summary });
    screen.data(&number::to_string_pretty(&all).unwrap_or_default());
}
