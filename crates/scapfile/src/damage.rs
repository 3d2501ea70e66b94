//! Says where a capture stops making sense, and what should have stood there.

use std::fmt;

/// How the capture is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DamageKind {
    /// The bytes end in the middle of something.
    CutOff,
    /// The bytes contradict the format.
    Corrupt,
}

/// Where reading had to stop. Everything before it was delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Cut off or corrupt.
    pub kind: DamageKind,
    /// Byte offset in the uncompressed stream at which the damaged piece begins.
    pub offset: u64,
    /// What the format has at that place.
    pub expected: String,
    /// What is there instead.
    pub found: String,
}

impl Damage {
    pub(crate) fn corrupt(offset: u64, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { kind: DamageKind::Corrupt, offset, expected: expected.into(), found: found.into() }
    }

    pub(crate) fn cut_off(offset: u64, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { kind: DamageKind::CutOff, offset, expected: expected.into(), found: found.into() }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            DamageKind::CutOff => "cut off",
            DamageKind::Corrupt => "corrupt",
        };
        let Self { offset, expected, found, .. } = self;
        write!(f, "{kind} at byte {offset}: expected {expected}, found {found}")
    }
}
