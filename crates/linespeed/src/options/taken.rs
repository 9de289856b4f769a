//! Which of the global flags each command supports.

/// Commands that measure.
const MEASURING: &str = "run scale overhead";
/// Other commands whose result has a page and CSV.
const WITH_PAGE: &str = "stat show reference import compare fleet history";
/// Other commands whose result has a format for programs.
const LISTING: &str = "records inspect list plan";

/// Global flags that apply only to some commands, which are listed: the others reject them, and their help omits them.
pub(super) const TAKEN_BY: &[(&str, &[&str])] = &[
    ("all", &[MEASURING, WITH_PAGE, "plan inspect quiet check"]),
    ("quick", &[MEASURING, "check"]),
    ("full", &[MEASURING]),
    ("cpus", &[MEASURING, "list stat plan quiet"]),
    ("quiet_machine", &[MEASURING, "stat plan"]),
    ("fail_on", &["run scale show import quiet compare stat"]),
    ("label", &[MEASURING, "stat import records live"]),
    ("redact", &[MEASURING, "stat show import compare inspect live fleet history"]),
    ("json", &[MEASURING, WITH_PAGE, LISTING, "quiet fix explain schema live check"]),
    ("output", &[MEASURING, WITH_PAGE, LISTING, "quiet fix live check"]),
    ("csv", &[MEASURING, WITH_PAGE]),
    ("markdown", &[MEASURING, WITH_PAGE, LISTING, "quiet fix explain"]),
    ("html", &[MEASURING, WITH_PAGE]),
    ("prom", &[MEASURING, "stat show inspect live check"]),
];

/// The page of the options that commands share: `linespeed help options`.
pub(super) const ALL: &str = "options";

/// Whether a global flag applies to this command.
pub(super) fn is_taken(id: &str, command: &str) -> bool {
    let taken = TAKEN_BY.iter().find(|(flag, _)| *flag == id);
    // The page of all options shows them all.
    command == ALL
        || taken.is_none_or(|(_, lists)| lists.iter().any(|list| list.split(' ').any(|one| one == command)))
}
