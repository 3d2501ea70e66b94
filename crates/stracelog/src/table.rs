//! Turns the table that `strace -c` prints into numbers.

/// A row: all calls of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The system call.
    pub name: String,
    /// How often it was made.
    pub calls: u64,
    /// How often it failed.
    pub errors: u64,
    /// Seconds spent in it: of the processor in the kernel, or with `-w` until it was back. `None`: the
    /// table has no such column (`-U`).
    pub seconds: Option<f64>,
}

/// A table of `strace -c`, or what there is of one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// The rows, as they stand, without the sum at their end.
    pub rows: Vec<Row>,
    /// The sum that strace itself gives, if it is there.
    pub total: Option<Row>,
    /// Lines read, up to the sum.
    pub lines: u64,
    /// Lines between the header and the sum that are no rows.
    pub damaged_lines: u64,
    /// The numbers of the first of them, from 1.
    pub first_damaged: Vec<u64>,
}

/// Rows read at most; Linux has some 450 system calls.
const MAX_ROWS: usize = 4096;
/// Damaged lines whose numbers are kept.
const MAX_DAMAGED: usize = 8;

/// The columns that strace has (`-U`), by the words of its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Seconds,
    Calls,
    Errors,
    Name,
    /// `% time`, `usecs/call`, `shortest`, `longest`: they follow from the others, or are not kept.
    Other,
}

/// Whether a line is the header of such a table.
pub(crate) fn is_header(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|line| columns(line).is_some())
}

/// Whether a line is the last of such a table, which has the sum.
pub(crate) fn is_sum(line: &[u8]) -> bool {
    line.trim_ascii_end().ends_with(b" total")
}

fn columns(header: &str) -> Option<Vec<Column>> {
    let header = header.replace("% time", "%time");
    let columns: Option<Vec<Column>> = header
        .split_whitespace()
        .map(|word| match word {
            "seconds" => Some(Column::Seconds),
            "calls" => Some(Column::Calls),
            "errors" => Some(Column::Errors),
            "syscall" => Some(Column::Name),
            "%time" | "usecs/call" | "shortest" | "longest" => Some(Column::Other),
            _ => None,
        })
        .collect();
    columns.filter(|columns| columns.contains(&Column::Calls) && columns.contains(&Column::Name))
}

/// Reads the first table in `text`; `None` if there is none.
///
/// With `-f` strace prints one table over all processes. What stands in front of it (the program's own
/// output, notes of strace) is passed over.
#[must_use]
pub fn parse(text: &str) -> Option<Table> {
    let mut lines = (1..).zip(text.lines()).skip_while(|(_, line)| columns(line).is_none());
    let columns = columns(lines.next()?.1)?;
    let mut table = Table::default();
    for (number, line) in lines {
        table.lines = number;
        if line.trim().is_empty() || line.starts_with('-') {
            continue;
        }
        match row(line, &columns) {
            Some(row) if row.name == "total" => {
                table.total = Some(row);
                break;
            }
            Some(row) if table.rows.len() < MAX_ROWS => table.rows.push(row),
            _ => {
                table.damaged_lines += 1;
                if table.first_damaged.len() < MAX_DAMAGED {
                    table.first_damaged.push(number);
                }
            }
        }
    }
    Some(table)
}

fn row(line: &str, columns: &[Column]) -> Option<Row> {
    let words: Vec<&str> = line.split_whitespace().collect();
    // The only column that may be empty is that of the errors.
    let empty = match columns.len().checked_sub(words.len())? {
        0 => None,
        1 => Some(columns.iter().position(|column| *column == Column::Errors)?),
        _ => return None,
    };
    let mut row = Row { name: String::new(), calls: 0, errors: 0, seconds: None };
    let mut words = words.into_iter();
    for (at, column) in columns.iter().enumerate() {
        if Some(at) == empty {
            continue;
        }
        let word = words.next()?;
        match column {
            Column::Name => row.name = word.into(),
            Column::Calls => row.calls = word.parse().ok()?,
            Column::Errors => row.errors = word.parse().ok()?,
            Column::Seconds => {
                row.seconds = Some(word.parse().ok().filter(|seconds: &f64| *seconds >= 0.0 && seconds.is_finite())?)
            }
            Column::Other => _ = word.parse::<f64>().ok()?,
        }
    }
    let is_name = row.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
strace: Process 7 attached
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 25.87    0.000829          24        34        13 openat
 19.28    0.000618          20        30           mmap
  0.00    0.000000           0         1         1 access
------ ----------- ----------- --------- --------- ----------------
100.00    0.001447          22        65        14 total
something else
";

    #[test]
    fn a_table_is_read_with_its_sum() {
        let table = parse(TABLE).unwrap();
        let rows: Vec<(&str, u64, u64)> =
            table.rows.iter().map(|row| (row.name.as_str(), row.calls, row.errors)).collect();
        assert_eq!(rows, [("openat", 34, 13), ("mmap", 30, 0), ("access", 1, 1)]);
        assert_eq!(table.rows[0].seconds, Some(0.000_829));
        assert_eq!(table.total.map(|row| (row.calls, row.errors, row.seconds)), Some((65, 14, Some(0.001_447))));
        assert_eq!((table.lines, table.damaged_lines), (8, 0));
    }

    #[test]
    fn columns_stand_in_whatever_order_and_number_was_asked_for() {
        let table = parse("    calls errors syscall\n-- --\n 3  1 read\n 4    write\n").unwrap();
        let rows: Vec<(&str, u64, u64, Option<f64>)> =
            table.rows.iter().map(|row| (row.name.as_str(), row.calls, row.errors, row.seconds)).collect();
        assert_eq!(rows, [("read", 3, 1, None), ("write", 4, 0, None)]);
        assert!(table.total.is_none());
    }

    #[test]
    fn damaged_rows_are_counted_and_other_text_is_no_table() {
        let table = parse(&TABLE.replace("30           mmap", "x           mmap")).unwrap();
        assert_eq!((table.rows.len(), table.damaged_lines, table.first_damaged), (2, 1, vec![5]));
        for text in ["", "calls\n", "a table of calls and a syscall\n", "16:30:05 brk(NULL) = 0\n"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
