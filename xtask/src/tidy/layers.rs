//! Who may know whom: an allow-list of edges between crates, and between the modules of `agentv-runtime`.

use super::{Finding, code};
use crate::repository::{Package, SourceFile};

/// A crate, what it may ship with, and what its tests may use besides. Nobody may depend on the CLI but
/// xtask, which writes down what its command line is, and the fuzzing of its reports.
const CRATES: &[(&str, &[&str], &[&str])] = &[
    ("agentv-wire", &[], &[]),
    ("agentv-core", &["agentv-wire"], &[]),
    ("agentv-runtime", &["agentv-core", "agentv-wire"], &["agentv-test-support"]),
    ("agentv-cluster", &["agentv-runtime", "agentv-core", "agentv-wire"], &[]),
    (
        "agentv-cli",
        &["agentv-cluster", "agentv-runtime", "agentv-core", "agentv-wire"],
        &["agentv-test-support"],
    ),
    ("agentv-test-support", &["agentv-wire"], &[]),
    ("agentv-fuzz", &["agentv-cli", "agentv-runtime", "agentv-core", "agentv-wire"], &[]),
    (
        "xtask",
        &["agentv-cli", "agentv-runtime", "agentv-core", "agentv-wire"],
        &["agentv-test-support"],
    ),
];

/// What may be known of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    /// All of it.
    Whole,
    /// The registry and the traits, but no plug-in.
    Registry,
}

use Sight::{Registry, Whole};

/// A module of the runtime and what it may know of others. A module that is not here is a leaf: everybody may know it,
/// and it knows only leaves that are not here either. The leaves that are here know nobody, but for one value.
const MODULES: &[(&str, &[(&str, Sight)])] = &[
    ("config", &[]),
    ("http", &[]),
    // To look programs up on the `PATH` of a given environment.
    ("process", &[("config", Whole)]),
    ("workspace", &[("config", Whole), ("process", Whole)]),
    ("cache", &[]),
    ("cassette", &[("cache", Whole)]),
    ("providers", &[("config", Whole), ("http", Whole), ("process", Whole), ("workspace", Whole)]),
    (
        "evaluators",
        &[
            ("config", Whole),
            ("http", Whole),
            ("process", Whole),
            ("workspace", Whole),
            ("providers", Registry),
        ],
    ),
    (
        "load",
        &[
            ("config", Whole),
            ("process", Whole),
            ("workspace", Whole),
            ("providers", Registry),
            ("evaluators", Registry),
        ],
    ),
    (
        "targets",
        &[
            ("config", Whole),
            ("process", Whole),
            ("providers", Whole),
            ("load", Whole),
            ("cache", Whole),
            ("cassette", Whole),
        ],
    ),
    // Sessions are read by the providers' readers and replayed by a provider.
    ("import", &[("providers", Whole)]),
    ("convert", &[("config", Whole), ("load", Whole), ("results_io", Whole)]),
    ("generate", &[("load", Whole), ("evaluators", Registry)]),
    ("writers", &[("config", Whole)]),
    ("results_io", &[("load", Whole), ("writers", Whole), ("run_dir", Whole)]),
    ("run_dir", &[]),
    (
        "run",
        &[
            ("config", Whole),
            ("http", Whole),
            ("process", Whole),
            ("workspace", Whole),
            ("cache", Whole),
            ("providers", Whole),
            ("evaluators", Whole),
            ("targets", Whole),
            ("load", Whole),
            ("writers", Whole),
            ("run_dir", Whole),
            ("results_io", Whole),
        ],
    ),
    (
        "session",
        &[
            ("config", Whole),
            ("run", Whole),
            ("cassette", Whole),
            ("process", Whole),
            ("workspace", Whole),
            ("cache", Whole),
            ("providers", Whole),
            ("evaluators", Whole),
            ("targets", Whole),
            ("load", Whole),
            ("writers", Whole),
            ("run_dir", Whole),
            ("results_io", Whole),
        ],
    ),
];

/// Modules with plug-ins in them, which do not know each other.
const REGISTRIES: &[&str] = &["providers", "evaluators"];
/// What plug-ins of a registry share.
const SHARED: &[&str] = &["agent_cli", "chat"];
const RUNTIME: &str = "crates/agentv-runtime/src/";

pub(super) fn between_crates(packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let folder = if package.name == "xtask" { "" } else { "crates/" };
        let mut found = |message| {
            let path = format!("{folder}{}/Cargo.toml", package.name);
            findings.push(Finding { path, line: 1, message });
        };
        let Some((_, shipped, tests)) = CRATES.iter().find(|(name, ..)| *name == package.name)
        else {
            found("this crate has no line in the table of layers in xtask".to_owned());
            continue;
        };
        for dependency in package.dependencies.iter().filter(|one| one.path.is_some()) {
            let name = dependency.name.as_str();
            let in_tests = dependency.kind.as_deref() == Some("dev") && tests.contains(&name);
            if !shipped.contains(&name) && !in_tests {
                found(format!("{} may not depend on {name}", package.name));
            }
        }
    }
    findings
}

pub(super) fn inside_runtime(files: &[SourceFile]) -> Vec<Finding> {
    let plug_ins = plug_ins(files);
    let mut findings = Vec::new();
    for file in files {
        let Some(module) = module_of(&file.path) else { continue };
        let source = code::only(code::without_tests(&file.text));
        for (line, known) in paths(&source, &module) {
            if let Some(message) = refusal(&module, &known, &plug_ins) {
                findings.push(Finding::new(file, line, message));
            }
        }
    }
    findings.dedup();
    findings
}

/// `src/providers/cli/parse.rs` is `providers::cli::parse`. Tests may know whom they like, and the root knows all.
fn module_of(path: &str) -> Option<Vec<&str>> {
    let inside = path.strip_prefix(RUNTIME)?.strip_suffix(".rs")?;
    let mut module: Vec<&str> = inside.split('/').collect();
    if module.last() == Some(&"mod") {
        module.pop();
    }
    let excluded = module == ["lib"] || module.last() == Some(&"tests");
    (!excluded).then_some(module)
}

/// Every `registry::plug_in` that has a folder. A file beside the folders is what plug-ins share.
fn plug_ins(files: &[SourceFile]) -> Vec<[&str; 2]> {
    let inside = files.iter().filter_map(|file| file.path.strip_prefix(RUNTIME));
    let mut plug_ins: Vec<[&str; 2]> = inside
        .filter_map(|path| match path.split('/').collect::<Vec<_>>()[..] {
            [registry, plug_in, _, ..] if REGISTRIES.contains(&registry) => {
                Some([registry, plug_in])
            }
            _ => None,
        })
        .collect();
    plug_ins.dedup();
    plug_ins
}

/// Why this module may not know that path, if it may not.
fn refusal(module: &[&str], known: &[String], plug_ins: &[[&str; 2]]) -> Option<String> {
    let from = *module.first()?;
    let to = known.first()?.as_str();
    let inner = known.get(1).map(String::as_str).filter(|inner| plug_ins.contains(&[to, inner]));
    let listed = |name: &str| MODULES.iter().find(|(module, _)| *module == name);
    if from == to {
        let own = *module.get(1)?;
        let other = inner.filter(|inner| *inner != own && !SHARED.contains(inner))?;
        let apart = plug_ins.contains(&[from, own]);
        return apart.then(|| format!("`{from}::{own}` may not know `{to}::{other}`"));
    }
    // Not a module of ours that has rules: an item of the root, or a leaf.
    listed(to)?;
    let Some((_, allowed)) = listed(from) else {
        return Some(format!(
            "`{from}` may not know `{to}`; if it should, give it a line in the table of layers in xtask"
        ));
    };
    match (allowed.iter().find(|(name, _)| *name == to), inner) {
        (None, _) => Some(format!("`{from}` may not know `{to}`")),
        (Some((_, Registry)), Some(inner)) => {
            Some(format!("`{from}` may know the registry `{to}`, but not `{to}::{inner}`"))
        }
        _ => None,
    }
}

/// Every path into the crate, from its root, with its line. `use` trees are followed into their branches.
fn paths(code: &str, module: &[&str]) -> Vec<(usize, Vec<String>)> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        let before = &code[..at];
        // `$crate::` is a macro's, and `x_crate::` is another word.
        let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | ':');
        if before.ends_with(inside) {
            continue;
        }
        let mut start: Vec<String> = Vec::new();
        let mut rest = &code[at..];
        if let Some(after) = rest.strip_prefix("crate::") {
            rest = after;
        } else {
            start = module.iter().map(|&name| name.to_owned()).collect();
            while let Some(after) = rest.strip_prefix("super::") {
                start.pop();
                rest = after;
            }
        }
        let line = before.matches('\n').count() + 1;
        follow(rest, &start, &mut |path| paths.push((line, path)));
    }
    paths
}

/// Reads one `use` tree and gives each path in it; what is left behind it is returned.
fn follow<'t>(tree: &'t str, start: &[String], found: &mut impl FnMut(Vec<String>)) -> &'t str {
    let tree = tree.trim_start();
    let mut path = start.to_vec();
    if let Some(mut rest) = tree.strip_prefix('{') {
        loop {
            rest = rest.trim_start().trim_start_matches(',').trim_start();
            if let Some(after) = rest.strip_prefix('}') {
                return after;
            }
            let after = follow(rest, &path, found);
            // Not a tree after all.
            if after.len() == rest.len() {
                return rest;
            }
            rest = after;
        }
    }
    let end = tree.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '*'));
    let (word, rest) = tree.split_at(end.unwrap_or(tree.len()));
    if word.is_empty() {
        return tree;
    }
    path.push(word.to_owned());
    if let Some(branch) = rest.strip_prefix("::") {
        return follow(branch, &path, found);
    }
    found(path);
    without_rename(rest)
}

/// Behind ` as Name`.
fn without_rename(rest: &str) -> &str {
    let Some(name) = rest.trim_start().strip_prefix("as ") else { return rest };
    let name = name.trim_start();
    let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    &name[end.unwrap_or(name.len())..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::Dependency;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[&str]) {
        let plug_in = |name: &str| SourceFile {
            path: format!("{RUNTIME}{name}/mod.rs"),
            text: String::new(),
        };
        let names = ["providers/mock", "providers/cli", "providers/chat", "evaluators/cost"];
        let mut files: Vec<SourceFile> = names.into_iter().map(plug_in).collect();
        files.push(SourceFile { path: format!("{RUNTIME}{path}"), text: text.to_owned() });
        let found = inside_runtime(&files);
        let messages: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(messages, expected);
    }

    #[test]
    fn leaves_know_nobody() {
        check(
            "config/node.rs",
            "use crate::process::Command;",
            &["`config` may not know `process`"],
        );
        check("config/node.rs", "use super::{Entry, note::Note};\nuse crate::glob::Glob;", &[]);
        check("http/mod.rs", "fn f() { crate::run::go() }", &["`http` may not know `run`"]);
    }

    #[test]
    fn a_module_without_a_line_knows_nobody_with_one() {
        check("glob.rs", "use crate::text::Text;", &[]);
        let message = "`glob` may not know `load`; if it should, give it a line in the table of layers in xtask";
        check("glob.rs", "use crate::load::Suite;", &[message]);
    }

    #[test]
    fn providers_do_not_know_what_comes_after_them() {
        let source = "use crate::{config::{Fields, Node}, load::x as y, targets};";
        let expected = ["`providers` may not know `load`", "`providers` may not know `targets`"];
        check("providers/mod.rs", source, &expected);
    }

    #[test]
    fn plug_ins_do_not_know_each_other() {
        let expected = ["`providers::cli` may not know `providers::mock`"];
        check("providers/cli/mod.rs", "use super::mock::Mock;", &expected);
        check("providers/cli/parse.rs", "use super::super::mock::Mock;", &expected);
        check("providers/cli/parse.rs", "use crate::providers::mock::Mock;", &expected);
        check("providers/cli/parse.rs", "use crate::providers::chat::say;", &[]);
        check("providers/cli/mod.rs", "use super::{Deps, FromSettings};", &[]);
        check("providers/mod.rs", "use self::mock::Mock; const X: Y = of::<mock::Mock>();", &[]);
    }

    #[test]
    fn registries_are_known_without_their_plug_ins() {
        check("load/suite/case.rs", "use crate::providers::ProviderKind;", &[]);
        let expected = ["`load` may know the registry `providers`, but not `providers::mock`"];
        check("load/suite/case.rs", "use crate::providers::mock::Mock;", &expected);
        let expected = ["`evaluators` may know the registry `providers`, but not `providers::cli`"];
        check("evaluators/cost/mod.rs", "use crate::providers::cli::Cli;", &expected);
    }

    #[test]
    fn tests_comments_and_the_root_are_free() {
        check(
            "config/mod.rs",
            "//! See crate::run::go.\n#[cfg(test)]\nmod tests { use crate::run::go; }",
            &[],
        );
        check("providers/mock/tests.rs", "use crate::run::go;", &[]);
        check("lib.rs", "use crate::run::go;", &[]);
    }

    #[test]
    fn the_line_is_that_of_the_path() {
        let path = format!("{RUNTIME}process/mod.rs");
        let text = "//! Runs.\n\nuse crate::load::Suite;\n".to_owned();
        let found = inside_runtime(&[SourceFile { path, text }]);
        assert_eq!(
            found[0].to_string(),
            format!("{RUNTIME}process/mod.rs:3: {}", found[0].message)
        );
    }

    #[track_caller]
    fn check_crate(name: &str, on: &str, kind: Option<&str>, expected: usize) {
        let (name, path) = (name.to_owned(), Some(on.into()));
        let dependency =
            Dependency { name: on.to_owned(), kind: kind.map(ToOwned::to_owned), path };
        let found = between_crates(&[Package { name, dependencies: vec![dependency] }]);
        assert_eq!(found.len(), expected, "{found:?}");
    }

    #[test]
    fn crates_point_one_way() {
        check_crate("agentv-core", "agentv-wire", None, 0);
        check_crate("agentv-core", "agentv-runtime", None, 1);
        check_crate("xtask", "agentv-cli", None, 0);
        check_crate("agentv-runtime", "agentv-cli", None, 1);
        check_crate("agentv-cli", "agentv-test-support", Some("dev"), 0);
        check_crate("agentv-cli", "agentv-test-support", None, 1);
        check_crate("agentv-unheard-of", "agentv-wire", None, 1);
    }
}
