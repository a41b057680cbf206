//! `agentv convert`: an eval file in another format.

use super::compare::fail;
use crate::args::ConvertArgs;
use crate::format::count;
use crate::settings::Environment;
use crate::terminal::{self, show_notes};
use agentv_runtime::convert::{Conversion, ConvertError, YamlShape, convert};
use agentv_runtime::load::Format;
use agentv_runtime::results_io::ResultsError;
use agentv_wire::Exit;
use std::error::Error;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &ConvertArgs, environment: &Environment) -> Exit {
    let here = &environment.working_dir;
    let (input, default_out) = match find(&args.input, environment) {
        Ok(found) => found,
        Err(error) => return fail(&error),
    };
    let out = args.out.as_ref().map_or(default_out, |out| here.join(out));
    let yaml = if args.suite { YamlShape::Suite } else { YamlShape::Documents };
    let conversion = Conversion { input, out, yaml, force: args.force };
    let converted = match convert(&conversion) {
        Ok(converted) => converted,
        Err(ConvertError::Faulty(report)) => {
            show_notes(&report, here);
            return terminal::fail("nothing was written", None);
        }
        Err(error) => return refuse(&error),
    };
    show_notes(&converted.report, here);
    converted.remarks.iter().for_each(|remark| terminal::warn(remark));
    let mut screen = environment.screen();
    let out = conversion.out.display();
    screen.line(format!("Converted {} to {out}", count(converted.records, "record", "records")));
    if let Some(settings) = converted.settings {
        screen.line(format!("Settings: {}", settings.display()));
    }
    Exit::Success
}

/// The file, or the results of a run by its name, and what they become. A run folder gets no files that its run did not make.
fn find(name: &Path, environment: &Environment) -> Result<(PathBuf, PathBuf), ResultsError> {
    let here = &environment.working_dir;
    let file = here.join(name);
    if file.is_file() || file.extension().is_some() {
        let out = file.with_extension("yaml");
        return Ok((file, out));
    }
    let run = environment.run_named(name, |_| true)?;
    let results = environment.results_of(&run)?;
    let id = run.file_name().unwrap_or_default().to_string_lossy();
    Ok((results, here.join(format!("{id}.yaml"))))
}

fn refuse(error: &ConvertError) -> Exit {
    let help = match error {
        ConvertError::Unknown(_) => format!("eval files end in {}", Format::ENDINGS),
        ConvertError::SameFormat { .. } => "name a file of another format with `--out`".to_owned(),
        ConvertError::Exists(_) => {
            "choose another `--out`, or replace it with `--force`".to_owned()
        }
        ConvertError::InTheWay(_) => "give the dataset another name with `--out`".to_owned(),
        ConvertError::Lossy { .. } => {
            "choose another format, or leave it out with `--force`".to_owned()
        }
        ConvertError::Faulty(_) | ConvertError::Records(_) => String::new(),
        ConvertError::Unwritable { .. } => {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            terminal::complain(&format!("{error}{cause}"), None);
            return Exit::Incomplete;
        }
    };
    terminal::fail(&error.to_string(), Some(help.as_str()).filter(|help| !help.is_empty()))
}
