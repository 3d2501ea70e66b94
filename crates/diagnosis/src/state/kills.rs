//! Remembers who lately sent whom a signal that ends processes.

/// Calls remembered.
const KEPT: usize = 64;

/// The last calls of kill, tkill and tgkill with a deadly signal.
#[derive(Debug, Default)]
pub struct Kills {
    calls: Vec<(i64, u8, i64)>,
    next: usize,
}

impl Kills {
    /// The thread `sender` sends `signal` to `target`; a negative target is a process group.
    pub fn note(&mut self, target: i64, signal: u8, sender: i64) {
        let call = (target, signal, sender);
        if self.calls.len() < KEPT {
            self.calls.push(call);
        } else {
            self.calls[self.next] = call;
        }
        self.next = (self.next + 1) % KEPT;
    }

    /// The thread that last sent `signal` to `target`.
    #[must_use]
    pub fn sender_of(&self, target: i64, signal: u8) -> Option<i64> {
        let (newer, older) = self.calls.split_at(self.next.min(self.calls.len()));
        newer
            .iter()
            .rev()
            .chain(older.iter().rev())
            .find(|call| (call.0 == target || call.0 == -target) && call.1 == signal)
            .map(|call| call.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sender_counts_and_old_calls_go() {
        let mut kills = Kills::default();
        kills.note(5, 9, 100);
        kills.note(5, 9, 101);
        assert_eq!(kills.sender_of(5, 9), Some(101));
        assert_eq!(kills.sender_of(5, 11), None);
        for target in 1000..1000 + KEPT as i64 {
            kills.note(target, 9, 1);
        }
        assert_eq!(kills.sender_of(5, 9), None);
    }
}
