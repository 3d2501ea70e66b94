//! Finds the names that somebody may have meant who wrote one that does not exist.

/// As many as are worth reading.
const SHOWN: usize = 5;

/// Names near to `written`, the nearest first: beginning with it, a slip away, containing it, two slips away.
pub(crate) fn near<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let written = written.trim().to_lowercase().replace('-', "_");
    let mut found: Vec<(usize, &str)> =
        names.into_iter().filter_map(|name| Some((distance(&written, name)?, name))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, name)| name).take(SHOWN).collect()
}

/// How far `name` is from `written`; `None` if nobody would take one for the other.
fn distance(written: &str, name: &str) -> Option<usize> {
    // Nearly every short name is within two slips of every other.
    let (telling, slips) = (written.len() >= 3, if written.len() < 5 { 1 } else { 2 });
    if telling && name.starts_with(written) {
        return Some(0);
    }
    match strsim::osa_distance(written, name) {
        near @ 0..=1 if !written.is_empty() => Some(near),
        _ if telling && name.contains(written) => Some(1),
        near if near <= slips && telling => Some(near),
        _ => None,
    }
}
