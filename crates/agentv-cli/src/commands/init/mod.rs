//! `agentv init`: a project that runs at once, made of what this machine has.

mod files;
mod offers;
mod templates;

use crate::format::count;
use crate::settings::Environment;
use crate::setup_args::{InitArgs, TemplateName};
use crate::terminal::{self, Asker, FileStep, NoAnswer};
use agentv_runtime::file_input;
use agentv_runtime::load::{suites_below, targets_in};
use agentv_wire::Exit;
use offers::{Offer, offers};
use std::io;
use std::path::{Path, PathBuf};
use templates::{SuiteTemplate, TEMPLATES};

/// What was decided.
#[derive(Debug)]
struct Choice {
    targets: Vec<Offer>,
    /// Which of them runs if no target is named; `None` is the mock.
    default: Option<usize>,
    workflow: bool,
    template: SuiteTemplate,
    /// Whether the template's suite is written.
    suite: bool,
    /// Where its mock is, if the project has targets of its own.
    own_targets: Option<String>,
}

/// Something to be done to a file.
#[derive(Debug)]
struct Write {
    /// From the directory.
    path: String,
    text: String,
    act: Act,
}

/// Why a file of the user's stays.
const EXISTS: &str = "already exists";

#[derive(Debug, PartialEq, Eq)]
enum Act {
    Create,
    Replace,
    /// This many lines are added at its end.
    Extend(usize),
    /// It stays, for this reason.
    Keep(&'static str),
}

pub(crate) fn run(args: &InitArgs, environment: &Environment) -> Exit {
    let dir = environment.working_dir.join(args.dir());
    let is_in_ci = environment.env.get("CI").is_some_and(|ci| !ci.is_empty() && ci != "false");
    let asker = if args.yes || is_in_ci { None } else { Asker::new() };
    // With a template, all other questions have answers that fit most users.
    if !args.yes && args.template.is_none() && asker.is_none() {
        let help = "use `agentv init --yes`, which takes the defaults";
        return terminal::fail("`agentv init` asks questions and needs a terminal", Some(help));
    }
    if dir.exists() && !dir.is_dir() {
        let message = format!("`{}` is not a directory", args.dir().display());
        return terminal::fail(&message, Some("name a directory, or none for the current one"));
    }
    let planned = plan(&dir, args.template, asker.as_ref(), environment);
    let (choice, writes) = match planned {
        Ok(planned) => planned,
        Err(NoAnswer::Interrupted) => {
            terminal::complain("interrupted; nothing was written", None);
            return Exit::Interrupted;
        }
        Err(NoAnswer::Failed(error)) => {
            return terminal::fail(&format!("cannot read the answer: {error}"), None);
        }
    };
    let mut screen = environment.screen();
    if asker.is_some() {
        // Apart from the questions.
        screen.line("");
    }
    for write in &writes {
        if let Err(error) = carry_out(write, &dir) {
            screen.show();
            terminal::complain(&format!("cannot write `{}`: {error}", write.path), None);
            return Exit::Incomplete;
        }
        terminal::init_step(&step(write), &write.path, &mut screen);
    }
    terminal::init_changes(&lines_to_change(&writes), &mut screen);
    terminal::init_next(&next(&choice, args), &mut screen);
    Exit::Success
}

/// Looks around, asks, and decides. Nothing is written before everything is known.
fn plan(
    dir: &Path,
    template: Option<TemplateName>,
    asker: Option<&Asker>,
    environment: &Environment,
) -> Result<(Choice, Vec<Write>), NoAnswer> {
    let offers = offers(&environment.env, &environment.working_dir);
    terminal::init_found(
        &offers.iter().map(|offer| (offer.starter.name, offer.why())).collect::<Vec<_>>(),
        &mut environment.screen(),
    );
    let has_suites = !suites_below(dir, dir).suites.is_empty();
    let mut choice = match asker {
        Some(asker) => ask(asker, &offers, template, has_suites)?,
        None => Choice {
            targets: offers,
            default: None,
            workflow: true,
            template: SuiteTemplate::of(template),
            suite: template.is_some() || !has_suites,
            own_targets: None,
        },
    };
    let mut writes = Vec::new();
    for (path, text) in contents(&choice, dir) {
        let act = act(&path, &text, dir, asker)?;
        writes.push(Write { path, text, act });
    }
    if needs_own_targets(&choice, &writes, dir) {
        let path = choice.template.targets_path.to_owned();
        let text = files::targets(&choice.template, &[], None);
        let act = act(&path, &text, dir, asker)?;
        writes.push(Write { path: path.clone(), text, act });
        choice.own_targets = Some(path);
    }
    writes.push(gitignore(dir));
    Ok((choice, writes))
}

fn ask(
    asker: &Asker,
    offers: &[Offer],
    template: Option<TemplateName>,
    has_suites: bool,
) -> Result<Choice, NoAnswer> {
    let mut targets = Vec::new();
    if !offers.is_empty() {
        let items: Vec<String> = offers.iter().map(|offer| offer.starter.name.to_owned()).collect();
        let chosen = asker
            .which("Which of these become targets? (Space toggles, Enter confirms)", &items)?;
        targets = chosen.into_iter().map(|index| offers[index]).collect();
    }
    let mut default = None;
    if !targets.is_empty() {
        let mut items = vec!["mock: fixed answers, free of charge".to_owned()];
        items.extend(targets.iter().map(|offer| offer.starter.name.to_owned()));
        default = asker.one("Default target?", &items)?.checked_sub(1);
    }
    let suite = template.is_some()
        || !has_suites
        || asker.confirm("There are suites here already. Write a sample as well?", false)?;
    let template = match template {
        None if suite => {
            let items: Vec<String> =
                TEMPLATES.iter().map(|template| template.name.described()).collect();
            TEMPLATES[asker.one("Which template?", &items)?]
        }
        chosen => SuiteTemplate::of(chosen),
    };
    let workflow = asker.confirm("Write a GitHub workflow that runs the evals?", true)?;
    Ok(Choice { targets, default, workflow, template, suite, own_targets: None })
}

/// Whether a new suite lacks its mock, since the project keeps the targets that it has.
fn needs_own_targets(choice: &Choice, writes: &[Write], dir: &Path) -> bool {
    let targets = targets_in(dir);
    let is_new = |write: &&Write| matches!(write.act, Act::Create | Act::Replace);
    let is_kept =
        |write: &Write| write.act == Act::Keep(EXISTS) && Some(dir.join(&write.path)) == targets;
    let has_new_suite =
        writes.iter().filter(is_new).any(|write| write.path == choice.template.suite_path);
    has_new_suite && writes.iter().any(is_kept)
}

/// Every file that is wanted, in the order in which a reader should meet them.
fn contents(choice: &Choice, dir: &Path) -> Vec<(String, String)> {
    let mut contents = Vec::new();
    let mut add = |path: &str, text: String| contents.push((path.to_owned(), text));
    if choice.suite {
        add(choice.template.suite_path, choice.template.suite.to_owned());
    }
    // One that is there under another name would go before ours.
    let targets =
        targets_in(dir).and_then(|path| Some(path.strip_prefix(dir).ok()?.display().to_string()));
    add(
        targets.as_deref().unwrap_or(files::TARGETS),
        files::targets(&choice.template, &choice.targets, choice.default),
    );
    for (kind, path) in files::SCHEMAS {
        add(path, files::schema_text(kind).to_owned());
    }
    add(files::ENV_EXAMPLE, files::env_example());
    if choice.workflow {
        add(files::WORKFLOW, files::workflow(&choice.targets));
    }
    contents
}

/// An existing file stays, unless the user agrees to replace it.
fn act(path: &str, text: &str, dir: &Path, asker: Option<&Asker>) -> Result<Act, NoAnswer> {
    let full = dir.join(path);
    if !full.exists() {
        return Ok(Act::Create);
    }
    if file_input::read(&full).is_ok_and(|there| there == text.as_bytes()) {
        return Ok(Act::Keep("up to date"));
    }
    let replaces = match asker {
        Some(asker) => asker.confirm(&format!("`{path}` exists. Replace it?"), false)?,
        None => false,
    };
    Ok(if replaces { Act::Replace } else { Act::Keep(EXISTS) })
}

fn gitignore(dir: &Path) -> Write {
    let path = files::GITIGNORE.to_owned();
    let there = file_input::read_to_string(&dir.join(&path));
    let (text, lines) = files::gitignore(there.as_deref().unwrap_or_default());
    let act = match (there, lines) {
        (Err(error), _) if error.kind() == io::ErrorKind::NotFound => Act::Create,
        // Not text, or not ours to read: then not ours to write either.
        (Err(_), _) => Act::Keep("cannot be read"),
        (Ok(_), 0) => Act::Keep("up to date"),
        (Ok(_), lines) => Act::Extend(lines),
    };
    Write { path, text, act }
}

fn carry_out(write: &Write, dir: &Path) -> io::Result<()> {
    if matches!(write.act, Act::Keep(_)) {
        return Ok(());
    }
    let path = dir.join(&write.path);
    let parent = path.parent().map(PathBuf::from).unwrap_or_default();
    std::fs::create_dir_all(parent)?;
    std::fs::write(path, &write.text)
}

fn step(write: &Write) -> FileStep {
    match &write.act {
        Act::Create => FileStep::Done("wrote", String::new()),
        Act::Replace => FileStep::Done("replaced", String::new()),
        Act::Extend(lines) => FileStep::Done("extended", count(*lines, "line", "lines")),
        Act::Keep(why) => FileStep::Left((*why).to_owned()),
    }
}

/// The lines to change in the files that were written, with what to change.
fn lines_to_change(writes: &[Write]) -> Vec<(String, String)> {
    let written = writes.iter().filter(|write| matches!(write.act, Act::Create | Act::Replace));
    let lines = written.flat_map(|write| {
        templates::lines_to_change(&write.text)
            .map(|(line, what)| (format!("{}:{line}", write.path), what.to_owned()))
    });
    lines.collect()
}

/// What to do now, with what it does.
fn next(choice: &Choice, args: &InitArgs) -> Vec<(String, String)> {
    let mut next = Vec::new();
    if args.dir() != Path::new(".") {
        next.push((format!("cd {}", args.dir().display()), "go to the new directory".to_owned()));
    }
    if let Some(targets) = &choice.own_targets {
        let suite = choice.template.suite_path;
        let command = format!("agentv eval {suite} --targets {targets}");
        next.push((command, "run it on its mock".to_owned()));
        next.push((format!("agentv eval {suite}"), "run it on your own targets".to_owned()));
        next.push(("agentv doctor".to_owned(), "check that everything is in place".to_owned()));
        return next;
    }
    let target = choice.default.map_or("the mock", |index| choice.targets[index].starter.name);
    next.push(("agentv eval".to_owned(), format!("run the suite on {target}")));
    let other = choice.targets.iter().enumerate().find(|(index, _)| choice.default != Some(*index));
    if let Some((_, offer)) = other {
        let name = offer.starter.name;
        next.push((format!("agentv eval --target {name}"), format!("run it on {name}")));
    }
    next.push(("agentv doctor".to_owned(), "check that everything is in place".to_owned()));
    next
}
