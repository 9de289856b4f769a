//! Other tools' output as records.

use std::fs;
use std::path::Path;

use record::Record;

use crate::support::{Ran, folder, ran};

const TWO: &str = "\
Hello, these are our machines.
root@db1:~# lscpu
Architecture:          x86_64
CPU(s):                4
On-line CPU(s) list:   0-3
Thread(s) per core:    1      // no siblings
Core(s) per socket:    4
Socket(s):             1
NUMA node(s):          1
root@db1:~# numactl -H
available: 2 nodes (0-1)
node 0 cpus: 0 1
node 1 cpus: 2 3
root@db2:~# lscpu
Architecture:          aarch64
CPU(s):                8
Core(s) per socket:    0
";

fn import(arguments: &[&str], file: &Path) -> Ran {
    let mut all = vec!["import".as_ref(), file.as_os_str()];
    all.extend(arguments.iter().map(|argument| std::ffi::OsStr::new(*argument)));
    ran(all)
}

fn records(folder: &Path) -> Vec<Record> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| Record::read(path).unwrap()).collect()
}

/// What `import` prints of a text that the reader of its tool is tested with.
fn printed(name: &str, more: &[&str]) -> String {
    let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/texts").join(name);
    let place = folder();
    let out = place.path().join("a.json");
    let mut arguments = vec!["--output", out.to_str().unwrap()];
    arguments.extend(more);
    let text = import(&arguments, &text).succeeds().stdout;
    assert!(!more.is_empty() || text.lines().count() <= 24, "{text}");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_was_read_is_printed_and_each_figure_says_what_it_is() {
    let text = printed("lscpu-numactl-8269cy.txt", &[]);
    for words in ["2 packages, 52 cores, 104 CPUs", "L3: 35.75 MiB", "base 2.50 GHz", "GenuineIntel"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // What has no room in the answer.
    assert!(!text.contains("Architecture:"), "{text}");
    assert!(printed("lscpu-numactl-8269cy.txt", &["--all"]).contains("Architecture: x86_64"));
    let text = printed("cyclictest-verbose.txt", &[]);
    assert_eq!(text.matches("65.0 µs").count(), 2, "{text}");
    let text = printed("cyclictest-histogram.txt", &[]);
    for words in ["33.0 µs 205 µs 17.4 ms", "72.0 µs"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn each_machine_of_a_text_becomes_a_record_that_says_where_its_figures_stood() {
    let place = folder();
    let (text, out) = (place.path().join("mail.txt"), place.path().join("out"));
    fs::write(&text, TWO).unwrap();
    fs::create_dir(&out).unwrap();
    let reported = import(&["--output", out.to_str().unwrap()], &text);
    assert_eq!(reported.code, Some(0), "{reported:?}");
    let short =
        ["db1", "lscpu: lines 3–9", "numactl -H", "1 kept as text", "1 contradiction", "linespeed compare"];
    for words in short {
        assert!(reported.stdout.contains(words), "{words} is missing in {}", reported.stdout);
    }
    let all = import(&["--all", "--output", out.to_str().unwrap()], &text);
    assert!(all.stdout.contains("uses numactl") && all.stdout.contains("(line 17)"), "{}", all.stdout);
    assert!(all.stdout.contains("Not recognized: 1 line") && all.stderr.is_empty(), "{all:?}");
    assert!(reported.stderr.contains("1 line not recognized") && reported.stderr.contains("Hello"));
    let records = records(&out);
    let names: Vec<_> = records.iter().map(|record| record.machine.hostname.as_deref()).collect();
    assert_eq!(names, [Some("db1"), Some("db2")]);
    let db1 = &records[0];
    assert_eq!((db1.machine.counts.cores, db1.machine.counts.nodes), (Some(4), Some(2)));
    let import = db1.import.as_ref().unwrap();
    assert_eq!(import.inventory["machine.counts.packages"].line, 8);
    assert!(import.contradictions[0].says.contains("uses numactl"));
    assert_eq!(records[1].import.as_ref().unwrap().withheld[0].origin.line, 17);
    // It can be shown like any other.
    let path = fs::read_dir(&out).unwrap().next().unwrap().unwrap().path();
    ran(["show".as_ref(), path.as_os_str()]).succeeds();
}

#[test]
fn a_folder_that_is_asked_for_is_made_and_what_nobody_understood_is_reported_once() {
    let place = folder();
    let (text, out) = (place.path().join("mail.txt"), place.path().join("new/records"));
    let prose: String = (1..=9).map(|line| format!("Sentence {line} of a letter.\n")).collect();
    fs::write(&text, prose + TWO).unwrap();
    let out = out.to_str().unwrap();
    import(&["--output", out], &text).fails(2, &["db1", "name ending in /"]);
    assert!(!Path::new(out).exists(), "made without having been asked for");
    let usual = import(&["--output", &format!("{out}/")], &text);
    assert_eq!((usual.code, records(Path::new(out)).len()), (Some(0), 2), "{usual:?}");
    // Once: what is read by a program is not mixed with it.
    assert!(
        usual.stderr.contains("10 lines not recognized") && usual.stderr.contains("Sentence 1"),
        "{usual:?}"
    );
    assert!(!usual.stdout.contains("not recognized"), "{}", usual.stdout);
    for all in ["--all", "-v"] {
        let whole = import(&[all, "--output", out], &text);
        assert_eq!(whole.stdout.matches("Sentence 9").count(), 1, "{}", whole.stdout);
        assert_eq!(whole.stdout.matches("ot recognized").count(), 1, "{}", whole.stdout);
        assert!(whole.stdout.contains("Not recognized: 10 lines") && whole.stderr.is_empty(), "{whole:?}");
    }
}

#[test]
fn a_folder_is_made_for_one_machine_too_and_json_goes_to_the_file_that_is_named() {
    let place = folder();
    let (text, out) = (place.path().join("mail.txt"), place.path().join("new/records"));
    fs::write(&text, TWO).unwrap();
    let reported = import(&["--only", "db1", "--output", &format!("{}/", out.display())], &text);
    assert_eq!(reported.code, Some(0), "{reported:?}");
    let made = records(&out);
    assert!(made.len() == 1 && made[0].machine.hostname.as_deref() == Some("db1"), "{reported:?}");
    assert!(reported.stdout.contains("new/records/"), "{}", reported.stdout);
    let file = place.path().join("one.json");
    let reported = import(&["--only", "2", "--json", "--output", file.to_str().unwrap()], &text);
    assert_eq!((reported.code, reported.stdout.as_str()), (Some(0), ""), "{reported:?}");
    assert_eq!(Record::read(&file).unwrap().machine.architecture, "aarch64");
    // A file is no folder.
    let reported = import(&["--only", "1", "--output", &format!("{}/", file.display())], &text);
    assert!(
        reported.code == Some(3) && reported.stderr.contains("one.json/: cannot be created"),
        "{reported:?}"
    );
}

#[test]
fn one_of_several_is_named_or_numbered() {
    let place = folder();
    let text = place.path().join("mail.txt");
    fs::write(&text, TWO).unwrap();
    for wanted in ["db2", "2", "DB2"] {
        let reported = import(&["--only", wanted, "--json"], &text);
        assert_eq!(reported.code, Some(0), "{reported:?}");
        let record = Record::from_json(reported.stdout.as_bytes()).unwrap();
        assert_eq!(record.machine.architecture, "aarch64");
    }
    import(&["--json"], &text).fails(2, &["2 machines", "db1", "--only"]);
    import(&["--output", place.path().join("x.json").to_str().unwrap()], &text)
        .fails(2, &["2 machines", "directory"]);
    import(&["--only", "db3"], &text).fails(2, &["--only db3", "1: db1, 2: db2"]);
}

#[test]
fn what_cannot_be_imported_is_one_clear_line() {
    let place = folder();
    let file = |name: &str, text: &str| {
        let path = place.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    import(&[], &file("prose.txt", "Nothing here.\n"))
        .fails(3, &["prose.txt", "its only line is not output", "linespeed import --help lists the tools"]);
    let long = file("long.txt", &"root:x:0:0:root:/root:/bin/bash\n".repeat(24));
    let refused = import(&[], &long).stderr;
    assert!(refused.contains("none of the 24 lines") && refused.len() < 200, "{refused}");
    assert!(ran(["import", "--help"]).succeeds().stdout.contains("hyperfine --export-csv"));
    import(&[], Path::new("reference:epyc"))
        .fails(2, &["did you mean epyc-7h12", "linespeed reference lists all"]);
    import(&[], Path::new("reference:epyc-7h12")).fails(3, &["linespeed show reference:epyc-7h12"]);
    import(&[], &file("empty.txt", "")).fails(3, &["empty.txt", "empty"]);
    import(&[], place.path()).fails(3, &["is a directory"]);
    import(&[], &place.path().join("missing.txt")).fails(3, &["missing.txt", "cannot be opened"]);
    let two = file("two.txt", "Architecture: x86_64\nCPU(s): 4\n\nArchitecture: x86_64\nCPU(s): 8\n");
    import(&[], &two).fails(3, &["line 2", "line 5", "--split"]);
    import(&["--split", "("], &two).fails(2, &["--split", "not a regular expression"]);
    import(&["--split", ""], &two).fails(2, &["--split is empty"]);
    import(&["--split", "^Architecture", "--only", "2", "--json"], &two).succeeds();
}
