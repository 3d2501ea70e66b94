//! Puts the costs of calls together as a tree: container, the process and its ancestors in the same
//! container, thread; and at each thread its calls.

use diagnosis::{ContainerId, ContainerRef};
use rustc_hash::FxHashMap;
use scapfile::types::TYPES;
use serde::Serialize;

use crate::callers::{Caller, CallerId};
use crate::calls::Calls;
use crate::costs::CostTable;

/// One level of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Frame {
    /// What is in no container.
    Host,
    /// A container.
    Container {
        /// Which.
        container: ContainerRef,
    },
    /// A process while it runs one program.
    Process {
        /// Command name.
        comm: Option<String>,
        /// Process id, host namespace.
        pid: i64,
    },
    /// A thread.
    Thread {
        /// Thread id, host namespace.
        tid: i64,
    },
    /// Those who are told apart no more.
    Others,
}

/// A frame and the one it stands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Position of the parent among the nodes, which is before this one; `None` for an outermost frame.
    pub parent: Option<u32>,
    /// What it is.
    #[serde(flatten)]
    pub frame: Frame,
}

/// All stacks. The calls are in columns: there may be more than a hundred thousand.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Stacks {
    /// The tree.
    pub nodes: Vec<Node>,
    /// Whose calls these are: positions among the nodes.
    pub node: Vec<u32>,
    /// Their name.
    pub syscall: Vec<&'static str>,
    /// How many.
    pub calls: Vec<u64>,
    /// Of those, how many whose duration can be told.
    pub timed: Vec<u64>,
    /// The sum of those durations.
    pub time_ns: Vec<u64>,
}

/// A frame as it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Host,
    Container(ContainerId),
    Process(u32),
    Thread(CallerId),
    Others,
}

impl CostTable {
    /// The wanted calls as stacks, processes in the order in which they were first seen.
    #[must_use]
    pub fn stacks(&self, calls: &Calls) -> Stacks {
        let program = |caller| calls.callers().caller(caller).program;
        let mut rows: Vec<_> = self.rows().filter(|row| calls.wants(row.caller)).collect();
        rows.sort_by_key(|row| (program(row.caller), row.caller, TYPES.name(row.name)));
        let mut tree = Tree { calls, nodes: Vec::new(), known: FxHashMap::default() };
        let mut stacks = Stacks::default();
        for row in rows {
            let key = if program(row.caller).is_some() { Key::Thread(row.caller) } else { Key::Others };
            stacks.node.push(tree.node(key));
            stacks.syscall.push(TYPES.name(row.name));
            stacks.calls.push(row.costs.calls);
            stacks.timed.push(row.costs.timed);
            stacks.time_ns.push(row.costs.time_ns);
        }
        Stacks { nodes: tree.nodes, ..stacks }
    }
}

/// A tree in the making.
struct Tree<'a> {
    calls: &'a Calls,
    nodes: Vec<Node>,
    known: FxHashMap<Key, u32>,
}

impl Tree<'_> {
    /// The position of `key`, which is put there with all it stands on.
    fn node(&mut self, key: Key) -> u32 {
        let mut line = vec![key];
        let mut on = None;
        while let Some(key) = line.last() {
            on = self.known.get(key).copied();
            if on.is_some() {
                line.pop();
                break;
            }
            let Some(parent) = self.parent(*key) else { break };
            line.push(parent);
        }
        for key in line.into_iter().rev() {
            let node = Node { parent: on, frame: self.frame(key) };
            on = Some(self.nodes.len() as u32);
            self.known.insert(key, self.nodes.len() as u32);
            self.nodes.push(node);
        }
        on.unwrap_or_default()
    }

    fn parent(&self, key: Key) -> Option<Key> {
        let callers = self.calls.callers();
        match key {
            Key::Host | Key::Container(_) | Key::Others => None,
            Key::Thread(caller) => callers.caller(caller).program.map(Key::Process),
            Key::Process(number) => {
                let program = callers.program(number);
                let container = program.container;
                // Beyond the container's first process come those that started it, and not what runs in it.
                let within = program.parent.filter(|parent| callers.program(*parent).container == container);
                Some(within.map_or_else(|| container.map_or(Key::Host, Key::Container), Key::Process))
            }
        }
    }

    fn frame(&self, key: Key) -> Frame {
        let callers = self.calls.callers();
        match key {
            Key::Host => Frame::Host,
            Key::Container(id) => Frame::Container { container: self.calls.container(id) },
            Key::Process(number) => {
                let program = callers.program(number);
                Frame::Process { comm: program.comm.clone(), pid: program.pid }
            }
            Key::Thread(caller) => {
                let Caller { tid, .. } = callers.caller(caller);
                Frame::Thread { tid }
            }
            Key::Others => Frame::Others,
        }
    }
}
