//! Compares linespeed with two published rules on synthetic fleets that are derived from a real record and have known
//! slow machines.
//!
//! `cargo run --release -p linespeed-fleet --example bench [RECORD.json]` prints the table of `docs/measured.md`;
//! `--first 1000` uses other fleets, and `--files DIR N` instead writes N records to a directory and reads them as `linespeed fleet` does.

mod chance;
mod plant;
mod rules;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use chance::Chance;
use fleet::{Brief, Input, judge_fleet, newest_of_each};
use plant::{CAUSES, Models};
use record::Tool;
use record::fleet::{Fleet, Reading};
use record::redaction::Aliases;

/// Fleets with slow machines, and without.
const FLEETS: u64 = 200;
/// A record that is in the tree.
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../linespeed/tests/records/0.1/main.json");

/// The outcome of a rule over all fleets.
#[derive(Default)]
struct Score {
    right: usize,
    wrong: usize,
    missed: usize,
    /// Fleets without a slow machine, and how many of these have a false positive.
    clean: usize,
    clean_wrong: usize,
    clean_machines_wrong: usize,
}

impl Score {
    fn add(&mut self, slow: &[bool], said: &[bool]) {
        for (slow, said) in slow.iter().zip(said) {
            match (slow, said) {
                (true, true) => self.right += 1,
                (false, true) => self.wrong += 1,
                (true, false) => self.missed += 1,
                (false, false) => {}
            }
        }
    }

    fn add_clean(&mut self, said: &[bool]) {
        let wrong = said.iter().filter(|said| **said).count();
        self.clean += 1;
        self.clean_wrong += usize::from(wrong > 0);
        self.clean_machines_wrong += wrong;
    }

    fn line(&self, name: &str) {
        let precision = self.right as f64 / (self.right + self.wrong).max(1) as f64;
        let recall = self.right as f64 / (self.right + self.missed).max(1) as f64;
        println!(
            "| {name} | {precision:.3} | {recall:.3} | {} of {} | {} |",
            self.clean_wrong, self.clean, self.clean_machines_wrong
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, folder, count] = arguments.as_slice()
        && flag == "--files"
    {
        return files(Path::new(folder), count.parse().expect("a number of files"));
    }
    // Fleets on which no bound was chosen.
    let (first, arguments) = match arguments.as_slice() {
        [flag, first, rest @ ..] if flag == "--first" => (first.parse().expect("a number"), rest),
        all => (0, all),
    };
    let path = arguments.first().map_or(RECORD, String::as_str);
    let models = Models::new(Path::new(path));
    let mut scores = [Score::default(), Score::default(), Score::default()];
    let mut causes: BTreeMap<&str, (usize, usize, BTreeMap<String, usize>)> = BTreeMap::new();
    let (mut machines, mut time) = (0, 0.0);
    for seed in first..first + FLEETS {
        for clean in [false, true] {
            let mut chance = Chance::new(seed * 2 + u64::from(clean));
            let made = models.fleet(&mut chance, clean);
            machines += made.briefs.len();
            let begun = Instant::now();
            let said = judge(&made.briefs, &models);
            time += begun.elapsed().as_secs_f64();
            let mut flagged = vec![false; made.briefs.len()];
            for slow in &said.slow {
                let at =
                    made.briefs.iter().position(|brief| brief.machine == slow.machine).expect("a machine");
                flagged[at] = true;
                if let Some(cause) = made.causes[at] {
                    let named = slow.causes.first().map_or("", |cause| cause.code.as_str());
                    let entry = causes.entry(CAUSES[cause].name).or_default();
                    entry.1 += 1;
                    if CAUSES[cause].codes.contains(&named) {
                        entry.0 += 1;
                    } else {
                        *entry.2.entry(named.to_owned()).or_default() += 1;
                    }
                }
            }
            let by_mean = rules::mean_again(&made.briefs, models.known());
            let by_mad = rules::mad_z(&made.briefs, models.known());
            for (score, said) in scores.iter_mut().zip([&flagged, &by_mean, &by_mad]) {
                if clean {
                    score.add_clean(said);
                } else {
                    let slow: Vec<bool> = made.causes.iter().map(Option::is_some).collect();
                    score.add(&slow, said);
                }
            }
        }
    }
    println!("{machines} machines in {} fleets, judged in {time:.1} s\n", 2 * FLEETS);
    println!("| rule | precision | recall | clean fleets with a slow machine | machines in them |");
    println!("|---|---|---|---|---|");
    for (name, score) in ["linespeed fleet", "mean, 5 %, mean again", "MAD-z > 3.5"].iter().zip(&scores) {
        score.line(name);
    }
    println!("\n| planted cause | named first | else |\n|---|---|---|");
    let (mut right, mut all) = (0, 0);
    for (name, (named, found, others)) in &causes {
        let mut others: Vec<_> = others.iter().collect();
        others.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let others = others.iter().take(3).map(|(code, count)| format!("{code} {count}")).collect::<Vec<_>>();
        println!("| {name} | {named} of {found} | {} |", others.join(", "));
        (right, all) = (right + named, all + found);
    }
    println!("| all | {right} of {all} ({:.3}) | |", right as f64 / all.max(1) as f64);
}

fn judge(briefs: &[Brief], models: &Models) -> Fleet {
    let mut briefs = briefs.to_vec();
    let collections = newest_of_each(&mut briefs, &mut Vec::new(), &Aliases::default());
    let input = Input { briefs: &briefs, collections: &collections, known: models.known() };
    judge_fleet(&input, Tool { name: String::new(), version: String::new() }, Reading::default())
}

/// Writes records and reads them, and reports the time and the memory used.
fn files(folder: &Path, count: usize) {
    std::fs::create_dir_all(folder).expect("a folder");
    let mut record = record::Record::read(Path::new(RECORD)).expect("the record in the tree");
    for number in 0..count {
        let path = folder.join(format!("node{number:05}.json"));
        if !path.exists() {
            record.machine.hostname = Some(format!("node{number:05}"));
            std::fs::write(path, record.to_json().expect("JSON")).expect("room");
        }
    }
    let begun = Instant::now();
    let mut read = fleet::read(&[PathBuf::from(folder)], 2, &fleet::Names::Own);
    let reading = begun.elapsed().as_secs_f64();
    let collections = newest_of_each(&mut read.briefs, &mut read.remarks, &Aliases::default());
    let input = Input { briefs: &read.briefs, collections: &collections, known: &read.known };
    let said = judge_fleet(&input, Tool { name: String::new(), version: String::new() }, Reading::default());
    let all = begun.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown");
    println!(
        "{} records read in {reading:.2} s, judged after {all:.2} s, {} slow; {peak}",
        read.briefs.len(),
        said.slow.len()
    );
}
