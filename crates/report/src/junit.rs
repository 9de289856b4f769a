//! A gate as a test report: JUnit XML, as read by GitLab, GitHub Actions and Jenkins.
//!
//! There is no standard; these elements and attributes are supported by all three and allowed by Jenkins' schema.

use std::collections::BTreeSet;
use std::fmt::Write;

use record::gate::{Gate, Held, Outcome};

use crate::contents::gate::reason;

/// One suite per record or command, with one test per result; `suite` returns the name of the suite with a given number. A test fails if
/// the gate fails the result, and is skipped if the result is too noisy for a decision.
pub fn report(gate: &Gate, suite: impl Fn(usize) -> String) -> String {
    let subjects: BTreeSet<usize> = gate.held.iter().map(|held| held.subject).collect();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(xml, "<testsuites name=\"linespeed\"{}>", counts(gate, &gate.held));
    for subject in subjects {
        let held: Vec<Held> = gate.held.iter().filter(|held| held.subject == subject).cloned().collect();
        let name = escape(&suite(subject));
        let _ = writeln!(xml, "  <testsuite name=\"{name}\"{} errors=\"0\">", counts(gate, &held));
        held.iter().for_each(|held| write_case(&mut xml, gate, held));
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// The report if nothing could be compared, with the reason.
pub fn error(why: &str) -> String {
    let (counts, why) = ("tests=\"1\" failures=\"0\" skipped=\"0\" errors=\"1\"", escape(why));
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"linespeed\" {counts}>\n  <testsuite \
         name=\"linespeed\" {counts}>\n    <testcase classname=\"linespeed\" name=\"gate\">\n      <error \
         message=\"{why}\"/>\n    </testcase>\n  </testsuite>\n</testsuites>\n"
    )
}

fn counts(gate: &Gate, held: &[Held]) -> String {
    let count = |which: &dyn Fn(&Held) -> bool| held.iter().filter(|held| which(held)).count();
    let failures = count(&|held| gate.terms.fails(held.outcome));
    let skipped = count(&|held| is_skipped(gate, held));
    format!(" tests=\"{}\" failures=\"{failures}\" skipped=\"{skipped}\"", held.len())
}

fn is_skipped(gate: &Gate, held: &Held) -> bool {
    held.outcome == Outcome::Noisy && !gate.terms.fails(held.outcome)
}

fn write_case(xml: &mut String, gate: &Gate, held: &Held) {
    let (class, name) = (escape(held.metric.name()), escape(&held.what.to_string()));
    let _ = write!(xml, "    <testcase classname=\"{class}\" name=\"{name}\"");
    let reason = escape(&reason(gate, held));
    let _ = if gate.terms.fails(held.outcome) {
        let kind = if held.outcome == Outcome::Slower { "slower" } else { "noisy" };
        writeln!(xml, ">\n      <failure type=\"{kind}\" message=\"{reason}\"/>\n    </testcase>")
    } else if is_skipped(gate, held) {
        writeln!(xml, ">\n      <skipped message=\"{reason}\"/>\n    </testcase>")
    } else {
        writeln!(xml, "/>")
    };
}

/// Text for an attribute. XML 1.0 cannot represent some characters.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in crate::text::clean(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}
