//! Counts what happens again and again, and the most of it within one second.

/// Length of the window in which is counted.
const WINDOW_NS: u64 = 1_000_000_000;

/// A running count over windows that begin with their first event.
#[derive(Debug, Clone, Copy)]
pub struct Peak {
    start_ns: u64,
    count: u64,
    most: u64,
}

impl Peak {
    /// Counting begins at `now_ns`.
    #[must_use]
    pub fn start(now_ns: u64) -> Self {
        Self { start_ns: now_ns, count: 0, most: 0 }
    }

    /// Counts one more.
    #[inline]
    pub fn note(&mut self, now_ns: u64) {
        if now_ns.wrapping_sub(self.start_ns) >= WINDOW_NS {
            self.start_ns = now_ns;
            self.count = 0;
        }
        self.count += 1;
        self.most = self.most.max(self.count);
    }

    /// The most within a window.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Processes of one program follow one another or run side by side: the peak is that of the busiest.
    pub fn add(&mut self, more: &Self) {
        self.most = self.most.max(more.most);
    }
}
