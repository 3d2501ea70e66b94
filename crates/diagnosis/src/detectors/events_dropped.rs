//! events-dropped: the recorder lost events, so that something not seen may still have happened.

use super::Case;
use crate::finding::{Finding, Severity};

/// Says so where the capture has events that say so.
pub fn find(case: &Case<'_>) -> Option<Finding> {
    let drops = case.summary.drops();
    if drops == 0 {
        return None;
    }
    let mut finding = Finding::of_capture("events-dropped", Severity::Warning);
    finding.facts.set("drops", drops);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::examples::{ABSENT_READ, case_of_events, deaths_at};
    use super::*;

    const DROP: u16 = 148;

    #[test]
    fn drop_events_are_counted() {
        let found = case_of_events(&[DROP, DROP + 1, 14], deaths_at(0, ABSENT_READ, &[]), find).expect("found");
        assert_eq!(found.facts.get("drops"), Some(&2.into()));
        assert_eq!(case_of_events(&[14], deaths_at(0, ABSENT_READ, &[]), find), None);
    }
}
