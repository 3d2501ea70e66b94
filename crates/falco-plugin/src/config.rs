//! What `init_config` of the plugin may say in falco.yaml. Its types are the JSON schema that Falco holds it to.

use std::num::{NonZeroU32, NonZeroU64};

use diagnosis::DEFAULT_HOT_CALLS;
use falco_plugin::schemars::{self, JsonSchema};
use falco_plugin::serde::{self, Deserialize};

use crate::storm::Threshold;

/// A system call that the vDSO offers too, so that nobody need make it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(crate = "self::serde", rename_all = "snake_case")]
#[schemars(crate = "self::schemars")]
pub enum TimeCall {
    /// `time`.
    Time,
    /// `gettimeofday`.
    Gettimeofday,
    /// `clock_gettime`; which clock is not recorded.
    ClockGettime,
    /// `getcpu`.
    Getcpu,
}

impl TimeCall {
    /// The system call's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Gettimeofday => "gettimeofday",
            Self::ClockGettime => "clock_gettime",
            Self::Getcpu => "getcpu",
        }
    }
}

/// Thresholds of the storms, and which system calls count.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(crate = "self::serde", deny_unknown_fields, default)]
#[schemars(crate = "self::schemars")]
pub struct Config {
    /// Length of the window in which calls of a thread are counted, in milliseconds.
    pub window_ms: NonZeroU32,
    /// Calls into the vsyscall page within a window from which on they are a storm.
    pub emulated_calls: NonZeroU64,
    /// System calls for the time within a window from which on they are a storm.
    pub time_calls: NonZeroU64,
    /// The system calls that count as asking for the time.
    pub time_syscalls: Vec<TimeCall>,
}

impl Default for Config {
    fn default() -> Self {
        let calls = NonZeroU64::new(DEFAULT_HOT_CALLS).unwrap_or(NonZeroU64::MAX);
        Self {
            window_ms: NonZeroU32::new(1000).unwrap_or(NonZeroU32::MAX),
            emulated_calls: calls,
            time_calls: calls,
            time_syscalls: vec![TimeCall::Time, TimeCall::Gettimeofday, TimeCall::ClockGettime, TimeCall::Getcpu],
        }
    }
}

impl Config {
    /// From when on calls into the page are a storm.
    #[must_use]
    pub fn emulated(&self) -> Threshold {
        self.threshold(self.emulated_calls)
    }

    /// From when on system calls for the time are a storm.
    #[must_use]
    pub fn time(&self) -> Threshold {
        self.threshold(self.time_calls)
    }

    fn threshold(&self, calls: NonZeroU64) -> Threshold {
        Threshold { calls: calls.get(), window_ns: u64::from(self.window_ms.get()) * 1_000_000 }
    }
}
