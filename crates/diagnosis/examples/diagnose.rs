//! Prints the findings of a capture as JSON: `cargo run --release -p diagnosis --example diagnose FILE`.
use std::ops::ControlFlow;

fn main() {
    let path = std::env::args().nth(1).expect("a file");
    let mut capture = scapfile::Capture::open(path.as_ref()).expect("a capture");
    let mut diagnosis = diagnosis::Diagnosis::default();
    capture.visit(|item| {
        diagnosis.item(&item);
        ControlFlow::Continue(())
    });
    let report = diagnosis.finish(capture.damage());
    println!("{}", serde_json::to_string_pretty(&report).expect("JSON"));
}
