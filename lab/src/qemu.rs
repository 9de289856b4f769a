//! QEMU's command line for a shape.

use std::path::{Path, PathBuf};

use record::CpuList;
use wire::Orders;

use crate::shape::{Architecture, Shape};

/// The paths of a machine's components on the host.
pub struct Parts {
    /// The kernel.
    pub kernel: PathBuf,
    /// The initial file system.
    pub initramfs: PathBuf,
    /// Firmware tables, if the shape has any.
    pub tables: Option<PathBuf>,
    /// The file for the kernel's messages.
    pub console: PathBuf,
}

/// Maximum length of a kernel's command line (COMMAND_LINE_SIZE), minus the terminating zero byte.
const MOST_PARAMETERS: usize = 2047;

/// The program.
pub fn program(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "qemu-system-x86_64",
        Architecture::Aarch64 => "qemu-system-aarch64",
    }
}

/// Debian's package with this program.
pub fn package(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "qemu-system-x86",
        Architecture::Aarch64 => "qemu-system-arm",
    }
}

/// The kernel's console, and the serial port used only by linespeed.
fn ports(architecture: Architecture) -> (&'static str, &'static str) {
    match architecture {
        Architecture::X86_64 => ("ttyS0", "ttyS1"),
        // `virt` has one built-in serial port; the other one is on its PCI bus.
        Architecture::Aarch64 => ("ttyAMA0", "ttyS0"),
    }
}

/// The kernel command line for running linespeed with `arguments`; an error if it is too long.
pub fn kernel_parameters(shape: &Shape, arguments: &[String]) -> Result<String, String> {
    let (console, channel) = ports(shape.architecture);
    let orders = Orders {
        arguments: arguments.to_vec(),
        channel: channel.to_owned(),
        offline: shape.offline.iter().collect(),
        emulated: true,
    };
    // A panic terminates the machine (QEMU runs with -no-reboot), and its messages are shown.
    let mut line = format!("console={console} loglevel=4 panic=-1 {}", orders.parameters());
    for parameter in &shape.kernel_parameters {
        line.push(' ');
        line.push_str(parameter);
    }
    if line.len() > MOST_PARAMETERS {
        let many = line.len();
        return Err(format!("the arguments need {many} characters; the kernel accepts {MOST_PARAMETERS}"));
    }
    Ok(line)
}

/// QEMU's arguments. Its standard output is the machine's channel to the host.
pub fn arguments(shape: &Shape, parts: &Parts, parameters: &str) -> Vec<String> {
    let mut line = Line::default();
    for switch in ["-nodefaults", "-no-user-config", "-no-reboot"] {
        line.switch(switch);
    }
    line.option("-display", "none");
    line.option(
        "-machine",
        match shape.architecture {
            Architecture::X86_64 => "q35",
            Architecture::Aarch64 if shape.virtualization => "virt,gic-version=3,virtualization=on",
            Architecture::Aarch64 => "virt,gic-version=3",
        },
    );
    line.option("-accel", if one_thread(shape) { "tcg,thread=single" } else { "tcg,thread=multi" });
    if let Some(icount) = &shape.icount {
        line.option("-icount", icount);
    }
    line.option("-cpu", cpu(shape));
    line.option("-smp", processors(shape));
    memory(shape, &mut line);
    line.option("-kernel", path(&parts.kernel));
    line.option("-initrd", path(&parts.initramfs));
    line.option("-append", parameters);
    if let Some(tables) = &parts.tables {
        line.option("-smbios", format!("file={}", escaped(&path(tables))));
    }
    line.option("-chardev", format!("file,id=console,path={}", escaped(&path(&parts.console))));
    line.option("-chardev", "stdio,id=channel,signal=off");
    line.option("-serial", "chardev:console");
    match shape.architecture {
        Architecture::X86_64 => line.option("-serial", "chardev:channel"),
        Architecture::Aarch64 => line.option("-device", "pci-serial,chardev=channel"),
    }
    line.0
}

/// Whether a single host thread emulates all CPUs. Instructions can be counted only with a single thread. Also,
/// stopping and killing hundreds of processes makes a CPU hang permanently within minutes if there are several threads,
/// with the kernel reporting starvation (observed with QEMU 7.2); a single thread avoids this.
fn one_thread(shape: &Shape) -> bool {
    shape.icount.is_some() || shape.check.trial.first().is_some_and(|of_crate| of_crate == "quiet")
}

/// QEMU emulates AMD's virtualization, but enables it for its own models only on request.
fn cpu(shape: &Shape) -> String {
    match shape.architecture {
        Architecture::X86_64 if shape.virtualization => format!("{},+svm", shape.cpu),
        _ => shape.cpu.clone(),
    }
}

#[derive(Default)]
struct Line(Vec<String>);

impl Line {
    fn switch(&mut self, name: &str) {
        self.0.push(name.to_owned());
    }

    fn option(&mut self, name: &str, value: impl Into<String>) {
        self.0.extend([name.to_owned(), value.into()]);
    }
}

fn processors(shape: &Shape) -> String {
    let cpus = shape.cpus;
    let middle = match shape.architecture {
        Architecture::X86_64 => format!("dies={}", cpus.dies),
        Architecture::Aarch64 => format!("clusters={}", cpus.clusters),
    };
    format!(
        "cpus={},sockets={},{middle},cores={},threads={}",
        cpus.count(),
        cpus.packages,
        cpus.cores,
        cpus.threads
    )
}

fn memory(shape: &Shape, line: &mut Line) {
    line.option("-m", format!("{}M", shape.bytes >> 20));
    for (id, node) in shape.nodes.iter().enumerate() {
        let mut option = format!("node,nodeid={id}");
        for range in ranges(&node.cpus) {
            option.push_str(&format!(",cpus={range}"));
        }
        if node.bytes > 0 {
            let mib = node.bytes >> 20;
            line.option("-object", format!("memory-backend-ram,id=memory{id},size={mib}M"));
            option.push_str(&format!(",memdev=memory{id}"));
        }
        line.option("-numa", option);
    }
    for (from, row) in shape.distances.iter().enumerate() {
        for (to, distance) in row.iter().enumerate().filter(|(to, _)| *to != from) {
            line.option("-numa", format!("dist,src={from},dst={to},val={distance}"));
        }
    }
}

/// The ranges of a list as text, `0-3` and `8`.
fn ranges(cpus: &CpuList) -> Vec<String> {
    let text = cpus.to_string();
    text.split(',').filter(|range| !range.is_empty()).map(str::to_owned).collect()
}

fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A value inside an option with several values: commas are doubled.
fn escaped(value: &str) -> String {
    value.replace(',', ",,")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        Shape::parse(Path::new("some.toml"), text).unwrap()
    }

    const NODES: &str = r#"
summary = "x"
architecture = "x86_64"
cpu = "max"
offline = "3"
distances = [[10, 16], [28, 10]]
kernel_parameters = ["nosmp=no"]
[cpus]
packages = 2
threads = 2
[[node]]
cpus = "0,2-3"
memory = "64MiB"
[[node]]
cpus = "1"
"#;

    fn parts() -> Parts {
        Parts {
            kernel: PathBuf::from("/k"),
            initramfs: PathBuf::from("/i"),
            tables: Some(PathBuf::from("/a,b")),
            console: PathBuf::from("/c"),
        }
    }

    #[test]
    fn nodes_and_distances_are_built_as_the_shape_says() {
        let line = arguments(&shape(NODES), &parts(), "quiet").join(" ");
        for option in [
            "-smp cpus=4,sockets=2,dies=1,cores=1,threads=2",
            "-m 64M -object memory-backend-ram,id=memory0,size=64M",
            "-numa node,nodeid=0,cpus=0,cpus=2-3,memdev=memory0",
            "-numa node,nodeid=1,cpus=1 -numa dist",
            "-numa dist,src=0,dst=1,val=16 -numa dist,src=1,dst=0,val=28",
            "-smbios file=/a,,b",
            "-append quiet",
        ] {
            assert!(line.contains(option), "{option}: {line}");
        }
        assert!(!line.contains("src=0,dst=0"), "{line}");
    }

    #[test]
    fn a_machine_that_counts_instructions_or_kills_runs_on_one_thread() {
        let text = "summary = 'x'\narchitecture = 'aarch64'\ncpu = 'cortex-a72'\nicount = 'shift=1'\nmemory = '1GiB'";
        let line = arguments(&shape(text), &parts(), "").join(" ");
        assert!(line.contains("-accel tcg,thread=single -icount shift=1 -cpu cortex-a72"), "{line}");
        let kills = "summary = 'x'\narchitecture = 'x86_64'\ncpu = 'max'\nmemory = '1GiB'\n[check]\ntrial = ['quiet', 'kills']";
        assert!(arguments(&shape(kills), &parts(), "").join(" ").contains("-accel tcg,thread=single"));
        assert!(!line.contains("-numa"), "{line}");
        assert!(line.contains("-device pci-serial,chardev=channel"), "{line}");
    }

    #[test]
    fn a_machine_with_virtualization_is_given_it() {
        let of = |architecture: &str| {
            let text = format!(
                "summary = 'x'\narchitecture = '{architecture}'\ncpu = 'max'\nmemory = '1GiB'\nvirtualization = true"
            );
            arguments(&shape(&text), &parts(), "").join(" ")
        };
        assert!(of("x86_64").contains("-cpu max,+svm "));
        assert!(of("aarch64").contains("-machine virt,gic-version=3,virtualization=on "));
    }

    #[test]
    fn the_kernels_command_line_carries_the_orders() {
        let arguments = ["run", "a b"].map(str::to_owned);
        let line = kernel_parameters(&shape(NODES), &arguments).unwrap();
        let orders = Orders::read(&line).unwrap();
        assert_eq!(orders.arguments, arguments);
        assert_eq!((orders.offline.as_slice(), orders.emulated), ([3].as_slice(), true));
        assert!(line.contains("console=ttyS0") && line.ends_with(" nosmp=no"), "{line}");
        let why = kernel_parameters(&shape(NODES), &["x".repeat(2000)]).unwrap_err();
        assert!(why.contains("2047"), "{why}");
    }
}
