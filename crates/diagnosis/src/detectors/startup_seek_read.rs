//! startup-seek-read: a program reads files piece by piece while it starts, with a seek before each piece.

use super::startup_failed_lookups::{part, percent};
use super::{Case, about};
use crate::finding::{Evidence, Finding, Severity};
use crate::ledger::Pace;
use crate::state::text;

/// Pairs of seek and read in one start-up from which on there is something to gain. In ordinary start-ups there are few:
/// runc and docker have 4, python up to 50, a JVM that starts a program of one archive 522.
const PAIRS: u64 = 1000;

/// Percent of the start-up that they take, where that was recorded, from which on it would be felt.
const PART: u64 = 5;

/// Finds such start-ups.
pub fn find(pace: &Pace, case: &Case<'_>) -> Option<Finding> {
    let single = pace.startup.as_ref()?;
    let startup = &*single.what;
    let reads = &startup.reads;
    if reads.pairs < PAIRS {
        return None;
    }
    let part = part(startup, reads.took_ns, reads.last);
    if percent(&part).is_some_and(|percent| percent < PART) {
        return None;
    }
    let mut finding = about("startup-seek-read", Severity::Info, &single.process, pace.container, case);
    let facts = &mut finding.facts;
    facts.set("count", reads.pairs);
    facts.set("bytes", reads.bytes);
    facts.set("bytes_per_read", reads.bytes / reads.pairs.max(1));
    facts.set("processes", single.processes);
    if let Some((path, pairs)) = reads.busiest_file().filter(|(_, pairs)| pairs * 2 >= reads.pairs) {
        facts.set("file", text(path));
        facts.set("file_count", pairs);
    }
    facts.extend(part);
    let shown = |at, which: &str| Evidence::new(at, "read", format!("the {which} read behind a seek"));
    finding.evidence.extend(reads.first.map(|first| shown(first, "first")));
    finding.evidence.extend(reads.last.map(|last| shown(last, "last")));
    Some(finding)
}
