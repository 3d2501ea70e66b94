//! Turns the body of an event block into a view of one event, without copying it.
//!
//! Parameters are found by position (see [`schema`](crate::schema) for names). The crate
//! `falco_event` decodes an event only as the current schema has it; captures hold events of many
//! ages, with fewer parameters than today's or with more. Hence this view: it gives whatever
//! parameters stand in the file, and nothing where there is none.

use std::fmt;

use crate::cursor::Cursor;
use crate::schema;

/// Bytes of the event header in front of the parameter lengths, block version 2.
pub(crate) const HEADER: u32 = 26;
/// The same in block version 1, where the parameter count is missing.
const HEADER_V1: u32 = 22;

/// No event has more parameters: `PPM_MAX_EVENT_PARAMS` of `ppm_events_public.h` is 32.
pub(crate) const MAX_PARAMS: u32 = 64;

/// An event whose inner lengths contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MalformedEvent {
    /// Its number in the capture.
    pub number: u64,
}

impl fmt::Display for MalformedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} holds parameter lengths that do not fit in it", self.number)
    }
}

impl std::error::Error for MalformedEvent {}

/// One event, as it stands in the capture.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// Position among the capture's events, from 1, as sysdig's `evt.num` counts.
    pub number: u64,
    /// The CPU it was recorded on.
    pub cpu: u16,
    /// Flags of the block, 0 where the block has none.
    pub flags: u32,
    /// Nanoseconds since the epoch.
    pub timestamp_ns: u64,
    /// The thread it belongs to (host namespace), or -1.
    pub tid: i64,
    /// Number in the event table (`PPME_…` of falcosecurity/libs); even: enter, odd: exit.
    pub event_type: u16,
    nparams: u32,
    wide: bool,
    payload: &'a [u8],
}

/// Layout of an event block, from its type number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) counted: bool,
    pub(crate) flagged: bool,
    pub(crate) wide: bool,
}

impl<'a> Event<'a> {
    /// Reads the body of an event block. `None`: the body cannot hold the event it announces.
    #[inline]
    pub(crate) fn read(body: &'a [u8], layout: Layout, number: u64) -> Option<Self> {
        let mut body = Cursor::new(body);
        let cpu = body.u16()?;
        let flags = if layout.flagged { body.u32()? } else { 0 };
        let timestamp_ns = body.u64()?;
        let tid = body.i64()?;
        let length = body.u32()?;
        let event_type = body.u16()?;
        let header = if layout.counted { HEADER } else { HEADER_V1 };
        let nparams = if layout.counted { body.u32()? } else { 0 };
        let payload = body.bytes(length.checked_sub(header)? as usize)?;
        let event = Self { number, cpu, flags, timestamp_ns, tid, event_type, nparams, wide: layout.wide, payload };
        if layout.counted { Some(event) } else { event.count_params() }
    }

    /// An event that comes from elsewhere than a file, such as Falco's plugin API: `payload` is what follows the
    /// event header, the lengths of `nparams` parameters in 16 bits each, then their values.
    #[inline]
    #[must_use]
    pub fn from_parts(
        number: u64,
        timestamp_ns: u64,
        tid: i64,
        event_type: u16,
        nparams: u32,
        payload: &'a [u8],
    ) -> Self {
        Self { number, cpu: 0, flags: 0, timestamp_ns, tid, event_type, nparams, wide: false, payload }
    }

    /// The same for the block that nearly every event is in: counted, without flags, not wide.
    #[inline]
    pub(crate) fn read_v2(body: &'a [u8], number: u64) -> Option<Self> {
        let header: &[u8; 2 + HEADER as usize] = body.first_chunk()?;
        let u32_at = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        let length = u32_at(18) as usize;
        Some(Self {
            number,
            cpu: u16::from_le_bytes([header[0], header[1]]),
            flags: 0,
            timestamp_ns: u64_at(2),
            tid: u64_at(10).cast_signed(),
            event_type: u16::from_le_bytes([header[22], header[23]]),
            nparams: u32_at(24),
            wide: false,
            // A length below the header's makes the range run backwards, which is none.
            payload: body.get(header.len()..length.checked_add(2)?)?,
        })
    }

    /// Finds how many parameters a version 1 event has, which its header does not say: the count
    /// at which lengths and values fill the event. One count at most does, for each further length
    /// takes two bytes away from the values.
    fn count_params(mut self) -> Option<Self> {
        let payload = schema::v1_payload(self.event_type, self.payload)?;
        let mut lengths = Cursor::new(payload);
        let mut values = 0;
        self.payload = payload;
        self.nparams = 0;
        while lengths.left() > values && self.nparams < MAX_PARAMS {
            values += usize::from(lengths.u16()?);
            self.nparams += 1;
        }
        (lengths.left() == values).then_some(self)
    }

    /// Whether the event is recorded on the way out of a system call.
    #[inline]
    #[must_use]
    pub fn is_exit(&self) -> bool {
        self.event_type % 2 == 1
    }

    /// How many parameters the event says it has.
    #[must_use]
    pub fn param_count(&self) -> u32 {
        self.nparams
    }

    /// The event's parameters, their lengths checked against the event.
    ///
    /// # Errors
    /// [`MalformedEvent`] if the lengths do not fit.
    #[inline]
    pub fn params(&self) -> Result<Params<'a>, MalformedEvent> {
        let malformed = MalformedEvent { number: self.number };
        if self.nparams > MAX_PARAMS {
            return Err(malformed);
        }
        let width = if self.wide { 4 } else { 2 };
        let size = self.nparams as usize * width;
        let (lengths, values) = self.payload.split_at_checked(size).ok_or(malformed)?;
        let params = Params { lengths, values, width };
        let total = (0..self.nparams as usize).try_fold(0usize, |sum, i| sum.checked_add(params.length(i)?));
        if total.is_some_and(|total| total <= values.len()) { Ok(params) } else { Err(malformed) }
    }

    /// The value bytes of parameter `index` (from 0); `None` where the event has no such parameter
    /// or is malformed.
    #[inline]
    #[must_use]
    pub fn param(&self, index: usize) -> Option<&'a [u8]> {
        self.params().ok()?.get(index)
    }

    /// The first parameter as a signed number of 8 bytes, without a look at the others: for events that
    /// come by the million.
    #[inline]
    #[must_use]
    pub fn first_signed(&self) -> Option<i64> {
        if self.wide || self.nparams == 0 || self.nparams > MAX_PARAMS || self.payload.first_chunk()? != &[8, 0] {
            return None;
        }
        let value = self.payload.get(self.nparams as usize * 2..)?.first_chunk()?;
        Some(i64::from_le_bytes(*value))
    }

    /// The values of an event whose parameters have exactly these lengths, one after the other: for
    /// events that come by the million, a comparison in place of a walk.
    #[inline]
    #[must_use]
    pub fn values_of<const N: usize>(&self, lengths: [u16; N]) -> Option<&'a [u8]> {
        let (stated, values) = self.payload.split_at_checked(N * 2)?;
        let exact = !self.wide
            && self.nparams as usize == N
            && stated.chunks_exact(2).zip(lengths).all(|(stated, length)| stated == length.to_le_bytes());
        if exact { values.get(..lengths.iter().map(|length| usize::from(*length)).sum()) } else { None }
    }

    /// Whether the lengths of its parameters are 32 bits wide.
    pub(crate) fn wide(&self) -> bool {
        self.wide
    }

    /// Everything after the event header: parameter lengths, then values.
    pub(crate) fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// The parameters of one event, in order. All lengths are known to fit.
#[derive(Debug, Clone, Copy)]
pub struct Params<'a> {
    lengths: &'a [u8],
    values: &'a [u8],
    width: usize,
}

impl<'a> Params<'a> {
    #[inline]
    fn length(&self, index: usize) -> Option<usize> {
        let at = index * self.width;
        if self.width == 2 {
            let bytes = self.lengths.get(at..at + 2)?;
            Some(u16::from_le_bytes([bytes[0], bytes[1]]).into())
        } else {
            let bytes = self.lengths.get(at..at + 4)?;
            Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
        }
    }

    /// The value bytes of parameter `index`, from 0.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        let start: usize = (0..index).map(|i| self.length(i)).sum::<Option<usize>>()?;
        self.values.get(start..start + self.length(index)?)
    }

    /// Parameter `index` as an unsigned number of 1, 2, 4 or 8 bytes.
    #[inline]
    #[must_use]
    pub fn unsigned(&self, index: usize) -> Option<u64> {
        match *self.get(index)? {
            [a] => Some(a.into()),
            [a, b] => Some(u16::from_le_bytes([a, b]).into()),
            [a, b, c, d] => Some(u32::from_le_bytes([a, b, c, d]).into()),
            [a, b, c, d, e, f, g, h] => Some(u64::from_le_bytes([a, b, c, d, e, f, g, h])),
            _ => None,
        }
    }

    /// Parameter `index` as a signed number of 8 bytes (system call results, descriptors, pids).
    #[inline]
    #[must_use]
    pub fn signed(&self, index: usize) -> Option<i64> {
        self.get(index)?.try_into().ok().map(i64::from_le_bytes)
    }

    /// Parameter `index` as a string, without its closing NUL.
    #[must_use]
    pub fn string(&self, index: usize) -> Option<&'a [u8]> {
        let bytes = self.get(index)?;
        Some(bytes.strip_suffix(b"\0").unwrap_or(bytes))
    }
}
