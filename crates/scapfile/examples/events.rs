//! Lists events: `cargo run --release -p scapfile --example events FILE`.
use std::ops::ControlFlow;
fn main() {
    let path = std::env::args().nth(1).expect("a file");
    let mut capture = scapfile::Capture::open(path.as_ref()).expect("a capture");
    capture.visit(|item| {
        if let scapfile::Item::Event(event) = item {
            println!(
                "{} {} {} {} n={} {}",
                event.number,
                event.tid,
                event.event_type,
                scapfile::schema::name(event.event_type),
                event.param_count(),
                scapfile::schema::describe(&event)
            );
        }
        ControlFlow::Continue(())
    });
}
