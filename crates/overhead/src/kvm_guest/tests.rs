//! Tests guests on this machine's KVM, if available, and on files that are not KVM devices.

use super::*;
use record::text::Value;
use std::path::PathBuf;

/// A stop request that is never made.
static NEVER: Stop = Stop::new();

fn cpu() -> u32 {
    os::current_cpu().unwrap_or(0)
}

fn found(path: &Path) -> Found {
    probe(path, cpu(), Some("none"), (Ticks::calibrate(), &NEVER))
}

#[test]
fn a_guest_counts_what_the_program_counts_with_the_same_bytes() {
    let found = found(Path::new(PATH));
    assert!(found.kind != Kind::None || (found.user.is_err() && found.kernel.is_err()));
    for mut guest in [found.user, found.kernel].into_iter().flatten() {
        let layer = guest.name().layer;
        for range in [0..30_000, 990_000..1_000_000, 5..5, 0..3] {
            let pass = guest.pass(range.clone()).unwrap();
            assert_eq!(pass.primes, kernels::primes::count(range.start, range.end), "{layer} {range:?}");
            assert_eq!(pass.crc, crate::crc32(kernels::primes::code()), "{layer}: different bytes");
            assert_eq!(pass.page_offset as usize, kernels::primes::code().as_ptr().addr() % 4096, "{layer}");
            assert!(pass.seconds > 0.0 && pass.clock > 0.0, "{layer}: {pass:?}");
            assert_eq!((pass.cpu_from, pass.cpu_to), (Some(guest.cpu), Some(guest.cpu)), "{layer}");
        }
    }
}

fn spoil(guest: &mut Guest) {
    let spoil = |running: &mut Running| {
        running.spoil();
        Ok(())
    };
    guest.thread.run(None, spoil).unwrap();
}

/// Whether the guest could be ended.
fn is_ended(failure: &Unavailable) -> bool {
    matches!(failure.reason.value("end"), Some(Value::Sentence(end)) if end.code() == Some("kvm-guest-ended"))
}

#[test]
fn a_guest_that_never_ends_is_ended() {
    let Ok(mut guest) = found(Path::new(PATH)).user else { return };
    spoil(&mut guest);
    guest.patience.limit = Duration::from_millis(200);
    let failure = guest.pass(0..10).unwrap_err();
    assert_eq!(failure.reason.value("limit"), Some(&Value::Figure(0.2, "s")), "{}", failure.reason);
    assert!(is_ended(&failure), "{}", failure.reason);
    // A guest thread that has ended does not start again, and dropping it does not block.
    assert_eq!(guest.pass(0..10).unwrap_err(), failure);
}

#[test]
fn a_signal_ends_a_guest_that_never_ends() {
    static ASKED: Stop = Stop::new();
    let Ok(mut guest) = probe(Path::new(PATH), cpu(), Some("none"), (Ticks::calibrate(), &ASKED)).user else {
        return;
    };
    spoil(&mut guest);
    let from = std::time::Instant::now();
    let asker = std::thread::spawn(|| {
        std::thread::sleep(Duration::from_millis(100));
        ASKED.ask(libc::SIGINT);
    });
    let failure = guest.pass(0..10).unwrap_err();
    asker.join().unwrap();
    assert_eq!(failure.reason.value("signal"), Some(&"2".into()), "{}", failure.reason);
    assert!(is_ended(&failure), "{}", failure.reason);
    assert!(from.elapsed() < LIMIT, "the time limit ended it instead");
}

#[test]
fn no_device_is_two_rows_with_a_reason_and_a_way_out() {
    let found = found(&PathBuf::from("/nonexistent/kvm"));
    assert_eq!(found.kind, Kind::None);
    let Layers { running, missing } = found.into_layers(3);
    assert!(running.is_empty());
    let names: Vec<String> = missing.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names, ["guest user, pinned to CPU 3", "guest kernel, pinned to CPU 3"]);
    for (_, failure) in missing {
        assert_eq!(failure.reason.value("device"), Some(&"/nonexistent/kvm".into()), "{}", failure.reason);
        assert_eq!(failure.reason.code(), Some("kvm-absent"));
        assert!(failure.remedy.is_some());
    }
}

#[test]
fn what_is_no_device_runs_nothing() {
    let found = found(Path::new("/dev/null"));
    assert_eq!(found.kind, Kind::None);
    assert_eq!(found.user.unwrap_err().reason.code(), Some("kvm-no-kvm-device"));
}

#[test]
fn a_cpu_that_is_not_there_is_reported() {
    let found = probe(Path::new(PATH), 60_000, None, (Ticks::calibrate(), &NEVER));
    assert!(found.user.unwrap_err().reason.to_string().contains("CPU 60000"));
}
