//! Draws stacks as a flame graph.

use std::io;

use inferno::flamegraph::{Options, from_lines};

/// Sums of weights up to this are exact in the picture's numbers, which are floating-point.
const MAX_TOTAL: u128 = 1 << 53;

/// What stands on the picture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picture {
    /// Above it.
    pub title: String,
    /// What its widths count, such as `ns`.
    pub unit: String,
}

/// The SVG of these stacks: frames joined by `;`, the outermost first, and a weight.
///
/// # Errors
/// There is nothing to draw: all weights are 0.
pub fn draw(stacks: &[(String, u64)], picture: &Picture) -> io::Result<Vec<u8>> {
    let total: u128 = stacks.iter().map(|(_, weight)| u128::from(*weight)).sum();
    // A call of a hundred years is damage in a timestamp, and no reason to fail.
    let scale = (0..64).find(|scale| total >> scale <= MAX_TOTAL).unwrap_or(64);
    let lines: Vec<String> = stacks.iter().map(|(stack, weight)| format!("{stack} {}", weight >> scale)).collect();
    let mut options = Options::default();
    options.title.clone_from(&picture.title);
    options.count_name.clone_from(&picture.unit);
    options.name_type = "Frame:".into();
    options.factor = (scale as f64).exp2();
    // The same stacks give the same picture.
    options.deterministic = true;
    let mut svg = Vec::new();
    from_lines(&mut options, lines.iter().map(String::as_str), &mut svg)?;
    Ok(svg)
}
