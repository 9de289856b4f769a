//! Synthetic machines of any size, written as a tree of files as in a current kernel.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use record::CpuList;

/// The shape of a synthetic machine. CPUs are numbered as on x86: the first threads of all cores of all packages, then
/// the second threads.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Total number of CPUs (hardware threads).
    pub cpus: u32,
    /// Total number of NUMA nodes.
    pub nodes: u32,
    /// Packages.
    pub packages: u32,
    /// Threads per core.
    pub threads: u32,
}

/// Number of cores that share an L2 cache and form a cluster.
const CORES_A_CLUSTER: u32 = 4;
/// Memory per node, KiB: 64 GiB.
const NODE_KIB: u64 = 64 << 20;

/// The files of a machine by path; links contain their target.
#[derive(Clone, Debug, Default)]
pub struct Files {
    pub texts: BTreeMap<String, String>,
    pub links: BTreeMap<String, String>,
}

impl Files {
    /// Writes the files below `folder`.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let mut made = None;
        for (path, text) in &self.texts {
            // In path order, so that each directory is created once: a large machine has tens of thousands of files.
            let parent = path.rsplit_once('/').map(|(parent, _)| parent);
            if parent != made {
                std::fs::create_dir_all(folder.join(parent.unwrap_or_default()))?;
                made = parent;
            }
            std::fs::write(folder.join(path), text)?;
        }
        for (path, target) in &self.links {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
            std::os::unix::fs::symlink(target, path)?;
        }
        Ok(())
    }

    pub fn put(&mut self, path: String, text: impl ToString) {
        self.texts.insert(path, format!("{}\n", text.to_string()));
    }
}

impl Shape {
    /// Checks whether this shape is possible, for the example that writes such trees; the error is the reason.
    #[allow(dead_code, reason = "of the example alone")]
    pub fn check(&self) -> Result<(), String> {
        let Shape { cpus, nodes, packages, threads } = *self;
        if cpus == 0 || nodes == 0 || packages == 0 || threads == 0 || cpus > 16_384 {
            return Err("there must be 1 to 16384 CPUs, and at least one of everything else".to_owned());
        }
        if !cpus.is_multiple_of(packages * threads) || !self.cores().is_multiple_of(nodes) {
            return Err("packages × threads must divide the CPUs, and nodes the cores".to_owned());
        }
        Ok(())
    }

    pub fn cores(&self) -> u32 {
        self.cpus / self.threads
    }

    pub fn core_of(&self, cpu: u32) -> u32 {
        cpu % self.cores()
    }

    pub fn package_of(&self, cpu: u32) -> u32 {
        self.core_of(cpu) / (self.cores() / self.packages)
    }

    pub fn node_of(&self, cpu: u32) -> u32 {
        self.core_of(cpu) / (self.cores() / self.nodes)
    }

    /// The cluster of a CPU; clusters do not span packages.
    pub fn cluster_of(&self, cpu: u32) -> u32 {
        let a_package = self.cores() / self.packages;
        let clusters_a_package = a_package.div_ceil(CORES_A_CLUSTER);
        self.package_of(cpu) * clusters_a_package + (self.core_of(cpu) % a_package) / CORES_A_CLUSTER
    }

    /// The last-level cache of a CPU, which is shared by a node's part of a package.
    pub fn last_level_of(&self, cpu: u32) -> u32 {
        self.package_of(cpu) * self.nodes + self.node_of(cpu)
    }

    /// Groups CPUs by the number returned by `of`.
    pub fn groups(&self, of: impl Fn(u32) -> u32) -> BTreeMap<u32, CpuList> {
        let mut groups: BTreeMap<u32, CpuList> = BTreeMap::new();
        for cpu in 0..self.cpus {
            groups.entry(of(cpu)).or_default().insert(cpu);
        }
        groups
    }

    /// All files.
    pub fn files(&self) -> Files {
        let mut files = Files::default();
        let all = format!("0-{}", self.cpus - 1);
        for name in ["present", "online", "possible"] {
            files.put(format!("sys/devices/system/cpu/{name}"), &all);
        }
        self.topology(&mut files);
        self.caches(&mut files);
        self.clocks(&mut files);
        self.nodes(&mut files);
        self.procfs(&mut files);
        files
    }

    fn topology(&self, files: &mut Files) {
        let cores = self.groups(|cpu| self.core_of(cpu));
        let packages = self.groups(|cpu| self.package_of(cpu));
        let clusters = self.groups(|cpu| self.cluster_of(cpu));
        for cpu in 0..self.cpus {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            let package = self.package_of(cpu);
            let lists = [
                ("core_cpus", &cores[&self.core_of(cpu)]),
                ("thread_siblings", &cores[&self.core_of(cpu)]),
                ("cluster_cpus", &clusters[&self.cluster_of(cpu)]),
                ("die_cpus", &packages[&package]),
                ("package_cpus", &packages[&package]),
                ("core_siblings", &packages[&package]),
            ];
            for (name, list) in lists {
                files.put(format!("{folder}/{name}_list"), list);
                files.put(format!("{folder}/{name}"), mask(list, self.cpus));
            }
            files.put(format!("{folder}/core_id"), self.core_of(cpu) % (self.cores() / self.packages));
            files.put(format!("{folder}/cluster_id"), self.cluster_of(cpu));
            files.put(format!("{folder}/die_id"), 0);
            files.put(format!("{folder}/physical_package_id"), package);
        }
    }

    fn caches(&self, files: &mut Files) {
        let cores = self.groups(|cpu| self.core_of(cpu));
        let clusters = self.groups(|cpu| self.cluster_of(cpu));
        let last = self.groups(|cpu| self.last_level_of(cpu));
        for cpu in 0..self.cpus {
            let core = &cores[&self.core_of(cpu)];
            let caches = [
                (1, "Data", 48, 12, core),
                (1, "Instruction", 32, 8, core),
                (2, "Unified", 2048, 16, &clusters[&self.cluster_of(cpu)]),
                (3, "Unified", 32_768, 16, &last[&self.last_level_of(cpu)]),
            ];
            for (index, (level, kind, kib, ways, cpus)) in caches.into_iter().enumerate() {
                let folder = format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
                files.put(format!("{folder}/level"), level);
                files.put(format!("{folder}/type"), kind);
                files.put(format!("{folder}/size"), format!("{kib}K"));
                files.put(format!("{folder}/coherency_line_size"), 64);
                files.put(format!("{folder}/ways_of_associativity"), ways);
                files.put(format!("{folder}/number_of_sets"), kib * 1024 / 64 / ways);
                files.put(format!("{folder}/physical_line_partition"), 1);
                files.put(format!("{folder}/shared_cpu_list"), cpus);
                files.put(format!("{folder}/shared_cpu_map"), mask(cpus, self.cpus));
            }
        }
    }

    fn clocks(&self, files: &mut Files) {
        for cpu in 0..self.cpus {
            let folder = format!("sys/devices/system/cpu/cpufreq/policy{cpu}");
            let texts = [
                ("scaling_driver", "intel_pstate"),
                ("scaling_governor", "performance"),
                ("scaling_min_freq", "800000"),
                ("scaling_max_freq", "3800000"),
                ("scaling_cur_freq", "3700000"),
                ("cpuinfo_min_freq", "800000"),
                ("cpuinfo_max_freq", "3800000"),
                ("base_frequency", "2100000"),
                ("energy_performance_preference", "performance"),
            ];
            for (name, text) in texts {
                files.put(format!("{folder}/{name}"), text);
            }
            for name in ["affected_cpus", "related_cpus"] {
                files.put(format!("{folder}/{name}"), cpu);
            }
            let link = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq");
            files.links.insert(link, format!("../cpufreq/policy{cpu}"));
        }
    }

    fn nodes(&self, files: &mut Files) {
        let folder = "sys/devices/system/node";
        files.put(format!("{folder}/online"), format!("0-{}", self.nodes - 1));
        for (node, cpus) in self.groups(|cpu| self.node_of(cpu)) {
            let memory = format!(
                "Node {node} MemTotal: {NODE_KIB} kB\nNode {node} MemFree: {} kB\nNode {node} MemUsed: {} kB",
                NODE_KIB / 2,
                NODE_KIB - NODE_KIB / 2
            );
            let distances: Vec<String> =
                (0..self.nodes).map(|to| if to == node { "10" } else { "21" }.to_owned()).collect();
            files.put(format!("{folder}/node{node}/cpulist"), &cpus);
            files.put(format!("{folder}/node{node}/cpumap"), mask(&cpus, self.cpus));
            files.put(format!("{folder}/node{node}/meminfo"), memory);
            files.put(format!("{folder}/node{node}/distance"), distances.join(" "));
            for cpu in &cpus {
                files.links.insert(format!("{folder}/node{node}/cpu{cpu}"), format!("../../cpu/cpu{cpu}"));
            }
        }
    }

    fn procfs(&self, files: &mut Files) {
        let mut cpuinfo = String::new();
        let mut stat = "cpu  100 0 100 10000 0 0 0 0 0 0\n".to_owned();
        for cpu in 0..self.cpus {
            let a_package = self.cores() / self.packages;
            // Writing to a String cannot fail.
            let _ = write!(
                cpuinfo,
                "processor\t: {cpu}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n\
                 model name\t: Made-up CPU @ 2.10GHz\nstepping\t: 8\nmicrocode\t: 0x2b000590\n\
                 cpu MHz\t\t: 3700.000\ncache size\t: 32768 KB\nphysical id\t: {}\nsiblings\t: {}\n\
                 core id\t\t: {}\ncpu cores\t: {a_package}\nflags\t\t: fpu vme de pse tsc msr pae mce cx8 sse sse2 \
                 ht syscall nx pdpe1gb rdtscp lm constant_tsc nonstop_tsc sse4_2 avx avx2 fma avx512f\n\
                 address sizes\t: 52 bits physical, 57 bits virtual\n\n",
                self.package_of(cpu),
                self.cpus / self.packages,
                self.core_of(cpu) % a_package,
            );
            let _ = writeln!(stat, "cpu{cpu} 1 0 1 100 0 0 0 0 0 0");
        }
        let total = NODE_KIB * u64::from(self.nodes);
        files.put("proc/cpuinfo".to_owned(), cpuinfo.trim_end());
        files.put("proc/stat".to_owned(), stat.trim_end());
        files.put("proc/meminfo".to_owned(), format!("MemTotal: {total} kB\nMemFree: {} kB", total / 2));
        files.put("proc/version".to_owned(), "Linux version 6.12.0 (made up) #1 SMP PREEMPT_DYNAMIC");
        files.put("proc/cmdline".to_owned(), "quiet");
        files.put("proc/loadavg".to_owned(), "0.00 0.01 0.05 1/2000 4242");
    }
}

/// The kernel's mask format: words of 32 bits, most significant first.
fn mask(cpus: &CpuList, possible: u32) -> String {
    let words: Vec<String> = (0..possible.div_ceil(32))
        .rev()
        .map(|word| {
            let bits =
                (0..32).filter(|bit| cpus.contains(word * 32 + bit)).fold(0u32, |bits, bit| bits | 1 << bit);
            format!("{bits:08x}")
        })
        .collect();
    words.join(",")
}
