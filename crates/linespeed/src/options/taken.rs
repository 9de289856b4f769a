//! Which commands take which of the flags that all commands have.

/// Commands that measure.
const MEASURING: &[&str] = &["run", "scale", "overhead"];
/// Commands whose result has a form for other programs.
const LISTING: &[&str] = &[
    "run",
    "scale",
    "overhead",
    "stat",
    "show",
    "reference",
    "import",
    "compare",
    "fleet",
    "history",
    "records",
    "inspect",
    "list",
    "plan",
];
/// Commands whose result has a page, and figures as comma-separated values.
const WITH_PAGE: &[&str] =
    &["run", "scale", "overhead", "stat", "show", "reference", "import", "compare", "fleet", "history"];

/// Flags of all commands that mean something to some alone, with these: the others refuse them, and their help leaves them out.
pub(super) const TAKEN_BY: &[(&str, &[&[&str]])] = &[
    (
        "all",
        &[
            MEASURING,
            &[
                "stat",
                "show",
                "reference",
                "compare",
                "fleet",
                "history",
                "plan",
                "inspect",
                "quiet",
                "import",
                "check",
            ],
        ],
    ),
    ("quick", &[MEASURING, &["check"]]),
    ("full", &[MEASURING]),
    ("cpus", &[MEASURING, &["list", "stat", "plan", "quiet"]]),
    ("quiet_machine", &[MEASURING, &["stat", "plan"]]),
    ("fail_on", &[&["run", "scale", "show", "import", "quiet", "compare", "stat"]]),
    ("label", &[MEASURING, &["stat", "import", "records", "live"]]),
    ("redact", &[MEASURING, &["stat", "show", "import", "compare", "inspect", "live", "fleet", "history"]]),
    ("json", &[LISTING, &["quiet", "fix", "explain", "schema", "live", "check"]]),
    ("output", &[LISTING, &["quiet", "fix", "live", "check"]]),
    ("csv", &[WITH_PAGE]),
    ("markdown", &[LISTING, &["quiet", "fix", "explain"]]),
    ("html", &[WITH_PAGE]),
    ("prom", &[MEASURING, &["stat", "show", "inspect", "live", "check"]]),
];

/// Whether a flag of all commands means something to this one.
pub(super) fn is_taken(id: &str, command: &str) -> bool {
    let taken = TAKEN_BY.iter().find(|(flag, _)| *flag == id);
    taken.is_none_or(|(_, lists)| lists.iter().any(|list| list.contains(&command)))
}
