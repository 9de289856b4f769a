//! Clocks that are slow to read.

use std::process::{Command, Stdio};

use record::Record;

use crate::support::confine::{self, Confine};
use crate::support::{Ran, folder, linespeed, skipped};
use crate::trial::{Side, Trial, one_at_a_time, wanted};
use crate::vdso;

const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Instructions before the kernel reads its clock: with them a reading takes about as long as one of a timer in a device.
const DELAY: usize = 1500;

/// Makes each reading of the clock by a system call as slow as that of a device.
fn slow<C: Confine>(command: C) -> C {
    let line = |code: u32, k: u32, jf: u8| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let load = |offset: u32| line(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0);
    let allow = line(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0);
    // The number of the call is the first word of `struct seccomp_data`, its first argument the fifth.
    let test = line(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::SYS_clock_gettime as u32, 1);
    let mut filter = vec![load(0), test, line(libc::BPF_JMP | libc::BPF_JA, 1, 0), allow];
    filter.extend(std::iter::repeat_n(load(16), DELAY));
    filter.push(allow);
    command.step(move || {
        let program =
            libc::sock_fprog { len: filter.len() as libc::c_ushort, filter: filter.as_ptr().cast_mut() };
        // SAFETY: the kernel copies the filter, which it only reads; both outlive the calls.
        let code = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
                | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program, 0, 0)
        };
        if code == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    })
}

/// Runs a command without the vDSO.
#[track_caller]
fn record_without(mut command: Command) -> Record {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = vdso::spawn_without(command).expect("the program starts without a vDSO");
    Ran::from(child.wait_with_output().unwrap()).succeeds().record()
}

/// Readings of the clock in a second.
fn readings(record: &Record) -> f64 {
    let mut costs: Vec<f64> = record.measurements_of("cost.clock_read").map(|m| m.value()).collect();
    costs.sort_by(f64::total_cmp);
    1e9 / costs[costs.len() / 2]
}

#[test]
fn a_clock_in_a_device() {
    const TEST: &str = "a_clock_in_a_device";
    if !wanted(TEST) {
        return;
    }
    let _alone = one_at_a_time();
    if let Some(why) = confine::no_mounts() {
        return skipped(TEST, &why);
    }
    let folder = folder();
    let name = folder.path().join("hpet");
    std::fs::write(&name, "hpet\n").unwrap();
    let held = |args: &[&str]| record_without(slow(linespeed(args).with_file(FILE, &name)));
    let costs = ["run", "costs", "--quick", "--json"];
    let trial = Trial {
        name: TEST,
        rule: "clocksource",
        needs: &[],
        run: &|| held(&["run", "--quick", "--json"]),
        work: &|| {
            Box::new(|side| {
                readings(&match side {
                    Side::Held => held(&costs),
                    Side::Free => crate::trial::record_of(linespeed(costs)),
                })
            })
        },
    };
    trial.is_named_first();
}
