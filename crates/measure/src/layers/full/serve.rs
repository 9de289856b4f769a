//! The machine's end: it counts the ranges that come in, and answers with what it saw.

use std::io::{BufRead, Read};
use std::ops::Range;

use serde_json::{Value, json};

use super::super::{Disturbed, Failure, How, Layer, Pass, Ticks, User};

/// Longest line that is read.
const LINE: u64 = 256;

/// A range as a line.
pub(super) fn request(range: &Range<u64>) -> String {
    format!("{} {}\n", range.start, range.end)
}

fn read_request(line: &str) -> Option<Range<u64>> {
    let (start, end) = line.trim_end().split_once(' ')?;
    Some(start.parse().ok()?..end.parse().ok()?)
}

/// Counts the primes in each range that `requests` has a line for, bound to the first CPU, and answers each with a line,
/// until there are no more.
pub fn serve(mut requests: impl BufRead, answer: &mut dyn FnMut(&str)) {
    let mut user = User::start(How::Bound(0), Ticks::calibrate());
    loop {
        let mut line = String::new();
        match requests.by_ref().take(LINE).read_line(&mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let done = match (&mut user, read_request(&line)) {
            (_, None) => Err(Failure::new(format!("{:?} is no range", line.trim_end()))),
            (Err(failure), _) => Err(failure.clone()),
            (Ok(user), Some(range)) => user.pass(range),
        };
        answer(&told(&done));
    }
}

/// An answer as a line of JSON.
fn told(done: &Result<Pass, Failure>) -> String {
    let value = match done {
        Err(failure) => json!({ "failed": failure.reason }),
        Ok(pass) => json!({
            "primes": pass.primes,
            "seconds": pass.seconds,
            "clock": pass.clock,
            "clock_moved": pass.clock_moved,
            "crc": pass.crc,
            "page_offset": pass.page_offset,
            "interrupts": pass.disturbed.interrupts,
            "softirqs": pass.disturbed.softirqs,
            "involuntary": pass.disturbed.involuntary,
            "voluntary": pass.disturbed.voluntary,
            "migrations": pass.disturbed.migrations,
        }),
    };
    format!("{value}\n")
}

/// The answer of a line; what disturbed the machine's thread is the machine's own count. Its CPUs are not the host's.
pub(super) fn read_answer(line: &str) -> Result<Pass, Failure> {
    let unclear =
        || Failure::new(format!("the machine answered {:?}", line.chars().take(80).collect::<String>()));
    let value: Value = serde_json::from_str(line).map_err(|_| unclear())?;
    if let Some(reason) = value.get("failed").and_then(Value::as_str) {
        return Err(Failure::new(format!("in the machine: {reason}")));
    }
    let whole = |key: &str| value.get(key).and_then(Value::as_u64);
    let figure = |key: &str| value.get(key).and_then(Value::as_f64);
    let read = || {
        Some(Pass {
            primes: whole("primes")?,
            seconds: figure("seconds")?,
            clock: figure("clock")?,
            clock_moved: figure("clock_moved")?,
            crc: whole("crc")?.try_into().ok()?,
            page_offset: whole("page_offset")?.try_into().ok()?,
            cpu_from: None,
            cpu_to: None,
            disturbed: Disturbed {
                interrupts: whole("interrupts"),
                softirqs: whole("softirqs"),
                involuntary: whole("involuntary"),
                voluntary: whole("voluntary"),
                migrations: whole("migrations"),
                stolen: None,
            },
        })
    };
    read().ok_or_else(unclear)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_asked_over_the_port_is_counted_and_told() {
        let asked = [request(&(0..1000)), "nonsense\n".to_owned(), request(&(10..20))].concat();
        let mut answers = Vec::new();
        serve(asked.as_bytes(), &mut |answer| answers.push(answer.to_owned()));
        assert_eq!(answers.len(), 3);
        // Where this process may not use the first CPU, the machine's own would all the same.
        if crate::pin::allowed().is_some_and(|cpus| cpus.contains(0)) {
            let pass = read_answer(&answers[0]).unwrap();
            assert_eq!((pass.primes, pass.page_offset), (168, 0));
            assert_eq!(pass.crc, super::super::super::crc32(kernels::primes::code()));
            assert!(pass.seconds > 0.0 && pass.clock > 0.0);
            assert_eq!(read_answer(&answers[2]).unwrap().primes, 4);
        }
        assert!(read_answer(&answers[1]).unwrap_err().reason.contains("no range"));
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "\\PC{0,60}") {
            let _ = read_answer(&line);
            let _ = read_request(&line);
        }
    }
}
