//! Tests that everything is restored, regardless of which process is killed and when. Set `LINESPEED_TEST_KILLS=1000`
//! for that many kills.
#[path = "../examples/kills/kernel.rs"]
mod kernel;
#[path = "../examples/kills/settings.rs"]
mod settings;
mod support;
#[path = "../examples/kills/tracer.rs"]
mod tracer;
#[path = "../examples/kills/trials.rs"]
mod trials;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use kernel::Kernel;
use quiet::knob::KnobContext;
use trials::{Bench, Dice, Tally};

/// Number of kills in a regular test run, which take some seconds.
const FEW: u32 = 60;

#[test]
fn after_every_kill_every_file_is_as_it_was() {
    let kills = std::env::var("LINESPEED_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(FEW);
    let folder = support::temporary();
    let tree = folder.path().join("machine");
    support::made_up(&tree, 2);
    // Already off, which setting a governor reverts.
    support::put(&tree, "sys/devices/system/cpu/intel_pstate/no_turbo", "1");
    let state = support::temporary();
    let root = machine::Root::captured(&tree).unwrap();
    let files = Kernel::new(&root);
    let context = KnobContext::new(&files, "1".parse().unwrap());
    let changes = trials::all_changes(&context);
    assert!(changes.len() > 20, "{}", changes.len());
    let read_files = || settings::contents(&[&tree]);
    let bench = Bench {
        files: &files,
        changes,
        folder: state.path().to_owned(),
        read_files: &read_files,
        before: read_files(),
        on_tally: &|_| {},
        program: None,
        moving: BTreeSet::new(),
    };
    let tally: Tally = bench.kill(kills, Instant::now() + Duration::from_secs(3600), &mut Dice::new(7));
    println!("{} kills in {} trials, {} untraced", tally.kills, tally.trials, tally.untraced);
    assert!(tally.wrong.is_empty(), "{:#?}", tally.wrong);
    assert!(tally.kills >= kills);
}
