//! What each command does.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::checks::{self, Verdicts};
use crate::failure::Failure;
use crate::guest::{self, Ended, Job, Outcome};
use crate::options::{Boot, Check, Command, Options, Parts};
use crate::shape::{Architecture, Shape};
use crate::tree::Tree;
use crate::{headers, kernel, module, program, shapes, tools};

/// Does it; returns the exit code.
pub fn run(options: &Options) -> Result<u8, Failure> {
    match &options.command {
        Command::Boot(boot) => self::boot(boot, &options.parts),
        Command::Check(check) => self::check(check, &options.parts),
        Command::All => check_shapes(&shapes::all()?, None, &options.parts),
        Command::List => list(),
        Command::Module { architectures } => build_modules(architectures, &options.parts),
        Command::Kernel { architectures } => fetch(architectures),
    }
}

/// Where cargo builds: the folder that its own variable names, `target` in the source tree otherwise.
fn target() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("/")).join("target");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(own, PathBuf::from)
}

/// Kernels are kept beside what cargo builds, wherever that is for this run.
fn cache() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("/")).join("target/lab")
}

/// The linespeed that runs in the machine.
fn program_of(shape: &Shape, parts: &Parts) -> Result<PathBuf, Failure> {
    parts.program.clone().map_or_else(|| program::find(&target(), shape.architecture), Ok)
}

/// The kernel that the machine boots.
fn kernel_of(shape: &Shape, parts: &Parts) -> Result<PathBuf, Failure> {
    match &parts.kernel {
        Some(path) if !path.is_file() => {
            Err(Failure::Usage(format!("--kernel {}: no such file", path.display())))
        }
        Some(path) => Ok(path.clone()),
        None => kernel::find(&cache(), shape.architecture),
    }
}

/// What comes along into a machine.
#[derive(Default)]
struct Along {
    /// Files for its `/bin`.
    files: Vec<PathBuf>,
    /// Files that have places of their own.
    tree: Tree,
}

impl Along {
    fn files(files: impl Into<Vec<PathBuf>>) -> Self {
        Self { files: files.into(), tree: Tree::default() }
    }
}

/// Boots a machine. With `record` linespeed is told to leave its record where the machine brings it back from.
fn boot_shape(
    shape: &Shape,
    arguments: &[String],
    record: bool,
    with: &Along,
    pass_on: bool,
    parts: &Parts,
) -> Result<Outcome, Failure> {
    let program = program_of(shape, parts)?;
    let bytes = program::load(&program, shape.architecture)?;
    let initramfs = program::initramfs(&bytes, &with.files, &with.tree)?;
    let kernel = kernel_of(shape, parts)?;
    let mut all = Vec::new();
    if record {
        // Before the command: what follows `--` belongs to somebody else.
        all.extend(["--output".to_owned(), wire::RECORD.to_owned()]);
    }
    all.extend_from_slice(arguments);
    guest::run(&Job {
        shape,
        kernel,
        initramfs: &initramfs,
        arguments: &all,
        limit: Duration::from_secs(parts.seconds.unwrap_or(shape.seconds)),
        pass_on,
        verbose: parts.verbose,
    })
}

fn boot(boot: &Boot, parts: &Parts) -> Result<u8, Failure> {
    let shape = shapes::find(&boot.shape)?;
    let outcome = boot_shape(
        &shape,
        &boot.arguments,
        boot.output.is_some(),
        &Along::files(boot.with.as_slice()),
        true,
        parts,
    )?;
    if parts.verbose {
        let (boot, whole) = (outcome.boot.as_secs_f64(), outcome.whole.as_secs_f64());
        eprintln!("lab: {}: booted in {boot:.1} s, over after {whole:.1} s", shape.name);
    }
    if let Some(path) = &boot.output {
        match &outcome.record {
            Some(record) => {
                write(path, record)?;
                if path != Path::new("-") {
                    eprintln!(
                        "lab: {}: its record, {} in the machine, is {} here",
                        shape.name,
                        wire::RECORD,
                        path.display()
                    );
                }
            }
            None => eprintln!("lab: {}: linespeed wrote no record", shape.name),
        }
    } else if outcome.printed.starts_with(CLOSING) || contains(&outcome.printed, &[b"\n", CLOSING].concat()) {
        eprintln!(
            "lab: {}: the files named above were the machine's own and are gone; --output FILE brings its record back",
            shape.name
        );
    }
    if let Ended::Signal(signal) = outcome.ended {
        eprintln!("lab: {}: linespeed was ended by signal {signal}", shape.name);
    }
    Ok(outcome.ended.code())
}

/// How linespeed begins the line that says where its record lies.
const CLOSING: &[u8] = b"Record: ";

/// Whether a piece of the bytes is `wanted`.
fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written =
        if path == Path::new("-") { std::io::stdout().write_all(bytes) } else { std::fs::write(path, bytes) };
    written.map_err(|error| Failure::Cannot(format!("{}: cannot be written: {error}", path.display())))
}

fn check(check: &Check, parts: &Parts) -> Result<u8, Failure> {
    let chosen = if check.quick {
        shapes::all()?.into_iter().filter(|shape| shape.check.quick).collect()
    } else {
        check.shapes.iter().map(|name| shapes::find(name)).collect::<Result<Vec<_>, _>>()?
    };
    check_shapes(&chosen, check.records.as_deref(), parts)
}

/// Checks one machine after the other; 0 when everything held.
fn check_shapes(chosen: &[Shape], records: Option<&Path>, parts: &Parts) -> Result<u8, Failure> {
    let mut failed = Vec::new();
    for shape in chosen {
        let verdicts = match check_shape(shape, records, parts) {
            Ok(verdicts) => verdicts,
            Err(signal @ Failure::Signal(_)) => return Err(signal),
            // A machine that does not come up is a failed check; the others still have theirs.
            Err(failure) => Verdicts::of_failure(&failure.to_string()),
        };
        let held = verdicts.held() && !(parts.strict && verdicts.unsure());
        let mark = if held { "ok    " } else { "FAILED" };
        println!("{mark} {:24} {} of {} held", shape.name, verdicts.count_held(), verdicts.count());
        for line in verdicts.lines(parts.verbose) {
            println!("       {line}");
        }
        if !held {
            failed.push(shape.name.as_str());
        }
    }
    println!("{} of {} machines as they should be", chosen.len() - failed.len(), chosen.len());
    Ok(u8::from(!failed.is_empty()))
}

/// Kills sessions of `linespeed quiet` on the machine's own files and says whether everything came back.
fn check_kills(shape: &Shape, kills: u32, parts: &Parts) -> Result<Verdicts, Failure> {
    let killer = program_of(shape, parts)?.with_file_name("examples").join(KILLER);
    if !killer.is_file() {
        let how = "cargo build -p linespeed-quiet --example kills";
        return Err(Failure::Cannot(format!("{}: there is none; run: {how}", killer.display())));
    }
    // The machine's boot has its part of the time, too.
    let seconds = (parts.seconds.unwrap_or(shape.seconds) * 4 / 5).to_string();
    let arguments = [format!("/bin/{KILLER}"), "live".to_owned(), kills.to_string(), seconds, "3".to_owned()];
    let outcome = boot_shape(shape, &arguments, false, &Along::files([killer]), false, parts)?;
    let printed = String::from_utf8_lossy(&outcome.printed).trim_end().replace('\n', "; ");
    Ok(Verdicts::of_kills(outcome.ended == Ended::Exit(0), &printed))
}

/// The program that kills, an example of the crate `quiet`.
const KILLER: &str = "kills";

/// Runs guests of raw KVM in the machine, and says whether both modes counted right, with the same bytes.
fn check_guests(shape: &Shape, parts: &Parts) -> Result<Verdicts, Failure> {
    let guests = program_of(shape, parts)?.with_file_name("examples").join(GUESTS);
    if !guests.is_file() {
        let how = format!("cargo build -p linespeed-measure --example {GUESTS}");
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
fn check_module(shape: &Shape, parts: &Parts) -> Result<Verdicts, Failure> {
    let trial = module::program(&program_of(shape, parts)?)?;
    let kernel = kernel_of(shape, parts)?;
    let folder = tempfile::tempdir().map_err(|error| Failure::Cannot(format!("a folder: {error}")))?;
    let file = folder.path().join("linespeed.ko");
    module::build(&trial, shape.architecture, module::release(&kernel)?, &cache(), &file)?;
    let mut arguments =
        vec![format!("/bin/{}", module::PROGRAM), "trial".to_owned(), "/bin/linespeed.ko".to_owned()];
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
fn check_overhead(shape: &Shape, parts: &Parts) -> Result<Verdicts, Failure> {
    let program = module::program(&program_of(shape, parts)?)?;
    let kernel = kernel_of(shape, parts)?;
    let release = module::release(&kernel)?;
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
    module::build(&program, shape.architecture, release, &cache(), &file)?;
    along.files = vec![program, file];
    let arguments = ["/bin/kernel_module", "command", "/bin/linespeed.ko"].map(str::to_owned);
    let outcome = boot_shape(shape, &arguments, false, &along, parts.verbose, parts)?;
    let printed = String::from_utf8_lossy(&outcome.printed).trim_end().to_owned();
    // How long it takes in an emulator holds nowhere else; it is told, and not judged.
    if let Some(took) = printed.lines().find(|line| line.starts_with("linespeed overhead")) {
        eprintln!("lab: {}: {took}", shape.name);
    }
    let last = printed.lines().next_back().unwrap_or("it said nothing");
    Ok(Verdicts::of_trial(outcome.ended == Ended::Exit(0), last))
}

fn check_shape(shape: &Shape, records: Option<&Path>, parts: &Parts) -> Result<Verdicts, Failure> {
    if let Some(kills) = shape.check.kills {
        return check_kills(shape, kills, parts);
    }
    if shape.check.guests {
        return check_guests(shape, parts);
    }
    if shape.check.module {
        return check_module(shape, parts);
    }
    if shape.check.overhead {
        return check_overhead(shape, parts);
    }
    let outcome = boot_shape(shape, &shape.check.run, true, &Along::default(), false, parts)?;
    if parts.verbose {
        let (boot, whole) = (outcome.boot.as_secs_f64(), outcome.whole.as_secs_f64());
        eprintln!("lab: {}: booted in {boot:.1} s, over after {whole:.1} s", shape.name);
    }
    let printed = || String::from_utf8_lossy(&outcome.printed).trim_end().to_owned();
    if outcome.ended != Ended::Exit(0) {
        let how = format!("{:?}", outcome.ended).to_lowercase();
        return Err(Failure::Cannot(format!("linespeed ended with {how}: {}", printed())));
    }
    let Some(record) = outcome.record else {
        return Err(Failure::Cannot(format!("linespeed wrote no record: {}", printed())));
    };
    if let Some(folder) = records {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::Cannot(format!("{}: {error}", folder.display())))?;
        write(&folder.join(format!("{}.json", shape.name)), &record)?;
    }
    Ok(checks::all(shape, &record))
}

fn list() -> Result<u8, Failure> {
    let mut text = String::new();
    for shape in shapes::all()? {
        let nodes = shape.nodes.len().max(1);
        text.push_str(&format!(
            "{:24} {:8} {:3} CPUs {:2} node{} {}\n",
            shape.name,
            shape.architecture.name(),
            shape.cpus.count(),
            nodes,
            if nodes == 1 { " " } else { "s" },
            shape.summary
        ));
    }
    // A reader that has left is no error.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(0)
}

/// The instruction sets of these names; all when there are none.
fn chosen(names: &[String]) -> Result<Vec<Architecture>, Failure> {
    let named = |name: &String| {
        Architecture::ALL.into_iter().find(|architecture| architecture.name() == name).ok_or_else(|| {
            Failure::Usage(format!("there is no kernel for {name:?}; there are some for: x86_64, aarch64"))
        })
    };
    match names {
        [] => Ok(Architecture::ALL.to_vec()),
        names => names.iter().map(named).collect(),
    }
}

/// Builds the kernel module for each; 0 when all could be built.
fn build_modules(names: &[String], parts: &Parts) -> Result<u8, Failure> {
    let mut all = true;
    for architecture in chosen(names)? {
        let linespeed = parts.program.clone().map_or_else(|| program::find(&target(), architecture), Ok)?;
        all &= module::build_all(architecture, &linespeed, &cache(), |line| println!("{line}"))?;
    }
    Ok(u8::from(!all))
}

fn fetch(names: &[String]) -> Result<u8, Failure> {
    for architecture in chosen(names)? {
        println!("{}", kernel::fetch(&cache(), architecture)?.display());
    }
    Ok(0)
}
