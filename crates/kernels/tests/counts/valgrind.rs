//! Counts with valgrind's callgrind, which counts instructions by emulating the program, and therefore needs no
//! permission to trace. It supports vectors of up to 256 bits, and hides wider ones from the program.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::hold;
use crate::mark::{MARK, pair};

/// The example `count`, which Cargo builds together with the tests.
fn example() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let path = test.ancestors().nth(2).expect("two folders above a test").join("examples/count");
    assert!(path.is_file(), "{} is not there: cargo build -p linespeed-kernels --examples", path.display());
    path
}

/// The instruction count of part `number` of the profile at `out`. Parts are numbered from 1 and end at a mark.
fn part(out: &Path, number: usize) -> Option<u64> {
    let text = std::fs::read_to_string(format!("{}.{number}", out.display())).ok()?;
    let totals = text.lines().find_map(|line| line.strip_prefix("totals: ")).expect("a part has totals");
    Some(totals.trim().parse().expect("a number of instructions"))
}

#[test]
fn valgrind_counts_as_many_instructions_as_are_declared() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("callgrind-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the profile");
    let out = folder.join("out");
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--combine-dumps=no", "-q"])
        .arg(format!("--dump-before={MARK}"))
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(example())
        .output()
        .expect("valgrind must be installed (Debian: apt-get install valgrind)");
    let listed = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{}\n{listed}\n{}", run.status, String::from_utf8_lossy(&run.stderr));
    // Part 1 ends at the first mark.
    let mut between: Vec<u64> = (2..).map_while(|number| part(&out, number)).collect();
    // The rest after the last mark is the end of the program, which callgrind writes as a further part or without a
    // number.
    between.truncate(3 * listed.lines().count() - 1);
    std::fs::remove_dir_all(&folder).expect("the profile's folder");
    hold(&pair(&listed, &between));
}
