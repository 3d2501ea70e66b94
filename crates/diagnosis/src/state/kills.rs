//! Remembers who lately sent whom a signal that ends processes.

use super::ContainerId;

/// Calls remembered.
const KEPT: usize = 64;
/// A signal takes effect when its target runs next; one that ends it later has another sender.
const EFFECT_NS: u64 = 2_000_000_000;

/// A call of kill, tkill or tgkill with a deadly signal.
#[derive(Debug, Clone, Copy)]
pub struct Kill {
    /// Process or thread id in the sender's namespace; negative: a process group.
    pub target: i64,
    /// The signal.
    pub signal: u8,
    /// The thread that sends it, host namespace.
    pub sender: i64,
    /// The sender's container.
    pub container: Option<ContainerId>,
    /// When, in nanoseconds since the epoch.
    pub timestamp_ns: u64,
}

/// Whom a signal has ended.
#[derive(Debug, Clone, Copy)]
pub struct Victim {
    /// Process id, host namespace.
    pub pid: i64,
    /// Process id in its own namespace, if known.
    pub vpid: Option<i64>,
    /// The thread, host namespace.
    pub tid: i64,
    /// Its container.
    pub container: Option<ContainerId>,
}

/// The last such calls.
#[derive(Debug, Default)]
pub struct Kills {
    calls: Vec<Kill>,
    next: usize,
}

impl Kills {
    /// Notes a call.
    pub fn note(&mut self, kill: Kill) {
        if self.calls.len() < KEPT {
            self.calls.push(kill);
        } else {
            self.calls[self.next] = kill;
        }
        self.next = (self.next + 1) % KEPT;
    }

    /// The call that `sender` made last has failed.
    pub fn failed(&mut self, sender: i64) {
        if let Some(last) =
            self.calls.iter_mut().filter(|kill| kill.sender == sender).max_by_key(|kill| kill.timestamp_ns)
        {
            last.signal = 0;
        }
    }

    /// The thread that sent `signal` to `victim` shortly before `now_ns`.
    #[must_use]
    pub fn sender_of(&self, victim: Victim, signal: u8, now_ns: u64) -> Option<i64> {
        let is_meant = |kill: &&Kill| {
            let by_host_id = [victim.pid, victim.tid, -victim.pid].contains(&kill.target);
            let is_neighbour = kill.container.is_some() && kill.container == victim.container;
            let by_own_id = is_neighbour && victim.vpid.is_some_and(|vpid| kill.target == vpid || kill.target == -vpid);
            kill.signal == signal && now_ns.saturating_sub(kill.timestamp_ns) <= EFFECT_NS && (by_host_id || by_own_id)
        };
        self.calls.iter().filter(is_meant).max_by_key(|kill| kill.timestamp_ns).map(|kill| kill.sender)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VICTIM: Victim = Victim { pid: 308, vpid: Some(7), tid: 308, container: None };

    fn kill(target: i64, sender: i64, timestamp_ns: u64) -> Kill {
        Kill { target, signal: 9, sender, container: None, timestamp_ns }
    }

    #[test]
    fn the_last_sender_counts_and_old_calls_go() {
        let mut kills = Kills::default();
        kills.note(kill(308, 100, 1));
        kills.note(kill(308, 101, 2));
        assert_eq!(kills.sender_of(VICTIM, 9, 3), Some(101));
        assert_eq!(kills.sender_of(VICTIM, 11, 3), None);
        assert_eq!(kills.sender_of(VICTIM, 9, 3 * EFFECT_NS), None, "long ago");
        for target in 1000..1000 + KEPT as i64 {
            kills.note(kill(target, 1, 4));
        }
        assert_eq!(kills.sender_of(VICTIM, 9, 5), None);
    }

    #[test]
    fn a_failed_call_sends_nothing() {
        let mut kills = Kills::default();
        kills.note(kill(308, 100, 1));
        kills.failed(100);
        assert_eq!(kills.sender_of(VICTIM, 9, 3), None);
    }

    #[test]
    fn within_a_container_its_own_ids_count() {
        let container = ContainerId::from_cgroups(b"/7272f37ebc5c56208fff78f04e126973b694d5b91158b6fbd7383fe6ae2e3dd5");
        let mut kills = Kills::default();
        kills.note(Kill { container, ..kill(7, 100, 1) });
        assert_eq!(kills.sender_of(Victim { container, ..VICTIM }, 9, 2), Some(100));
        assert_eq!(kills.sender_of(VICTIM, 9, 2), None, "7 is somebody else on the host");
    }
}
