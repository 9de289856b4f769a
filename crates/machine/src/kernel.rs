//! The kernel: release, build line, distribution, boot options relevant to speed, preemption model, timer rate,
//! isolated CPUs, page size.

use std::io::Read;

use record::{Coverage, Machine};

use crate::Root;
use crate::text::{self, assignment, field};

/// Maximum length of the stored build line, in characters. Actual build lines have up to about 300.
const MAX_VERSION: usize = 500;
/// Maximum number of stored boot options, and maximum length of each in characters, because a list of isolated CPUs may
/// be long.
const MAX_OPTIONS: usize = 100;
const MAX_OPTION: usize = 2000;
/// Maximum size of a kernel configuration, whether compressed or uncompressed. The configuration of a distribution is about 300 kB long.
const MAX_CONFIG: usize = 4 << 20;

/// Boot options that affect speed or its variability, without the part after `=` (Linux, kernel-parameters.txt). The
/// kernel treats `-` and `_` as equivalent, and so does this list.
const OPTIONS: &str = include_str!("boot_options.txt");

/// Fills [`Machine::kernel`] except for its mitigations.
pub(crate) fn read(root: &Root, machine: &mut Machine, _coverage: &mut Vec<Coverage>) {
    let kernel = &mut machine.kernel;
    let uname = root.text("/proc/hwloc-nofile-info").unwrap_or_default();
    let line =
        root.text("/proc/version").map(|line| text::clean_to(&line, MAX_VERSION)).filter(|l| !l.is_empty());
    // "Linux version 6.12.0 (builder) …"
    let release_in_line = || {
        let mut words = line.as_deref()?.split(' ');
        (words.next() == Some("Linux") && words.next() == Some("version"))
            .then(|| words.next())?
            .and_then(text::name)
    };
    kernel.release = root
        .text("/proc/sys/kernel/osrelease")
        .as_deref()
        .and_then(text::name)
        .or_else(|| field(&uname, "OSRelease").and_then(text::name))
        .or_else(release_in_line);
    kernel.version = line.or_else(|| field(&uname, "OSVersion").and_then(text::name));
    kernel.distribution = distribution(root);
    let cmdline = root.text("/proc/cmdline").unwrap_or_default();
    kernel.options = options(&cmdline);
    let config = config(root, kernel.release.as_deref()).unwrap_or_default();
    kernel.preemption = preemption(root, kernel.version.as_deref(), &cmdline, &config).map(str::to_owned);
    kernel.hz = assignment(&config, "CONFIG_HZ")
        .and_then(|hz| hz.parse().ok())
        .filter(|hz| (1..=100_000).contains(hz));
    kernel.isolated = text::cpu_list(root.text("/sys/devices/system/cpu/isolated"));
    kernel.nohz_full = text::cpu_list(root.text("/sys/devices/system/cpu/nohz_full"));
    kernel.page_bytes = page_bytes(root, &machine.architecture, &uname);
}

fn distribution(root: &Root) -> Option<String> {
    let file = root.text("/etc/os-release").or_else(|| root.text("/usr/lib/os-release"))?;
    text::name(assignment(&file, "PRETTY_NAME").or_else(|| assignment(&file, "NAME"))?)
}

/// The options of a kernel command line that matter for speed, exactly as written and in their original order. The text
/// after `--` is for init.
fn options(cmdline: &str) -> Vec<String> {
    let known = || OPTIONS.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
    split_parameters(cmdline)
        .take_while(|word| *word != "--")
        .filter(|word| {
            let name = word.trim_start_matches('"').split('=').next().unwrap_or("").replace('-', "_");
            known().any(|option| option == name)
        })
        .map(|word| text::clean_to(word, MAX_OPTION))
        .take(MAX_OPTIONS)
        .collect()
}

/// Splits words at spaces outside double quotes, as the kernel does.
fn split_parameters(cmdline: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    cmdline
        .split(move |c: char| {
            quoted ^= c == '"';
            c.is_ascii_whitespace() && !quoted
        })
        .filter(|word| !word.is_empty())
}

/// The value of the last option `name=value`, which the kernel uses.
fn option<'a>(cmdline: &'a str, name: &str) -> Option<&'a str> {
    split_parameters(cmdline)
        .take_while(|word| *word != "--")
        .filter_map(|word| word.strip_prefix(name)?.strip_prefix('='))
        .last()
}

/// The kernel's configuration, from the kernel itself or from the file that its package installed.
fn config(root: &Root, release: Option<&str>) -> Option<String> {
    if let Some(packed) = root.bytes("/proc/config.gz", MAX_CONFIG) {
        // The size is limited because a compressed file of a few megabytes may unpack to gigabytes.
        let mut text = Vec::new();
        let mut unpacked = flate2::read::GzDecoder::new(packed.as_slice()).take(MAX_CONFIG as u64 + 1);
        if unpacked.read_to_end(&mut text).is_ok() && text.len() <= MAX_CONFIG {
            return Some(String::from_utf8_lossy(&text).into_owned());
        }
    }
    let release = release.filter(|release| !release.contains('/'))?;
    let places = [
        format!("/boot/config-{release}"),
        format!("/lib/modules/{release}/config"),
        format!("/usr/lib/modules/{release}/config"),
    ];
    places.iter().find_map(|place| root.text(place))
}

/// The current preemption model, from the most reliable readable source.
fn preemption(root: &Root, version: Option<&str>, cmdline: &str, config: &str) -> Option<&'static str> {
    let model = |word: &str| ["none", "voluntary", "full", "lazy"].into_iter().find(|model| *model == word);
    if root.text("/sys/kernel/realtime").is_some_and(|text| text == "1") {
        return Some("rt");
    }
    // The file contains `none voluntary (full) lazy`. Only root can read it, and only if debugfs is mounted.
    if let Some(text) = root.text("/sys/kernel/debug/sched/preempt") {
        let chosen = text.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
        if let Some(model) = chosen.and_then(|(word, _)| model(word)) {
            return Some(model);
        }
    }
    // The build line contains `#1 SMP PREEMPT_DYNAMIC …`; the text before the `#` depends on who built the kernel.
    let build = version.and_then(|line| line.split_once('#')).map_or("", |(_, build)| build);
    let says = |flag: &str| build.split(' ').any(|word| word == flag);
    let set = |option: &str| assignment(config, option) == Some("y");
    if says("PREEMPT_RT") || set("CONFIG_PREEMPT_RT") {
        return Some("rt");
    }
    let configured = [("_LAZY", "lazy"), ("", "full"), ("_VOLUNTARY", "voluntary"), ("_NONE", "none")]
        .into_iter()
        .find_map(|(suffix, model)| set(&format!("CONFIG_PREEMPT{suffix}")).then_some(model));
    if says("PREEMPT_DYNAMIC") || set("CONFIG_PREEMPT_DYNAMIC") {
        // The configured model is only the default, which the boot option may override.
        return option(cmdline, "preempt").and_then(model).or(configured).or(Some("dynamic"));
    }
    configured.or(says("PREEMPT").then_some("full"))
}

fn page_bytes(root: &Root, architecture: &str, uname: &str) -> Option<u64> {
    if root.is_live() {
        // SAFETY: sysconf takes a number and accesses none of our memory.
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        return u64::try_from(bytes).ok().filter(|bytes| *bytes > 0);
    }
    match architecture {
        "x86_64" => Some(4096), // The architecture has no other base page.
        _ => field(uname, "PageSize")
            .and_then(|size| size.parse::<u64>().ok())
            .filter(|size| size.is_power_of_two() && (1024..=1 << 20).contains(size)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;
    use proptest::prelude::*;
    use std::io::Write;

    fn read_tree(tree: &Tree) -> record::machine::Kernel {
        let mut machine = Machine::default();
        read(&tree.root(), &mut machine, &mut Vec::new());
        machine.kernel
    }

    fn packed(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_tuned_kernel_is_reported_by_its_options() {
        let tree = Tree::new()
            .file(
                "proc/cmdline",
                "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet isolcpus=domain,2-7 nohz_full=2-7 mitigations=off \
                 intel_idle.max-cstate=1 dyndbg=\"file drivers +p\" hugepagesz=1G hugepages=8 -- nosmt\n",
            )
            .file("proc/version", "Linux version 6.1.0-18-rt-amd64 (x@y) (gcc) #1 SMP PREEMPT_RT Debian 6.1.76-1\n")
            .file("sys/devices/system/cpu/isolated", "2-7\n")
            .file("sys/devices/system/cpu/nohz_full", "(null)\n")
            .file("etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n")
            .file("boot/config-6.1.0-18-rt-amd64", "# CONFIG_HZ_100 is not set\nCONFIG_HZ=250\n");
        let kernel = read_tree(&tree);
        assert_eq!(
            kernel.options,
            [
                "isolcpus=domain,2-7",
                "nohz_full=2-7",
                "mitigations=off",
                "intel_idle.max-cstate=1",
                "hugepagesz=1G",
                "hugepages=8"
            ]
        );
        assert_eq!(kernel.release.as_deref(), Some("6.1.0-18-rt-amd64"));
        assert_eq!(kernel.preemption.as_deref(), Some("rt"));
        assert_eq!(kernel.hz, Some(250));
        assert_eq!(kernel.isolated.to_string(), "2-7");
        assert!(kernel.nohz_full.is_empty());
        assert_eq!(kernel.distribution.as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
    }

    #[test]
    fn dynamic_preemption_is_what_was_chosen_at_boot() {
        let version = "Linux version 6.8.0 (b@c) (gcc) #45-Ubuntu SMP PREEMPT_DYNAMIC Fri Aug 30\n";
        let tree = || Tree::new().file("proc/version", version);
        assert_eq!(read_tree(&tree()).preemption.as_deref(), Some("dynamic"));
        let config = packed("CONFIG_PREEMPT_BUILD=y\nCONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_HZ=1000\n");
        let kernel = read_tree(&tree().file("proc/config.gz", &config));
        assert_eq!((kernel.preemption.as_deref(), kernel.hz), (Some("voluntary"), Some(1000)));
        let chosen =
            tree().file("proc/config.gz", &config).file("proc/cmdline", "preempt=none quiet preempt=full");
        assert_eq!(read_tree(&chosen).preemption.as_deref(), Some("full"));
        let reported = chosen.file("sys/kernel/debug/sched/preempt", "none voluntary full (lazy)\n");
        assert_eq!(read_tree(&reported).preemption.as_deref(), Some("lazy"));
    }

    #[test]
    fn preemption_is_not_guessed_from_the_builder_s_name() {
        let tree = Tree::new()
            .file("proc/version", "Linux version 4.18.0 (PREEMPT PREEMPT_RT x) (gcc) #1 SMP Mon\n");
        assert_eq!(read_tree(&tree).preemption, None);
        let tree =
            Tree::new().file("proc/version", "Linux version 5.15.0 (root@x) (gcc) #313 SMP PREEMPT Sun\n");
        assert_eq!(read_tree(&tree).preemption.as_deref(), Some("full"));
    }

    #[test]
    fn a_packed_configuration_cannot_fill_memory() {
        let bomb = packed(&"\0".repeat(64 << 20));
        assert!(bomb.len() < MAX_CONFIG);
        let tree = Tree::new().file("proc/config.gz", &bomb).file("boot/config-6.1", "CONFIG_HZ=250\n");
        assert_eq!(config(&tree.root(), Some("6.1")).as_deref(), Some("CONFIG_HZ=250"));
        let broken = Tree::new().file("proc/config.gz", [0x1f, 0x8b, 8, 0, 1]);
        assert_eq!(config(&broken.root(), Some("../../etc/passwd")), None);
    }

    #[test]
    fn the_page_of_a_capture_is_that_machine_s() {
        let tree = Tree::new().file("proc/hwloc-nofile-info", "Architecture: aarch64\nPageSize: 65536\n");
        let mut machine = Machine { architecture: "aarch64".into(), ..Machine::default() };
        read(&tree.root(), &mut machine, &mut Vec::new());
        assert_eq!(machine.kernel.page_bytes, Some(65536));
        assert_eq!(page_bytes(&Tree::new().root(), "aarch64", ""), None);
        assert_eq!(page_bytes(&Tree::new().root(), "x86_64", "PageSize: 3"), Some(4096));
    }

    proptest! {
        // Each case writes a tree, so fewer than the usual 256 cases run.
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn no_command_line_panics(cmdline in "(isolcpus=|preempt=|\"|mitigations=off| |--|\\PC){0,30}", line in "\\PC{0,60}",
            bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let tree = Tree::new().file("proc/cmdline", &cmdline).file("proc/version", &line).file("proc/config.gz", &bytes);
            let kernel = read_tree(&tree);
            prop_assert!(kernel.options.len() <= MAX_OPTIONS);
        }
    }
}
