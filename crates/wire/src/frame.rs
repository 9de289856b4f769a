//! Frames: pieces of a byte stream with their kind, order, length and checksum. A raw serial port is unreliable: the firmware may write to it
//! before the kernel runs, and a full buffer may lose bytes.

/// The beginning of a frame. This sequence does not occur in text: its first byte is invalid in UTF-8.
const MAGIC: [u8; 4] = [0xff, b'L', b'S', b'1'];
/// Length of the header: magic, kind, sequence number, payload length.
const HEAD: usize = 4 + 1 + 4 + 4;
/// Length of the checksum after the payload.
const TAIL: usize = 4;
/// Maximum payload of a frame in bytes. If a length is corrupt, at most this much of the stream is lost.
pub const LARGEST: usize = 4096;

/// The contents of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::FromRepr)]
#[repr(u8)]
pub enum Kind {
    /// The machine has booted and is about to run the program; no payload.
    Started = b's',
    /// Standard output of the program.
    Output = b'o',
    /// Standard error of the program.
    Error = b'e',
    /// Part of the record.
    Record = b'r',
    /// A message for the host to report, such as a failed mount.
    Note = b'n',
    /// The exit status of the program, as a line of `exit N` or `signal N`.
    Ended = b'x',
}

/// One complete, verified frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The kind of contents.
    pub kind: Kind,
    /// 0 for the first frame of a stream, incremented for each subsequent one.
    pub number: u32,
    /// The frame's payload, at most [`LARGEST`] bytes.
    pub payload: Vec<u8>,
}

/// Splits a payload into frames numbered from `number`, which is advanced to the next free number. An empty payload becomes one frame.
pub fn encode(kind: Kind, number: &mut u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(payload.len() + HEAD + TAIL);
    let mut rest = payload;
    loop {
        let (part, after) = rest.split_at(rest.len().min(LARGEST));
        let start = bytes.len();
        bytes.extend(MAGIC);
        bytes.push(kind as u8);
        bytes.extend(number.to_le_bytes());
        bytes.extend((part.len() as u32).to_le_bytes());
        bytes.extend(part);
        let sum = crc32(&bytes[start + MAGIC.len()..]);
        bytes.extend(sum.to_le_bytes());
        *number = number.wrapping_add(1);
        rest = after;
        if rest.is_empty() {
            return bytes;
        }
    }
}

/// Extracts frames from a stream as its bytes arrive.
#[derive(Debug, Default)]
pub struct Reader {
    pending: Vec<u8>,
    expected: u32,
    lost: u32,
    noise: Vec<u8>,
}

/// Maximum number of bytes outside frames that are saved for display.
const NOISE_KEPT: usize = 4096;

impl Reader {
    /// A reader at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds received bytes and returns the frames that are now complete.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Frame> {
        self.pending.extend(bytes);
        let mut frames = Vec::new();
        let mut at = 0;
        while at < self.pending.len() {
            match read(&self.pending[at..]) {
                Read::Frame(frame, used) => {
                    // A frame whose number is below the expected one belongs to another stream, so no frame was lost.
                    self.lost = self.lost.saturating_add(frame.number.saturating_sub(self.expected));
                    self.expected = frame.number.wrapping_add(1);
                    frames.push(frame);
                    at += used;
                }
                Read::More => break,
                Read::Noise => {
                    if self.noise.len() < NOISE_KEPT {
                        self.noise.push(self.pending[at]);
                    }
                    at += 1;
                }
            }
        }
        self.pending.drain(..at);
        frames
    }

    /// Number of frames that did not arrive intact.
    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// The first bytes outside any frame.
    pub fn noise(&self) -> &[u8] {
        &self.noise
    }
}

enum Read {
    Frame(Frame, usize),
    /// The bytes may be the beginning of a frame; more bytes are needed.
    More,
    /// The first byte belongs to no frame.
    Noise,
}

fn read(bytes: &[u8]) -> Read {
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] {
        return Read::Noise;
    }
    if bytes.len() < HEAD {
        return Read::More;
    }
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let length = word(9) as usize;
    let (Some(kind), true) = (Kind::from_repr(bytes[4]), length <= LARGEST) else { return Read::Noise };
    let end = HEAD + length;
    if bytes.len() < end + TAIL {
        return Read::More;
    }
    if crc32(&bytes[MAGIC.len()..end]) != word(end) {
        return Read::Noise;
    }
    Read::Frame(Frame { kind, number: word(5), payload: bytes[HEAD..end].to_vec() }, end + TAIL)
}

/// CRC-32 as in Ethernet and zip (reflected polynomial 0xEDB88320), computed one bit at a time, which is fast enough for the data on a
/// serial port and for the code of a routine.
pub fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_checksum_is_the_one_of_zip() {
        // The check value of CRC-32/ISO-HDLC in all catalogs of checksums.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn a_record_longer_than_a_frame_arrives_in_order() {
        let record: Vec<u8> = (0..10_000u32).map(|i| (i * 7) as u8).collect();
        let mut number = 0;
        let mut stream = encode(Kind::Started, &mut number, b"");
        stream.extend(encode(Kind::Record, &mut number, &record));
        let mut reader = Reader::new();
        // As received from a serial port: a few bytes at a time.
        let frames: Vec<Frame> = stream.chunks(13).flat_map(|bytes| reader.take(bytes)).collect();
        assert_eq!(frames[0].kind, Kind::Started);
        let arrived: Vec<u8> = frames[1..].iter().flat_map(|frame| frame.payload.clone()).collect();
        assert_eq!((arrived, reader.lost()), (record, 0));
    }

    #[test]
    fn a_damaged_frame_is_missed_and_the_next_one_read() {
        let mut number = 0;
        let mut stream = b"Booting from ROM..\r\n".to_vec();
        stream.extend(encode(Kind::Output, &mut number, b"one"));
        let start = stream.len();
        stream.extend(encode(Kind::Output, &mut number, b"two"));
        stream[start + HEAD] ^= 1;
        stream.extend(encode(Kind::Ended, &mut number, b"exit 0"));
        let mut reader = Reader::new();
        let frames = reader.take(&stream);
        let payloads: Vec<&[u8]> = frames.iter().map(|frame| frame.payload.as_slice()).collect();
        assert_eq!(payloads, [b"one".as_slice(), b"exit 0"]);
        assert_eq!(reader.lost(), 1);
        assert!(reader.noise().starts_with(b"Booting from ROM"));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20)) {
            let mut reader = Reader::new();
            for chunk in chunks {
                let _ = reader.take(&chunk);
            }
        }

        #[test]
        fn noise_around_frames_costs_none_of_them(
            before in proptest::collection::vec(0u8..0xff, 0..30),
            payload in proptest::collection::vec(any::<u8>(), 0..9000),
            between in proptest::collection::vec(0u8..0xff, 0..30),
            chunk in 1usize..500,
        ) {
            let mut number = 0;
            let mut stream = before;
            stream.extend(encode(Kind::Record, &mut number, &payload));
            stream.extend(between);
            stream.extend(encode(Kind::Ended, &mut number, b"exit 0"));
            let mut reader = Reader::new();
            let frames: Vec<Frame> = stream.chunks(chunk).flat_map(|bytes| reader.take(bytes)).collect();
            prop_assert_eq!(reader.lost(), 0);
            let (last, parts) = frames.split_last().unwrap();
            prop_assert_eq!(last.kind, Kind::Ended);
            prop_assert_eq!(parts.iter().flat_map(|part| part.payload.clone()).collect::<Vec<u8>>(), payload);
        }
    }
}
