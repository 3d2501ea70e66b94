//! Rewrites a capture of enter and exit events in the format of today:
//! `cargo run --release -p scapfile --example modernize IN OUT`. Gzip goes around it:
//! `gzip -dc IN.scap > plain.scap` before, `gzip -9n OUT` after.
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = arguments.as_slice() else {
        return Err("usage: modernize IN OUT".into());
    };
    std::fs::write(to, scapfile::modernize::modernize(&std::fs::read(from)?)?)?;
    Ok(())
}
