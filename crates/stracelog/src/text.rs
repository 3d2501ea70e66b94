//! Takes apart what strace prints between parentheses: arguments, strings, numbers.

/// Where a call's arguments end, and the arguments in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arguments<'a> {
    /// What stands between the parentheses.
    pub inside: &'a [u8],
    /// What follows the closing one.
    pub behind: &'a [u8],
}

/// Reads arguments up to the parenthesis that closes them; `text` begins behind the opening one.
pub(crate) fn arguments(text: &[u8]) -> Option<Arguments<'_>> {
    let mut rest = Pieces::new(text);
    let mut depth = 0usize;
    while let Some(piece) = rest.next() {
        match piece {
            Piece::Open => depth += 1,
            Piece::Close if depth > 0 => depth -= 1,
            Piece::Close if text[rest.at - 1] == b')' => {
                return Some(Arguments { inside: &text[..rest.at - 1], behind: &text[rest.at..] });
            }
            Piece::Close | Piece::Comma | Piece::Other => {}
        }
    }
    None
}

/// Splits arguments, or the elements of a list, at the commas between them.
pub(crate) fn split(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Pieces::new(text);
    let mut start = Some(0);
    std::iter::from_fn(move || {
        let from = start?;
        let mut depth = 0usize;
        while let Some(piece) = rest.next() {
            match piece {
                Piece::Open => depth += 1,
                Piece::Close => depth = depth.saturating_sub(1),
                Piece::Comma if depth == 0 => {
                    start = Some(rest.at);
                    return Some(text[from..rest.at - 1].trim_ascii());
                }
                Piece::Comma | Piece::Other => {}
            }
        }
        start = None;
        Some(text[from..].trim_ascii()).filter(|last| from > 0 || !last.is_empty())
    })
}

/// Something in a row of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Open,
    Close,
    Comma,
    Other,
}

/// Walks over a row of arguments, strings, comments and the names of descriptors in one step each.
struct Pieces<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Pieces<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// Steps behind the next `end` that no backslash protects, or to the end of the text.
    fn pass(&mut self, end: u8) {
        while let Some(byte) = self.text.get(self.at) {
            self.at += if *byte == b'\\' { 2 } else { 1 };
            if *byte == end {
                return;
            }
        }
        self.at = self.text.len();
    }

    /// Steps behind `3<socket:[123]>` or `4<TCP:[127.0.0.1:80->127.0.0.1:4000]>`: strace escapes the angles of
    /// paths, and what else has any stands in brackets.
    fn pass_annotation(&mut self) {
        let mut brackets = 0usize;
        while let Some(byte) = self.text.get(self.at) {
            self.at += 1;
            match byte {
                b'[' => brackets += 1,
                b']' => brackets = brackets.saturating_sub(1),
                b'>' if brackets == 0 => return,
                _ => {}
            }
        }
    }

    fn next(&mut self) -> Option<Piece> {
        let byte = *self.text.get(self.at)?;
        let before = self.at.checked_sub(1).and_then(|at| self.text.get(at));
        let after = self.text.get(self.at + 1);
        self.at += 1;
        Some(match byte {
            b'(' | b'[' | b'{' => Piece::Open,
            b')' | b']' | b'}' => Piece::Close,
            b',' => Piece::Comma,
            b'"' => {
                self.pass(b'"');
                Piece::Other
            }
            b'/' if after == Some(&b'*') => {
                let end = self.text[self.at..].windows(2).position(|two| two == b"*/");
                self.at = end.map_or(self.text.len(), |end| self.at + end + 2);
                Piece::Other
            }
            b'<' if before.is_some_and(|byte| byte.is_ascii_digit() || *byte == b'D')
                && after.is_some_and(|byte| !matches!(byte, b'<' | b' ' | b'=' | b'.')) =>
            {
                self.pass_annotation();
                Piece::Other
            }
            _ => Piece::Other,
        })
    }
}

/// A string as strace quotes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quoted {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// strace left out the rest (`"..."...`).
    pub cut: bool,
}

/// Decodes `"\177ELF\2\1"...`; `None` for what is no string.
pub(crate) fn quoted(text: &[u8]) -> Option<Quoted> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut bytes = Vec::new();
    loop {
        let (byte, behind) = rest.split_first()?;
        rest = behind;
        match byte {
            b'"' => return Some(Quoted { bytes, cut: rest.starts_with(b"...") }),
            b'\\' => {
                let (byte, behind) = escaped(rest)?;
                bytes.push(byte);
                rest = behind;
            }
            _ => bytes.push(*byte),
        }
    }
}

/// What a backslash stands for: one to three octal digits, `x` and two hexadecimal ones, or a letter.
fn escaped(text: &[u8]) -> Option<(u8, &[u8])> {
    let (first, behind) = text.split_first()?;
    Some(match first {
        b'0'..=b'7' => {
            let length = text.iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
            let value = text[..length].iter().fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            // Three digits can make more than a byte holds; strace writes none of these.
            (value.to_le_bytes()[0], &text[length..])
        }
        b'x' => {
            let digits = behind.get(..2)?;
            let value = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
            (value, &behind[2..])
        }
        b'n' => (b'\n', behind),
        b't' => (b'\t', behind),
        b'r' => (b'\r', behind),
        b'v' => (0x0B, behind),
        b'f' => (0x0C, behind),
        other => (*other, behind),
    })
}

/// A number as strace prints it, at the start of `text`: decimal, hexadecimal, octal, `8192*1024`, `NULL`.
/// Unsigned numbers of 64 bits keep their bits.
pub(crate) fn number(text: &[u8]) -> Option<i64> {
    if text.starts_with(b"NULL") {
        return Some(0);
    }
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let mut value = 1u64;
    let mut factors = digits;
    loop {
        let (factor, behind) = digits_of(factors)?;
        value = value.checked_mul(factor)?;
        match behind.strip_prefix(b"*") {
            Some(more) => factors = more,
            None => break,
        }
    }
    Some(if negative { value.cast_signed().wrapping_neg() } else { value.cast_signed() })
}

/// The digits at the start of `text`, and what follows them.
fn digits_of(text: &[u8]) -> Option<(u64, &[u8])> {
    let (radix, digits) = match text {
        [b'0', b'x', rest @ ..] => (16, rest),
        [b'0', rest @ ..] if rest.first().is_some_and(u8::is_ascii_digit) => (8, rest),
        _ => (10, text),
    };
    let length = digits.iter().take_while(|byte| char::from(**byte).is_digit(radix)).count();
    let (digits, behind) = digits.split_at(length);
    Some((u64::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()?, behind))
}

/// The first occurrence of `needle`.
pub(crate) fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|window| window == needle)
}

/// The field `name` of a printed structure: `si_addr=0x10`.
pub(crate) fn field<'a>(structure: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let inside = structure.strip_prefix(b"{").map_or(structure, |rest| rest.strip_suffix(b"}").unwrap_or(rest));
    split(inside).find_map(|field| field.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<String> {
        let arguments = arguments(text.as_bytes()).unwrap();
        let inside = split(arguments.inside).map(|part| String::from_utf8(part.to_vec()).unwrap());
        inside.chain([format!("behind:{}", String::from_utf8_lossy(arguments.behind))]).collect()
    }

    #[test]
    fn arguments_end_at_their_own_parenthesis() {
        assert_eq!(parts(") = 0"), ["behind: = 0"]);
        assert_eq!(parts("3, \"a, \\\") = 1\", 5) = 5"), ["3", "\"a, \\\") = 1\"", "5", "behind: = 5"]);
        assert_eq!(parts("\"x\", {st_mode=S_IFREG|0644, st_size=1, ...}, 0) = 0").len(), 4);
        assert_eq!(parts("\"/usr/bin/ls\", [\"ls\", \"/\"], 0x7fff /* 39 vars, (a */) = 0").len(), 4);
        assert_eq!(parts("{flags=A|B, tls=0x7f} => {parent_tid=[7]}, 88) = 7").len(), 3);
        assert_eq!(arguments(b"3, \"abc"), None);
    }

    #[test]
    fn names_of_descriptors_may_hold_anything() {
        assert_eq!(parts("3</tmp/a, (b>, \"\", 0) = 0"), ["3</tmp/a, (b>", "\"\"", "0", "behind: = 0"]);
        assert_eq!(parts("4<TCP:[127.0.0.1:1->[::1]:2]>, 1) = 0")[0], "4<TCP:[127.0.0.1:1->[::1]:2]>");
        assert_eq!(parts("AT_FDCWD</srv/(a>, \"b\") = 3")[0], "AT_FDCWD</srv/(a>");
        assert_eq!(parts("1<<20, 2) = 0"), ["1<<20", "2", "behind: = 0"]);
    }

    #[test]
    fn strings_are_decoded() {
        let decode = |text: &[u8]| quoted(text).map(|quoted| (quoted.bytes, quoted.cut));
        assert_eq!(
            decode(br#""\177ELF\2\1\0019\x7f\n\t\"\\""#),
            Some((b"\x7fELF\x02\x01\x019\x7f\n\t\"\\".to_vec(), false))
        );
        assert_eq!(decode(b"\"abc\"..."), Some((b"abc".to_vec(), true)));
        for broken in [&b"abc"[..], b"\"abc", b"\"a\\", b"\"\\xg1\"", b""] {
            assert_eq!(decode(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn numbers_are_read_in_every_base() {
        for (text, value) in [
            ("0", 0),
            ("42</a>", 42),
            ("-100", -100),
            ("0x7f", 127),
            ("0644", 0o644),
            ("NULL", 0),
            ("8192*1024", 8192 * 1024),
            ("0xffffffffffffffff", -1),
            ("18446744073709551615", -1),
        ] {
            assert_eq!(number(text.as_bytes()), Some(value), "{text}");
        }
        for text in ["", "-", "O_RDONLY", "99999999999999999999999", "0x", "18446744073709551615*2"] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn fields_of_a_structure_are_found_by_name() {
        let info = b"{si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=0x10}";
        assert_eq!(field(info, "si_code"), Some(&b"SEGV_MAPERR"[..]));
        assert_eq!(field(info, "si_addr").and_then(number), Some(16));
        assert_eq!(field(info, "si_pid"), None);
    }
}
