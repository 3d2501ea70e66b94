//! Prints what the plugin tells of captures, one episode a line, as JSON:
//! `cargo run --release -p falco-plugin --example episodes -- FILE...`

#[path = "../tests/rig/mod.rs"]
mod rig;

use std::path::Path;

fn main() {
    for file in std::env::args().skip(1) {
        let events = rig::events(Path::new(&file));
        let places: Vec<(u64, i64)> = events.iter().map(|fed| (fed.timestamp_ns, fed.tid)).collect();
        let mut rig = rig::Rig::new("{}", events.into_iter()).expect("the plugin loads");
        for (event, fields) in rig.episodes() {
            let (timestamp_ns, tid) = usize::try_from(event - 1).map(|at| places[at]).expect("a place");
            let line = serde_json::json!({
                "capture": file, "event": event, "timestamp_ns": timestamp_ns, "tid": tid, "fields": fields,
            });
            println!("{line}");
        }
    }
}
