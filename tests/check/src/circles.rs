//! No circle of imports inside a crate: where two modules need each other, what both need belongs below them. Read from the
//! files' own paths. What a module says to its own parts, and they to it, is no import.
//!
//! Why not by cargo-modules: `dependencies --acyclic` (0.27) takes a type and its own method for a circle, whatever is filtered out, and
//! minutes a crate, as it starts a language server for each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use template_testing::root;

/// Circles that stand. This one goes with `meaning`, which is being replaced.
const KNOWN: [&str; 1] = ["host_agent: meaning <-> rules::note <-> rules::transcript"];

/// A module by its path in the crate; the crate's root has none.
type Module = Vec<String>;
/// Which modules each module names.
type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// A file without its items behind `#[cfg(test)]`, wherever they stand: each goes to its end, which is a line that is not indented.
fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut is_test = false;
    for line in text.lines() {
        is_test = is_test || line == "#[cfg(test)]";
        if !is_test {
            kept.push_str(line);
            kept.push('\n');
        } else if line == "}" || (line.ends_with(';') && !line.starts_with(char::is_whitespace)) {
            is_test = false;
        }
    }
    kept
}

/// A module's text without comments, strings' insides and tests.
fn code(text: &str) -> String {
    let text = without_tests(text);
    let lines = text.lines().map(|line| match line.find("//") {
        Some(at) if !line[..at].ends_with(':') => &line[..at],
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The modules below a folder with their code.
fn modules(folder: &Path, at: &[String], found: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let module = match name.as_str() {
            "lib" | "mod" => at.to_vec(),
            _ => [at, std::slice::from_ref(&name)].concat(),
        };
        if matches!(name.as_str(), "main" | "tests" | "bin") {
            continue;
        }
        if path.is_dir() {
            modules(&path, &module, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("readable");
            found.insert(module, code(&text));
        }
    }
}

/// Every path that begins with `crate`, `super` or `self`, with what stands in braces behind it written out.
fn paths(code: &str) -> Vec<Vec<String>> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            let before = &code[..at];
            if !before.ends_with(word) && !before.ends_with("::") && !before.ends_with('$') {
                tree(&code[at..], &[], &mut found);
            }
        }
    }
    found
}

/// Reads one tree of a `use`, such as `crate::a::{b, c::d}`; gives what is left behind it.
fn tree<'c>(mut code: &'c str, before: &[String], found: &mut Vec<Vec<String>>) -> &'c str {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut path = before.to_vec();
    loop {
        code = code.trim_start();
        if let Some(mut inside) = code.strip_prefix('{') {
            while !inside.trim_start().starts_with('}') {
                let left = tree(inside, &path, found);
                let left = left.trim_start();
                inside = left.strip_prefix(',').unwrap_or(left);
                if inside.len() == code.len() || inside.is_empty() || (!left.starts_with([',', '}'])) {
                    return "";
                }
            }
            return &inside.trim_start()[1..];
        }
        let end = code.find(|c| !word(c)).unwrap_or(code.len());
        path.push(code[..end].to_owned());
        code = &code[end..];
        match code.strip_prefix("::") {
            Some(rest) => code = rest,
            None => break,
        }
    }
    found.push(path);
    match code.trim_start().strip_prefix("as ") {
        Some(renamed) => renamed.trim_start().trim_start_matches(word),
        None => code,
    }
}

/// Where a path leads: the module it names something of, through whatever is told on from elsewhere.
fn target(known: &BTreeMap<Module, String>, from: &Module, path: &[String], deep: u32) -> Option<Module> {
    let mut at = from.clone();
    let mut rest = path;
    while let [first, more @ ..] = rest {
        match first.as_str() {
            "crate" => at.clear(),
            "super" => {
                at.pop();
            }
            "self" => {}
            _ => break,
        }
        rest = more;
    }
    while let [first, more @ ..] = rest {
        let below = [at.as_slice(), std::slice::from_ref(first)].concat();
        if !known.contains_key(&below) {
            break;
        }
        at = below;
        rest = more;
    }
    let Some(item) = rest.first().filter(|_| deep < 8) else {
        return Some(at);
    };
    // `pub use` of a module's parts.
    let told_on = known[&at].split("use ").skip(1).find_map(|told| {
        let told = told.split(';').next().unwrap_or_default();
        let mut named = Vec::new();
        tree(told, &[], &mut named);
        let path = named.into_iter().find(|path| path.last() == Some(item))?;
        let first = path.first()?;
        let own = [at.as_slice(), std::slice::from_ref(first)].concat();
        let inside = matches!(first.as_str(), "crate" | "super" | "self") || known.contains_key(&own);
        (inside && path.len() > 1).then_some(path)
    });
    match told_on {
        Some(path) => target(known, &at, &path, deep + 1),
        None => Some(at),
    }
}

/// Who names whom, but for a module and what it is a part of.
fn uses(known: &BTreeMap<Module, String>) -> Uses {
    let part = |one: &Module, whole: &Module| one.starts_with(whole);
    let named = |(from, code): (&Module, &String)| {
        let targets = paths(code)
            .into_iter()
            .filter_map(|path| target(known, from, &path, 0));
        let foreign = targets.filter(|to| !part(to, from) && !part(from, to));
        (from.clone(), foreign.collect())
    };
    known.iter().map(named).collect()
}

/// A circle that begins and ends at a module, the shortest first found.
fn circle(uses: &Uses, start: &Module) -> Option<Vec<Module>> {
    let mut ways: Vec<Vec<Module>> = vec![vec![start.clone()]];
    let mut seen = BTreeSet::new();
    while let Some(way) = (!ways.is_empty()).then(|| ways.remove(0)) {
        for next in uses.get(way.last()?).into_iter().flatten() {
            let longer = [way.as_slice(), std::slice::from_ref(next)].concat();
            if next == start {
                return Some(longer);
            }
            if seen.insert(next.clone()) {
                ways.push(longer);
            }
        }
    }
    None
}

fn circles(known: &BTreeMap<Module, String>) -> BTreeSet<String> {
    let uses = uses(known);
    let found = uses.keys().filter_map(|start| {
        let mut members: Vec<String> = circle(&uses, start)?
            .iter()
            .map(|module| module.join("::"))
            .collect();
        members.pop();
        members.sort();
        Some(members.join(" <-> "))
    });
    found.collect()
}

pub(crate) fn no_crate_has_a_circle_of_imports() {
    let root = root();
    let (mut read, mut all) = (0, BTreeSet::new());
    for place in ["functions", "shared", "infra"] {
        for entry in fs::read_dir(root.join(place)).expect("rooms").flatten() {
            let source = entry.path().join("src");
            if !source.is_dir() {
                continue;
            }
            let mut known = BTreeMap::from([(Module::new(), String::new())]);
            modules(&source, &[], &mut known);
            read += known.len();
            let room = entry.file_name().to_string_lossy().into_owned();
            all.extend(
                circles(&known)
                    .into_iter()
                    .map(|circle| format!("{room}: {circle}")),
            );
        }
    }
    all.retain(|circle| !KNOWN.contains(&circle.as_str()));
    assert_eq!(all, BTreeSet::<String>::new());
    assert!(read > 300, "only {read} modules were read");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_found_however_it_is_written() {
        let with = |files: &[(&str, &str)]| {
            let module = |path: &str| {
                path.split("::")
                    .filter(|part| !part.is_empty())
                    .map(str::to_owned)
                    .collect()
            };
            circles(
                &files
                    .iter()
                    .map(|(path, text)| (module(path), code(text)))
                    .collect(),
            )
        };
        for (a, b) in [
            ("use crate::b::Thing;", "use crate::a::Other;"),
            ("use crate::{b::Thing, c::X};", "fn f() -> super::a::Other {}"),
            ("use super::{c::X as Y, b::{self, Thing}};", "use crate::Other;"),
            ("use crate::c::X;", "use crate::{Other};"),
        ] {
            let root = "mod a; pub use a::{Deep, Other};";
            let found = with(&[("", root), ("a", a), ("b", b), ("c", "use crate::b;")]);
            assert!(
                found.iter().any(|circle| circle.contains("a <-> b")),
                "{a} {b}: {found:?}"
            );
        }
        let fine = [
            ("", "mod a; mod b; pub use a::Other;"),
            (
                "a",
                "// use crate::b::Thing;\nuse crate::c::X;\n#[cfg(test)]\nmod tests {\n    use crate::b::T;\n}\n",
            ),
            ("b", "use crate::Other; use crate::b::part::P;"),
            ("b::part", "use super::Thing;"),
            ("c", "use super::Root;"),
        ];
        assert_eq!(with(&fine), BTreeSet::new());
        // What stands behind the declaration of a module of tests is read.
        let behind = "#[cfg(test)]\nmod tests;\n\nuse crate::b::Thing;\n";
        let found = with(&[
            ("", "mod a; mod b;"),
            ("a", behind),
            ("b", "use crate::a::Other;"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
