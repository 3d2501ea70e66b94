//! Counts events: `cargo run --release -p scapfile --example count FILE`.
use std::ops::ControlFlow;
fn main() {
    let path = std::env::args().nth(1).expect("a file");
    let mut capture = scapfile::Capture::open(path.as_ref()).expect("a capture");
    let mut sum = 0u64;
    capture.visit(|item| {
        if let scapfile::Item::Event(event) = item {
            sum = sum.wrapping_add(event.tid as u64 + u64::from(event.event_type));
        }
        ControlFlow::Continue(())
    });
    println!("{} events, {} bytes, sum {sum}, damage {:?}", capture.events(), capture.offset(), capture.damage());
}
