//! Machines in which another program than linespeed looks at everything itself, and the whole guest of `linespeed overhead`.

use std::path::Path;
use std::process::Command;

use crate::boot::{Along, boot_shape, cache, kernel_of, program_of};
use crate::checks::Verdicts;
use crate::failure::Failure;
use crate::guest::Ended;
use crate::module as built;
use crate::options::Parts;
use crate::shape::{Architecture, Shape};
use crate::{headers, kernel, tools};

/// What came of the shape's trial; `None` where linespeed is run in its machine and its record looked at.
pub fn run_trial(shape: &Shape, parts: &Parts) -> Option<Result<Verdicts, Failure>> {
    let check = &shape.check;
    if let Some(sessions) = check.kills {
        return Some(kills(shape, sessions, parts));
    }
    let trials = [
        (check.guests, guests as fn(&Shape, &Parts) -> Result<Verdicts, Failure>),
        (check.module, module),
        (check.whole_guest, whole_guest),
        (check.overhead, overhead),
    ];
    trials.iter().find(|(asked, _)| *asked).map(|(_, trial)| trial(shape, parts))
}

/// Kills sessions of `linespeed quiet` on the machine's own files and says whether everything came back.
fn kills(shape: &Shape, sessions: u32, parts: &Parts) -> Result<Verdicts, Failure> {
    let killer = program_of(shape, parts)?.with_file_name("examples").join(KILLER);
    if !killer.is_file() {
        let how = "cargo build -p linespeed-quiet --example kills";
        return Err(Failure::Cannot(format!("{}: there is none; run: {how}", killer.display())));
    }
    // The machine's boot has its part of the time, too.
    let seconds = (parts.seconds.unwrap_or(shape.seconds) * 4 / 5).to_string();
    let arguments =
        [format!("/bin/{KILLER}"), "live".to_owned(), sessions.to_string(), seconds, "3".to_owned()];
    let outcome = boot_shape(shape, &arguments, false, &Along::files([killer]), false, parts)?;
    let printed = String::from_utf8_lossy(&outcome.printed).trim_end().replace('\n', "; ");
    Ok(Verdicts::of_kills(outcome.ended == Ended::Exit(0), &printed))
}

/// The program that kills, an example of the crate `quiet`.
const KILLER: &str = "kills";

/// Runs guests of raw KVM in the machine, and says whether both modes counted right, with the same bytes.
fn guests(shape: &Shape, parts: &Parts) -> Result<Verdicts, Failure> {
    let guests = program_of(shape, parts)?.with_file_name("examples").join(GUESTS);
    if !guests.is_file() {
        let how = format!("cargo build -p linespeed-overhead --example {GUESTS}");
        return Err(Failure::Cannot(format!("{}: there is none; run: {how}", guests.display())));
    }
    let modules = match shape.architecture {
        Architecture::X86_64 => {
            let kernel = kernel_of(shape, parts)?;
            kernel::modules(&cache(), shape.architecture, &kernel, &KVM_MODULES)?
        }
        // Debian builds it into the kernel there.
        Architecture::Aarch64 => Vec::new(),
    };
    let mut arguments = vec![format!("/bin/{GUESTS}"), "both".to_owned()];
    let names = modules.iter().filter_map(|path| path.file_name()?.to_str());
    arguments.extend(names.map(|name| format!("/bin/{name}")));
    let with = Along::files([vec![guests], modules].concat());
    let outcome = boot_shape(shape, &arguments, false, &with, false, parts)?;
    let printed = String::from_utf8_lossy(&outcome.printed).trim_end().replace('\n', "; ");
    Ok(Verdicts::of_trial(outcome.ended == Ended::Exit(0), &printed))
}

/// The program that runs guests, an example of the crate `measure`.
const GUESTS: &str = "guest";
/// What KVM is on the processors that QEMU emulates, each after what it needs.
const KVM_MODULES: [&str; 3] = ["irqbypass", "kvm", "kvm-amd"];

/// Builds linespeed's kernel module for the machine's kernel, and has it loaded and tried out there.
fn module(shape: &Shape, parts: &Parts) -> Result<Verdicts, Failure> {
    let trial = built::program(&program_of(shape, parts)?)?;
    let kernel = kernel_of(shape, parts)?;
    let folder = tempfile::tempdir().map_err(|error| Failure::Cannot(format!("a folder: {error}")))?;
    let file = folder.path().join("linespeed.ko");
    built::build(&trial, shape.architecture, built::release(&kernel)?, &cache(), &file)?;
    let mut arguments =
        vec![format!("/bin/{}", built::PROGRAM), "trial".to_owned(), "/bin/linespeed.ko".to_owned()];
    if shape.icount.is_some() {
        arguments.push("exact".to_owned());
    }
    let outcome = boot_shape(shape, &arguments, false, &Along::files([trial, file]), false, parts)?;
    let printed = String::from_utf8_lossy(&outcome.printed).trim_end().to_owned();
    if parts.verbose {
        eprintln!("{printed}");
    }
    let last = printed.lines().next_back().unwrap_or("it said nothing");
    Ok(Verdicts::of_trial(outcome.ended == Ended::Exit(0), last))
}

/// Has `linespeed overhead --kernel` build its module in the machine, with this host's compiler and the kernel's headers
/// there, in good weather and in bad.
fn overhead(shape: &Shape, parts: &Parts) -> Result<Verdicts, Failure> {
    let program = built::program(&program_of(shape, parts)?)?;
    let kernel = kernel_of(shape, parts)?;
    let release = built::release(&kernel)?;
    let mut along = Along::default();
    tools::gather(&mut along.tree, shape.architecture)?;
    headers::installed(&mut along.tree, &cache(), shape.architecture, release)?;
    tools::libraries_of_headers(&mut along.tree, &headers::find(&cache(), shape.architecture, release)?)?;
    // The kernel is Debian's; what is to be installed is told in its words.
    along.tree.text("/etc/os-release", "ID=debian\n");
    along.tree.link("/bin/linespeed", Path::new("/init"))?;
    // For runs that need not build it once more.
    let folder = tempfile::tempdir().map_err(|error| Failure::Cannot(format!("a folder: {error}")))?;
    let file = folder.path().join("linespeed.ko");
    built::build(&program, shape.architecture, release, &cache(), &file)?;
    along.files = vec![program, file];
    let arguments = ["/bin/kernel_module", "command", "/bin/linespeed.ko"].map(str::to_owned);
    let outcome = boot_shape(shape, &arguments, false, &along, parts.verbose, parts)?;
    let printed = String::from_utf8_lossy(&outcome.printed).trim_end().to_owned();
    // How long it takes in an emulator holds nowhere else; it is told, and not judged.
    let mut lines = printed.lines();
    let last = lines.next_back().unwrap_or("it said nothing");
    lines.for_each(|line| eprintln!("lab: {}: {line}", shape.name));
    Ok(Verdicts::of_trial(outcome.ended == Ended::Exit(0), last))
}

/// The program that boots a whole guest, an example of the crate `measure`.
const WHOLE_GUEST: &str = "full_guest";

/// Has linespeed's own code boot this kernel as `linespeed overhead --vm full` does, hand it the kernel module, and count
/// at every place in it. QEMU emulates the guest of another instruction set, and linespeed beside it.
fn whole_guest(shape: &Shape, parts: &Parts) -> Result<Verdicts, Failure> {
    let linespeed = program_of(shape, parts)?;
    let program = linespeed.with_file_name("examples").join(WHOLE_GUEST);
    if !program.is_file() {
        let how = format!("cargo build -p linespeed-overhead --example {WHOLE_GUEST}");
        return Err(Failure::Cannot(format!("{}: there is none; run: {how}", program.display())));
    }
    let kernel = kernel_of(shape, parts)?;
    let folder = tempfile::tempdir().map_err(|error| Failure::Cannot(format!("a folder: {error}")))?;
    let file = folder.path().join("linespeed.ko");
    let release = built::release(&kernel)?;
    built::build(&built::program(&linespeed)?, shape.architecture, release, &cache(), &file)?;
    let mut command = match shape.architecture.name() == std::env::consts::ARCH {
        true => Command::new(&program),
        false => {
            let mut emulator = Command::new(format!("qemu-{}", shape.architecture.name()));
            emulator.arg(&program);
            emulator
        }
    };
    command.arg(&kernel).arg(&linespeed).arg(&file);
    let done = command.output().map_err(|error| Failure::Cannot(format!("{command:?}: {error}")))?;
    let said = [done.stdout, done.stderr].concat();
    let printed = String::from_utf8_lossy(&said).trim_end().replace('\n', "; ");
    Ok(Verdicts::of_trial(done.status.success(), &printed))
}
