//! Limits of a process, from captured procfs and cgroup files in all layouts in use.

use crate::support::sound::inspect_below;
use crate::support::tree::Shape;
use record::Machine;
use record::machine::Limits;

const SMALL: Shape = Shape { cpus: 8, nodes: 2, packages: 2, threads: 2 };
const V2: &str = "29 22 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
const V1: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
    32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
    34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
    35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
const GIB: u64 = 1 << 30;

/// The small machine (128 GiB) with additional files.
fn with(files: &[(&str, &str)]) -> Machine {
    let mut all = SMALL.files();
    for (path, text) in files {
        all.put((*path).to_owned(), text);
    }
    let folder = crate::support::temporary();
    all.write(folder.path()).unwrap();
    inspect_below(folder.path()).machine
}

fn limits(files: &[(&str, &str)]) -> Limits {
    with(files).limits
}

#[test]
fn version_2_takes_the_tightest_of_the_group_and_its_parents() {
    let found = limits(&[
        ("proc/self/cgroup", "0::/a/b"),
        ("proc/self/mountinfo", V2),
        ("sys/fs/cgroup/a/cpu.max", "150000 100000"),
        ("sys/fs/cgroup/a/b/cpu.max", "300000 100000"),
        ("sys/fs/cgroup/cpu.max", "max 100000"),
        ("sys/fs/cgroup/a/memory.max", "2147483648"),
        ("sys/fs/cgroup/a/memory.current", "1610612736"),
        ("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 536870912\nslab 3"),
        ("sys/fs/cgroup/a/b/memory.max", "max"),
        ("sys/fs/cgroup/a/b/memory.current", "4096"),
    ]);
    assert_eq!(found.cpu_quota, Some(1.5));
    assert_eq!((found.memory_bytes, found.memory_available_bytes), (Some(2 * GIB), Some(GIB)));
    assert_eq!(found.cgroup_version, Some(2));
}

#[test]
fn a_roomy_group_in_a_full_parent_leaves_little() {
    let found = limits(&[
        ("proc/self/cgroup", "0::/a/b"),
        ("proc/self/mountinfo", V2),
        ("sys/fs/cgroup/a/memory.max", "4294967296"),
        ("sys/fs/cgroup/a/memory.current", "4294000000"),
        ("sys/fs/cgroup/a/b/memory.max", "2147483648"),
        ("sys/fs/cgroup/a/b/memory.current", "0"),
    ]);
    assert_eq!(found.memory_bytes, Some(2 * GIB));
    assert_eq!(found.memory_available_bytes, Some(4 * GIB - 4_294_000_000));
}

#[test]
fn memory_high_counts_as_a_limit() {
    let found = limits(&[
        ("proc/self/cgroup", "0::/a"),
        ("proc/self/mountinfo", V2),
        ("sys/fs/cgroup/a/memory.max", "max"),
        ("sys/fs/cgroup/a/memory.high", "1073741824"),
        ("sys/fs/cgroup/a/memory.current", "9999999999"),
    ]);
    assert_eq!((found.memory_bytes, found.memory_available_bytes), (Some(GIB), Some(0)));
}

#[test]
fn version_1_with_each_controller_in_its_own_hierarchy() {
    let found = limits(&[
        ("proc/self/cgroup", "9:memory:/x/y\n7:cpu,cpuacct:/z\n2:cpuset:/\n0::/w"),
        ("proc/self/mountinfo", V1),
        ("sys/fs/cgroup/cpu,cpuacct/z/cpu.cfs_quota_us", "50000"),
        ("sys/fs/cgroup/cpu,cpuacct/z/cpu.cfs_period_us", "100000"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000"),
        ("sys/fs/cgroup/memory/x/y/memory.limit_in_bytes", "9223372036854771712"),
        ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "268435456"),
        ("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "200000000"),
        ("sys/fs/cgroup/memory/x/memory.stat", "inactive_file 1\ntotal_inactive_file 100000000"),
        ("sys/fs/cgroup/cpuset/cpuset.cpus", "0-3"),
        ("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-1"),
        ("sys/fs/cgroup/cpuset/cpuset.mems", "1"),
    ]);
    assert_eq!((found.cpu_quota, found.cgroup_version), (Some(0.5), Some(1)));
    assert_eq!((found.memory_bytes, found.memory_available_bytes), (Some(268_435_456), Some(168_435_456)));
    assert_eq!(
        (found.cpuset.to_string(), found.memory_nodes.to_string()),
        ("0-1".to_owned(), "1".to_owned())
    );
}

#[test]
fn both_versions_at_once() {
    let mountinfo = format!("{V1}41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    let found = limits(&[
        ("proc/self/cgroup", "4:memory:/a\n1:cpu,cpuacct:/\n0::/s"),
        ("proc/self/mountinfo", &mountinfo),
        ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1073741824"),
        ("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "0"),
        ("sys/fs/cgroup/unified/s/cpu.max", "200000 100000"),
        ("sys/fs/cgroup/unified/s/memory.max", "4294967296"),
    ]);
    assert_eq!((found.cpu_quota, found.memory_bytes), (Some(2.0), Some(GIB)));
}

#[test]
fn a_container_sees_its_group_as_the_top() {
    // The group's name is that of the host, and the group itself is mounted.
    let found = limits(&[
        ("proc/self/cgroup", "4:memory:/docker/0123/deep"),
        ("proc/self/mountinfo", "35 31 0:32 /docker/0123 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456"),
        ("sys/fs/cgroup/memory/memory.usage_in_bytes", "0"),
    ]);
    assert_eq!((found.memory_bytes, found.memory_available_bytes), (Some(256 << 20), Some(256 << 20)));
    // With a separate namespace that does not contain the mount: `/../..`.
    let found = limits(&[
        ("proc/self/cgroup", "0::/../other"),
        ("proc/self/mountinfo", V2),
        ("sys/fs/cgroup/memory.max", "268435456"),
    ]);
    assert_eq!(found.memory_bytes, Some(256 << 20));
}

#[test]
fn what_is_not_below_the_machine_is_no_limit() {
    let found = limits(&[
        ("proc/self/cgroup", "0::/a"),
        ("proc/self/mountinfo", V2),
        ("sys/fs/cgroup/a/cpu.max", "800000 100000"),
        ("sys/fs/cgroup/a/memory.max", "999999999999999"),
    ]);
    assert_eq!((found.cpu_quota, found.memory_bytes, found.cgroup_version), (None, None, None));
}

#[test]
fn nonsense_in_the_files_is_no_limit() {
    for nonsense in ["", "x y", "-5 -5", "0 0", "1e3 1e3", "99999999999999999999 1"] {
        let found = limits(&[
            ("proc/self/cgroup", "0::/a"),
            ("proc/self/mountinfo", V2),
            ("sys/fs/cgroup/a/cpu.max", nonsense),
            ("sys/fs/cgroup/a/memory.max", nonsense),
            ("sys/fs/cgroup/a/cpuset.cpus.effective", nonsense),
        ]);
        assert_eq!((found.cpu_quota, found.memory_bytes), (None, None), "{nonsense:?}");
        assert!(found.cpuset.is_empty(), "{nonsense:?}");
    }
}

#[test]
fn the_captured_process_tells_affinity_priority_and_locked_memory() {
    let status = |capabilities: &str| {
        format!(
            "Name:\tcat\nUid:\t0\t1000\t1000\t1000\nCapEff:\t{capabilities}\n\
             Cpus_allowed_list:\t2-3,100\nMems_allowed_list:\t0"
        )
    };
    let rlimits = "Limit  Soft Limit  Hard Limit  Units\nMax locked memory  65536  65536  bytes\n\
                   Max realtime priority  0  0\n";
    let machine = with(&[("proc/self/status", &status("0000000000000000")), ("proc/self/limits", rlimits)]);
    assert_eq!(machine.allowed_cpus().to_string(), "2-3");
    assert_eq!(machine.nodes.iter().map(|node| node.allowed).collect::<Vec<_>>(), [true, false]);
    let limits = machine.limits;
    assert_eq!((limits.root, limits.rt_priority, limits.locked_bytes), (Some(false), Some(0), Some(65_536)));

    // CAP_SYS_NICE and CAP_IPC_LOCK lift both.
    let machine = with(&[("proc/self/status", &status("0000000000804000")), ("proc/self/limits", rlimits)]);
    assert_eq!((machine.limits.rt_priority, machine.limits.locked_bytes), (Some(99), machine.memory_bytes));
}

#[test]
fn the_cpus_allowed_are_counted_where_the_process_is_known() {
    assert_eq!(with(&[]).counts.cpus_allowed, None);
    let status = "Name:\tx\nCpus_allowed_list:\t0-5\n";
    assert_eq!(with(&[("proc/self/status", status)]).counts.cpus_allowed, Some(6));
}

#[test]
fn this_process_may_run_somewhere() {
    let machine = machine::inspect(&machine::Root::live()).machine;
    crate::support::sound::check(&machine);
    let allowed = machine.allowed_cpus();
    assert_eq!(machine.counts.cpus_allowed.unwrap_or(0) as usize, allowed.len());
    // The standard library also queries the affinity mask and the quota.
    let parallel = std::thread::available_parallelism().unwrap().get();
    assert!(parallel <= allowed.len(), "{parallel} threads may run, but only on {allowed}");
}
