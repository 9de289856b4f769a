//! What a user would see go wrong in matrices, scaling and counters, on the terminal and on the page.

use crate::html;
use crate::support;

use record::text::Value;
use report::terminal::{self, Style};

fn plain(width: usize) -> Style {
    Style { width, color: false, ..Style::default() }
}

#[test]
fn sixteen_nodes_are_a_map_with_figures_within_eighty_columns() {
    let text = terminal::Screen::draw(&plain(80), |screen| {
        terminal::report(screen, &support::named("nodes-16").unwrap(), None)
    });
    for part in [
        "ignores NUMA nodes, 93.8 % of accesses are remote",
        "Load latency, node to node, ns",
        " 0 150 170 197░182 170 182 213░198░457█",
        "· not measured",
        "1 of 255 cells unreliable",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    // 128 CPUs are summed up by kind of pair; the pairs themselves are on the page.
    assert!(text.contains("other package   4096"), "{text}");
}

#[test]
fn the_page_has_every_pair_of_128_cpus_as_a_map_and_as_a_table() {
    let page = report::page::html(&support::named("nodes-16").unwrap());
    assert_eq!(html::wrong(&page), None);
    assert!(page.contains("16256 of 16256 cells measured"), "the map is not whole");
    let table =
        page.rsplit_once("Cache-line transfer between CPUs, one way, by compare-and-swap, ns\"").unwrap().1;
    let table = table.split_once("</table>").unwrap().0;
    assert_eq!(table.matches("<tr>").count(), 129);
    assert!(table.contains("<tr><td class=\"n\">127</td>"), "rows have no heads");
    assert!(page.len() < 4_000_000, "{}", page.len());
}

#[test]
fn a_distance_that_the_firmware_tells_wrong_is_named() {
    let record = support::named("nodes-4").unwrap();
    let says = &record.diagnosis.numa.as_ref().unwrap().distance_mismatches[0];
    assert_eq!(says.code(), Some("distances-reversed"));
    let says = says.to_string();
    assert!(says.contains("node 1 to 3 (287 ns)") && says.contains("node 1 to 2 (232 ns)"), "{says}");
    assert!(
        terminal::Screen::draw(&plain(200), |screen| terminal::report(screen, &record, None)).contains(&says)
    );
    assert!(report::page::html(&record).replace('\u{a0}', " ").contains(&says));
}

#[test]
fn one_pair_of_cpus_is_a_line_and_two_steps_are_no_chart() {
    let record = support::named("emulated").unwrap();
    let text = terminal::Screen::draw(&plain(80), |screen| terminal::report(screen, &record, None));
    let pair = text.lines().find(|line| line.contains("53.2 ns")).unwrap();
    assert!(pair.split_whitespace().take(3).eq(["0", "1", "0"]), "{pair}");
    assert!(text.contains("1.96×") && !text.contains("with more threads"), "{text}");
    let page = report::page::html(&record);
    assert!(page.contains("53.2 ns") && !page.contains("class=\"heat\""), "a drawing of one pair");
    assert!(!page.contains("with more threads</title>"), "a chart of two steps");
}

#[test]
fn figures_of_an_emulated_machine_are_never_taken_for_speed() {
    let banner = "Emulated machine: results do not show real speeds.";
    let record = support::named("emulated").unwrap();
    assert_eq!(
        terminal::Screen::draw(&plain(80), |screen| terminal::report(screen, &record, None)).lines().next(),
        Some(banner)
    );
    assert!(report::page::html(&record).contains(banner));
    for name in ["small", "nodes-4"] {
        let record = support::named(name).unwrap();
        assert!(
            !terminal::Screen::draw(&plain(80), |screen| terminal::report(screen, &record, None))
                .contains(banner),
            "{name}"
        );
        assert!(!report::page::html(&record).contains(banner), "{name}");
    }
}

#[test]
fn scaling_tells_where_siblings_begin_and_shows_each_step() {
    let record = support::named("threads-104").unwrap();
    let text = terminal::Screen::draw(&plain(80), |screen| terminal::report(screen, &record, None));
    let mut said = record.diagnosis.scaling.iter().flat_map(|line| line.meaning.sentences());
    let knee = said.find(|says| says.code() == Some("scaling-knee-at-siblings")).unwrap();
    assert_eq!(knee.value("knee"), Some(&Value::Count(52)));
    for part in [
        knee.to_string().as_str(),
        "Steps of primes, cores-first",
        "52 cores",
        "SMT yield",
        "1.47×",
        "per 1000 instructions",
        "back end",
    ] {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(part), "{part} is not in:\n{text}");
    }
    let step = text.lines().find(|line| line.trim_start().starts_with("78 ")).unwrap();
    assert!(step.contains("80.3 %"), "{step}");
    assert!(text.contains("during some samples"), "{text}");
    let page = report::page::html(&record);
    // A chart for a desktop and one for a phone, a workload.
    assert_eq!(page.matches("Speed-up of triad (regular stores) with more threads</title>").count(), 2);
    assert!(page.contains("<g class=\"ref\">") && page.contains("<g class=\"fit\">"));
}

#[test]
fn a_workload_keeps_the_main_report_short() {
    let mut record = support::named("threads-104").unwrap();
    let long =
        terminal::Screen::draw(&plain(80), |screen| terminal::report(screen, &record, None)).lines().count();
    // Nine workloads more: their summary, and not their steps.
    let extra: Vec<_> = (0..9)
        .flat_map(|n| {
            record.diagnosis.scaling.iter().take(1).cloned().map(move |mut one| {
                one.workload = format!("workload-{n}");
                one
            })
        })
        .collect();
    record.diagnosis.scaling.extend(extra);
    let longer =
        terminal::Screen::draw(&plain(80), |screen| terminal::report(screen, &record, None)).lines().count();
    assert!(longer < long + 20, "{long} lines grew to {longer}");
}

#[test]
fn what_nodes_cost_and_how_workloads_scale_is_said_in_a_few_sentences() {
    let mut said = Vec::new();
    for name in ["nodes-4", "nodes-16", "threads-104", "small"] {
        let diagnosis = support::named(name).unwrap().diagnosis;
        let numa = diagnosis.numa.iter();
        said.extend(numa.clone().map(|numa| format!("{name}: {}", numa.meaning)));
        said.extend(numa.flat_map(|numa| &numa.distance_mismatches).map(|pair| format!("    {pair}")));
        let lines = diagnosis.scaling.iter();
        said.extend(
            lines.map(|line| format!("{name}, {}, {}: {}", line.workload, line.placement, line.meaning)),
        );
        said.extend(diagnosis.siblings.iter().map(|one| format!("{name}, {}: {}", one.workload, one.says)));
    }
    insta::assert_snapshot!(said.join("\n"));
}
