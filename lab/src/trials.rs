//! Machines in which a program other than linespeed performs the checks itself, and the whole guest of `linespeed
//! overhead`.

use std::path::Path;

use tempfile::TempDir;

use crate::boot::{Along, boot_shape, cache, kernel_of, program_of};
use crate::checks::Verdicts;
use crate::failure::Failure;
use crate::module::{self, find_builder, find_example};
use crate::options::Parts;
use crate::shape::{Architecture, Shape};
use crate::{headers, kernel, tools};

/// The program that runs guests, an example of the crate `overhead`.
const GUESTS: &str = "guest";
/// The program that boots a whole guest, an example of the crate `overhead`.
const WHOLE_GUEST: &str = "full_guest";
/// The KVM modules for the processors emulated by QEMU, each after its dependencies.
const KVM_MODULES: [&str; 3] = ["irqbypass", "kvm", "kvm-amd"];

/// The result of the shape's trial; `None` if linespeed runs in its machine and its record is checked.
pub fn run_trial(shape: &Shape, parts: &Parts) -> Option<Result<Verdicts, Failure>> {
    let check = &shape.check;
    let trials = [
        (!check.trial.is_empty(), try_example as fn(&Shape, &Parts) -> Result<Verdicts, Failure>),
        (check.guests, run_guests),
        (check.module, load_module),
        (check.whole_guest, boot_whole_guest),
        (check.overhead, run_overhead),
    ];
    trials.iter().find(|(asked, _)| *asked).map(|(_, trial)| trial(shape, parts))
}

/// Runs an example of one of linespeed's crates in the machine; the last line of its output is the result.
fn try_example(shape: &Shape, parts: &Parts) -> Result<Verdicts, Failure> {
    let [of_crate, name, arguments @ ..] = shape.check.trial.as_slice() else {
        return Err(Failure::Cannot(format!("{}: a trial needs a crate and its example", shape.name)));
    };
    let example = find_example(&program_of(shape, parts)?, of_crate, name)?;
    let command = [&[format!("/bin/{name}")], arguments].concat();
    let outcome = boot_shape(shape, &command, false, &Along::files([example]), parts.verbose, parts)?;
    let printed = outcome.text();
    let said = if outcome.succeeded() { printed.lines().next_back().unwrap_or_default() } else { &printed };
    Ok(Verdicts::of_trial(outcome.succeeded(), &said.replace('\n', "; ")))
}

/// Runs guests directly on KVM in the machine, and reports whether both modes counted correctly with the same bytes.
fn run_guests(shape: &Shape, parts: &Parts) -> Result<Verdicts, Failure> {
    let guests = find_example(&program_of(shape, parts)?, "overhead", GUESTS)?;
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
    Ok(Verdicts::of_trial(outcome.succeeded(), &outcome.text().replace('\n', "; ")))
}

/// Builds linespeed's kernel module for the machine's kernel, in a temporary directory.
fn build_module(shape: &Shape, parts: &Parts) -> Result<TempDir, Failure> {
    let folder = tempfile::tempdir().map_err(Failure::of_path(Path::new("a folder")))?;
    let builder = find_builder(&program_of(shape, parts)?)?;
    let kernel = kernel_of(shape, parts)?;
    let file = folder.path().join(MODULE);
    module::build(&builder, shape.architecture, kernel::release(&kernel)?, &cache(), &file)?;
    Ok(folder)
}

/// The module's file.
const MODULE: &str = "linespeed.ko";

/// Builds linespeed's kernel module for the machine's kernel, and loads and tests it there.
fn load_module(shape: &Shape, parts: &Parts) -> Result<Verdicts, Failure> {
    let built = build_module(shape, parts)?;
    let mut arguments =
        vec![format!("/bin/{}", module::PROGRAM), "trial".to_owned(), format!("/bin/{MODULE}")];
    if shape.icount.is_some() {
        arguments.push("exact".to_owned());
    }
    let trial = find_builder(&program_of(shape, parts)?)?;
    let along = Along::files([trial, built.path().join(MODULE)]);
    let outcome = boot_shape(shape, &arguments, false, &along, false, parts)?;
    let printed = outcome.text();
    if parts.verbose {
        eprintln!("{printed}");
    }
    let last = printed.lines().next_back().unwrap_or("it printed nothing");
    Ok(Verdicts::of_trial(outcome.succeeded(), last))
}

/// Lets `linespeed overhead --kernel` build its module in the machine, with this host's compiler and the kernel's
/// headers, under normal and faulty conditions.
fn run_overhead(shape: &Shape, parts: &Parts) -> Result<Verdicts, Failure> {
    let kernel = kernel_of(shape, parts)?;
    let release = kernel::release(&kernel)?;
    let mut along = Along::default();
    tools::gather(&mut along.tree, shape.architecture)?;
    headers::installed(&mut along.tree, &cache(), shape.architecture, release)?;
    tools::libraries_of_headers(&mut along.tree, &headers::find(&cache(), shape.architecture, release)?)?;
    // The kernel is Debian's, so packages to install are listed by their Debian names.
    along.tree.text("/etc/os-release", "ID=debian\n");
    along.tree.link("/bin/linespeed", Path::new("/init"))?;
    // For runs that need not build the module again.
    let built = build_module(shape, parts)?;
    along.files = vec![find_builder(&program_of(shape, parts)?)?, built.path().join(MODULE)];
    let arguments = [format!("/bin/{}", module::PROGRAM), "command".to_owned(), format!("/bin/{MODULE}")];
    let outcome = boot_shape(shape, &arguments, false, &along, parts.verbose, parts)?;
    let printed = outcome.text();
    // The time in an emulator is valid nowhere else; it is reported but not judged.
    let mut lines = printed.lines();
    let last = lines.next_back().unwrap_or("it printed nothing");
    lines.for_each(|line| eprintln!("lab: {}: {line}", shape.name));
    Ok(Verdicts::of_trial(outcome.succeeded(), last))
}

/// Lets linespeed's own code boot this kernel as in `linespeed overhead --vm full`, pass it the kernel module, and
/// count in the guest's program and in its kernel. For another instruction set, QEMU emulates both the guest and linespeed.
fn boot_whole_guest(shape: &Shape, parts: &Parts) -> Result<Verdicts, Failure> {
    let linespeed = program_of(shape, parts)?;
    let program = find_example(&linespeed, "overhead", WHOLE_GUEST)?;
    let built = build_module(shape, parts)?;
    let mut command = kernel::command_for(shape.architecture, &program);
    command.arg(kernel_of(shape, parts)?).arg(&linespeed).arg(built.path().join(MODULE));
    let done = command.output().map_err(|error| Failure::Cannot(format!("{command:?}: {error}")))?;
    let said = [done.stdout, done.stderr].concat();
    let printed = String::from_utf8_lossy(&said).trim_end().replace('\n', "; ");
    Ok(Verdicts::of_trial(done.status.success(), &printed))
}
