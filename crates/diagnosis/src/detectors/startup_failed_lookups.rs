//! startup-failed-lookups: a program looks for files that are not there, again and again, while it starts.

use serde_json::json;

use super::{Case, about};
use crate::activity::{EmptyEntry, Ending, Startup};
use crate::finding::{Confidence, Evidence, Facts, Finding, Severity};
use crate::ledger::Pace;
use crate::state::text;

/// Lookups that fail from which on there is a storm, whatever they are of. Of ordinary programs started under strace,
/// git failed 112 times, mypy 151, pytest 137, a JVM 154, runc 157; the AWS command line of 2014 5,687 times.
const STORM: u64 = 1000;
/// Class files that are not there from which on a class path has a directory too many. A JVM does not look for single
/// class files at all unless its class path has directories.
const CLASSES: u64 = 50;
/// Percent of all lookups that fail in a storm: in the AWS command line 88.
const MOST: u64 = 50;
/// Percent of the start-up that they take from which on it is felt.
const FELT: u64 = 10;
/// Directories listed.
const LISTED: usize = 3;

/// Finds such start-ups.
pub fn find(pace: &Pace, case: &Case<'_>) -> Option<Finding> {
    let single = pace.startup.as_ref()?;
    let startup = &*single.what;
    let lookups = &startup.lookups;
    let endings = lookups.endings.most();
    let is_class = |(ending, count): &&(&Ending, u64)| *ending.ending == *b".class" && *count >= CLASSES;
    let classes =
        endings.iter().filter(is_class).max_by_key(|(ending, count)| (is_there(startup, &ending.below), *count));
    let is_storm = lookups.failed >= STORM && lookups.failed * 100 >= lookups.made * MOST;
    if !is_storm && classes.is_none() {
        return None;
    }
    let part = part(startup, lookups.failed_ns, lookups.last.map(|(at, _)| at));
    // Where no times were recorded, it is a matter of how many they are.
    let is_felt = percent(&part).map_or(is_storm, |percent| percent >= FELT);
    let severity = if is_felt { Severity::Warning } else { Severity::Info };
    let mut finding = about("startup-failed-lookups", severity, &single.process, pace.container, case);
    let facts = &mut finding.facts;
    facts.set("count", lookups.failed);
    facts.set("lookups", lookups.made);
    facts.set("failed_percent", lookups.failed * 100 / lookups.made.max(1));
    facts.set("processes", single.processes);
    let listed: Vec<_> = lookups
        .directories
        .most()
        .into_iter()
        .take(LISTED)
        .map(|(path, count)| json!({ "path": text(path), "count": count }))
        .collect();
    if !listed.is_empty() {
        facts.set("directories", listed);
    }
    if let Some((ending, count)) = classes.or(endings.first()) {
        facts.set("pattern", format!("*{}", text(&ending.ending)));
        facts.set("pattern_count", *count);
        if ending.below.starts_with(b"/") {
            facts.set("below", text(&ending.below));
        }
        facts.set("example", text(&ending.example));
    }
    if let Some((ending, _)) = classes {
        let (class_path, confidence) = class_path(startup, &ending.below);
        facts.set("class_path", class_path);
        finding.confidence = confidence;
    }
    facts.set_known("working_directory", startup.directory.as_ref().map(|path| text(path)));
    facts.extend(part);
    let shown =
        |(at, call): (_, &'static str), which: &str| Evidence::new(at, call, format!("the {which} that found nothing"));
    finding.evidence.extend(lookups.first.map(|first| shown(first, "first")));
    finding.evidence.extend(lookups.last.map(|last| shown(last, "last")));
    Some(finding)
}

/// Whether `below` is the working directory, or relative to it.
fn is_there(startup: &Startup, below: &[u8]) -> bool {
    !below.starts_with(b"/") || startup.directory.as_deref() == Some(below)
}

/// What the class path has to do with class files that were looked for below `below`, and how sure that is.
fn class_path(startup: &Startup, below: &[u8]) -> (&'static str, Confidence) {
    // Where all class files are in one package, `below` includes it.
    let may_be_there = startup.directory.as_ref().is_none_or(|directory| below.starts_with(directory));
    let is_there = is_there(startup, below);
    let sure = if startup.directory.is_some() || is_there { Confidence::Certain } else { Confidence::Likely };
    match startup.empty_entry.filter(|_| may_be_there || is_there) {
        Some(EmptyEntry::Argument) => ("empty-argument", sure),
        Some(EmptyEntry::Environment) => ("empty-environment", sure),
        None if is_there => ("working-directory", Confidence::Likely),
        None => ("directory", Confidence::Likely),
    }
}

/// How much of the start-up something took that happened up to `last`.
pub fn part(startup: &Startup, took_ns: u64, last: Option<crate::finding::Moment>) -> Facts {
    let mut facts = Facts::default();
    let Some(last) = last else { return facts };
    let startup_ns = last.since(&startup.began);
    facts.set("startup_ns", startup_ns);
    if took_ns > 0 && startup_ns > 0 {
        facts.set("took_ns", took_ns);
        facts.set("part_percent", (took_ns.saturating_mul(100) / startup_ns).min(100));
    }
    facts
}

/// What part of the start-up that is, in percent, as far as it was recorded.
pub fn percent(part: &Facts) -> Option<u64> {
    part.get("part_percent")?.as_u64()
}
