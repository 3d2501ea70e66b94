//! capture-truncated: reading ended before the capture did.

use scapfile::{Damage, DamageKind};
use serde::Serialize;

use super::Case;
use crate::finding::{Finding, Severity};

/// Where and why reading ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damaged {
    /// `cut-off` or `corrupt`.
    pub kind: &'static str,
    /// Byte offset in the uncompressed stream.
    pub offset: u64,
    /// What the format has there.
    pub expected: String,
    /// What is there instead.
    pub found: String,
}

impl From<&Damage> for Damaged {
    fn from(damage: &Damage) -> Self {
        let kind = match damage.kind {
            DamageKind::CutOff => "cut-off",
            DamageKind::Corrupt => "corrupt",
        };
        Self { kind, offset: damage.offset, expected: damage.expected.clone(), found: damage.found.clone() }
    }
}

/// Says so, and how much was read.
pub fn find(case: &Case<'_>) -> Option<Finding> {
    let Damaged { kind, offset, expected, found } = case.damage?;
    let mut finding = Finding::of_capture("capture-truncated", Severity::Warning);
    let facts = &mut finding.facts;
    facts.set("kind", *kind);
    facts.set("offset", *offset);
    facts.set("expected", expected.as_str());
    facts.set("found", found.as_str());
    facts.set("events", case.summary.events());
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::examples::case;
    use super::*;
    use crate::vsyscall::Mode;

    #[test]
    fn damage_is_told_with_its_offset() {
        let damage = Damaged { kind: "cut-off", offset: 1234, expected: "a block".into(), found: "the end".into() };
        let found = case(Mode::Unknown, |case| find(&Case { damage: Some(&damage), ..*case })).expect("found");
        assert_eq!(found.facts.get("offset"), Some(&1234.into()));
        assert_eq!(case(Mode::Unknown, find), None);
    }
}
