//! Which commands take which of the flags that all commands have.

/// Commands that measure.
const MEASURING: &str = "run scale overhead";
/// Other commands whose result has a page, and figures as comma-separated values.
const WITH_PAGE: &str = "stat show reference import compare fleet history";
/// Other commands whose result has a form for other programs.
const LISTING: &str = "records inspect list plan";

/// Flags of all commands that mean something to some alone, with these: the others refuse them, and their help leaves them out.
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

/// Whether a flag of all commands means something to this one.
pub(super) fn is_taken(id: &str, command: &str) -> bool {
    let taken = TAKEN_BY.iter().find(|(flag, _)| *flag == id);
    // The page of all options shows them all.
    command == ALL
        || taken.is_none_or(|(_, lists)| lists.iter().any(|list| list.split(' ').any(|one| one == command)))
}
