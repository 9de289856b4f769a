//! Placement checks of synthetic hosts, for tests.

use record::Record;
use record::shape::{Contended, Look, Looks};

/// The location of a CPU: its package, die and core on the host.
pub(crate) type Place = (u32, u32, u32);

/// A number from 0 to 1, determined by the three arguments, so that times vary like real ones but every test is
/// reproducible.
pub(crate) fn jitter(a: u32, b: u32, c: u32) -> f64 {
    let mixed = (a.wrapping_mul(0x9e37_79b1) ^ b.wrapping_mul(0x85eb_ca6b) ^ c.wrapping_mul(0xc2b2_ae35))
        .wrapping_mul(0x27d4_eb2f);
    f64::from(mixed >> 8) / f64::from(1u32 << 24)
}

/// Placement check number `look` of CPUs at these places: 9 ns within a core, 25 ns within a die, 85 ns within a
/// package, 190 ns beyond.
fn look(look: u32, places: &[Place]) -> Look {
    let n = places.len();
    let mut made = Look { at_seconds: f64::from(look), took_ms: 5.0, ..Default::default() };
    for a in 0..n {
        for b in a + 1..n {
            let (one, other) = (places[a], places[b]);
            let (ns, spread) = match (one.0 == other.0, one.1 == other.1, one.2 == other.2) {
                (true, true, true) => (9.0, 0.1),
                (true, true, false) => (25.0, 0.3),
                (true, false, _) => (85.0, 0.35),
                _ => (190.0, 0.3),
            };
            made.line_ns.push(Some(ns * (1.0 + spread * (jitter(a as u32, b as u32, look) - 0.5))));
            if ns == 9.0 {
                made.contended.push(Contended { pair: (a as u32, b as u32), slowdown: 1.97 });
            }
        }
        let far = if places[a].0 == places[0].0 { 95.0 } else { 150.0 };
        made.memory_ns.push(Some(far * (1.0 + 0.1 * jitter(a as u32, 77, look))));
    }
    made
}

/// Creates this many placement checks of this many CPUs.
pub(crate) fn looks_at(n: u32, looks: u32, place: impl Fn(u32, u32) -> Place) -> Looks {
    let at = |number| look(number, &(0..n).map(|cpu| place(number, cpu)).collect::<Vec<_>>());
    Looks { cpus: (0..n).collect(), pairs: None, looks: (0..looks).map(at).collect() }
}

/// A record of a virtual machine with these placement checks.
pub(crate) fn record_with(mut record: Record, looks: Looks) -> Record {
    record.looks = Some(looks);
    record.machine.virtualization.hypervisor = Some("kvm".to_owned());
    record
}
