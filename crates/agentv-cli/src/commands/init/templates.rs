//! The suites that `agentv init` can start a project with.

use crate::setup_args::TemplateName;

/// A suite that runs on its own mock at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct SuiteTemplate {
    pub name: TemplateName,
    /// Where the suite is written.
    pub suite_path: &'static str,
    pub suite: &'static str,
    /// Where its targets are written in a project that has others.
    pub targets_path: &'static str,
    /// The mock that answers its cases: an entry of `targets.yaml` without its name.
    pub mock: &'static str,
    /// More entries: the user's own target, as a comment, and the judge.
    pub targets: &'static str,
    /// The judge among them.
    pub judge: Option<&'static str>,
}

macro_rules! template {
    ($name:ident, $folder:literal, $targets:expr, $judge:expr) => {
        SuiteTemplate {
            name: TemplateName::$name,
            suite_path: concat!("evals/", $folder, ".eval.yaml"),
            targets_path: concat!(".agentv/", $folder, ".targets.yaml"),
            suite: include_str!(concat!("templates/", $folder, "/suite.eval.yaml")),
            mock: include_str!(concat!("templates/", $folder, "/mock.yaml")),
            targets: $targets,
            judge: $judge,
        }
    };
    ($name:ident, $folder:literal, $judge:expr) => {
        template!(
            $name,
            $folder,
            include_str!(concat!("templates/", $folder, "/targets.yaml")),
            $judge
        )
    };
}

/// All templates; the first is the one for those who choose none.
pub(super) const TEMPLATES: [SuiteTemplate; 6] = [
    template!(HelpDesk, "help-desk", "", None),
    template!(Rag, "rag", Some("judge")),
    template!(CodingAgent, "coding-agent", None),
    template!(Support, "support", Some("judge")),
    template!(Extraction, "extraction", None),
    template!(Classification, "classification", None),
];

impl SuiteTemplate {
    pub(super) fn of(name: Option<TemplateName>) -> Self {
        let named = TEMPLATES.into_iter().find(|template| Some(template.name) == name);
        named.unwrap_or(TEMPLATES[0])
    }
}

/// What marks a line that the user is to change; what to change follows.
const MARK: &str = "# CHANGE: ";

/// The lines of a file that the user is to change: their numbers, from 1, and what to change there.
pub(super) fn lines_to_change(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).filter_map(|(number, line)| Some((number, line.split_once(MARK)?.1)))
}
