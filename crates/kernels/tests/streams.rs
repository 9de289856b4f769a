//! Checks that every stream computes its operation correctly, in every variant that this CPU supports, and modifies
//! nothing else.

use kernels::Variant;
use kernels::stream::{self, CONSTANT, Op, Stores, Stream};

/// A line of doubles.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line([f64; 8]);

/// Lines per array; the tested lengths end within it.
const LINES: usize = 2 * 3072 / 64;
/// The initial contents of dst: a value that no operation produces.
const BEFORE: f64 = -1.0;

/// Test data: different at each index, and exact in every operation.
fn a(i: usize) -> f64 {
    i as f64 + 0.5
}
fn b(i: usize) -> f64 {
    4096.0 - i as f64
}

/// The expected value of `dst[i]` after a run over whole blocks that include it.
fn expected(op: Op, i: usize) -> f64 {
    let line = i / 8;
    let last_of = |lines: usize| if line % lines == lines - 1 { CONSTANT } else { BEFORE };
    match op {
        Op::Read => BEFORE,
        Op::Write => CONSTANT,
        Op::Copy => a(i),
        Op::Scale => CONSTANT * a(i),
        Op::Add => a(i) + b(i),
        Op::Triad => a(i) + CONSTANT * b(i),
        Op::Read3Write1 => last_of(4),
        Op::Read2Write1 => last_of(3),
        Op::Read1Write1 => last_of(2),
    }
}

fn array(value: impl Fn(usize) -> f64) -> Vec<Line> {
    (0..LINES).map(|line| Line(std::array::from_fn(|i| value(8 * line + i)))).collect()
}

fn check(stream: &Stream, bytes: usize) {
    let name = format!("{} {} {} over {bytes} bytes", stream.op, stream.stores, stream.variant);
    let (from_a, from_b) = (array(a), array(b));
    let mut dst = array(|_| BEFORE);
    // SAFETY: the caller has checked that the variant is usable; the arrays are aligned lines and longer than `bytes`.
    unsafe {
        (stream.run)(dst.as_mut_ptr().cast(), from_a.as_ptr().cast(), from_b.as_ptr().cast(), bytes);
    }
    let covered = bytes / stream.op.block() * stream.op.block() / 8;
    for (i, value) in dst.iter().flat_map(|line| line.0).enumerate() {
        let should = if i < covered { expected(stream.op, i) } else { BEFORE };
        assert_eq!(value, should, "{name}: dst[{i}]");
    }
    assert_eq!(from_a, array(a), "{name}: a was written");
    assert_eq!(from_b, array(b), "{name}: b was written");
}

#[test]
fn every_stream_computes_what_it_says_and_stays_within_its_extent() {
    // A loop that skips part of its work would show too high a bandwidth.
    let mut checked = 0;
    for stream in stream::all() {
        if !stream.variant.usable() {
            println!("{} {} {}: not on this CPU", stream.op, stream.stores, stream.variant);
            continue;
        }
        for bytes in [0, 63, 1024, 3072, 3072 + 1024] {
            check(stream, bytes);
        }
        checked += 1;
    }
    assert!(checked >= 17, "at least one vector width: {checked}");
}

#[test]
fn arrays_that_an_operation_does_not_have_may_be_null() {
    for stream in stream::all().iter().filter(|stream| stream.variant.usable() && stream.arrays == 1) {
        let mut only = array(|_| BEFORE);
        let at = only.as_mut_ptr().cast::<f64>();
        let null = std::ptr::null_mut();
        // SAFETY: as in `check`; with one array the loop has no other.
        unsafe {
            match stream.op {
                Op::Read => (stream.run)(null, at, null, 3072),
                _ => (stream.run)(at, null, null, 3072),
            }
        }
        assert_eq!(only[11].0[7], expected(stream.op, 95), "{}", stream.op);
    }
}

#[test]
fn each_operation_has_each_kind_of_stores_in_each_width() {
    for &op in Op::ALL {
        for &stores in Stores::ALL {
            for variant in Variant::usable_vectors() {
                let found = stream::find(op, stores, variant);
                let reads_only = op == Op::Read && stores == Stores::Streaming;
                assert_eq!(found.is_none(), reads_only, "{op} {stores} {variant}");
            }
        }
    }
}

#[test]
fn bytes_are_counted_as_stream_and_as_the_bus_count_them() {
    // Per 8-byte element, as in published tables: (operation, STREAM's bytes, bus bytes with regular stores).
    let table = [
        (Op::Read, 8.0, 8.0),
        (Op::Write, 8.0, 16.0),
        (Op::Copy, 16.0, 24.0),
        (Op::Scale, 16.0, 24.0),
        (Op::Add, 24.0, 32.0),
        (Op::Triad, 24.0, 32.0),
        (Op::Read3Write1, 8.0, 10.0),
        (Op::Read2Write1, 8.0, 8.0 * 4.0 / 3.0),
        (Op::Read1Write1, 8.0, 12.0),
    ];
    for (op, stream_bytes, bus_bytes) in table {
        for stream in stream::all().iter().filter(|stream| stream.op == op) {
            let elements = (op.block() / 8) as f64;
            let bus = if stream.stores == Stores::Streaming { stream_bytes } else { bus_bytes };
            let close = |bytes: u32, each: f64| (f64::from(bytes) / elements - each).abs() < 1e-9;
            assert!(close(stream.stream_bytes(), stream_bytes), "{op} {}", stream.stores);
            assert!(close(stream.bus_bytes(), bus), "{op} {}", stream.stores);
        }
    }
}
