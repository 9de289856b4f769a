//! What a user would see go wrong in a report, on the terminal and on the page, over machines of several shapes.

use crate::html;
use crate::support;
use record::Label;

use record::diagnosis::{Finding, Severity};
use record::{Record, Verdict};
use report::terminal::{self, Style};
use unicode_width::UnicodeWidthStr;

fn plain(width: usize) -> Style {
    Style { width, color: false, ..Style::default() }
}

fn all(record: &Record, style: &Style) -> [String; 4] {
    [
        terminal::Screen::draw(style, |screen| terminal::report(screen, record, None)),
        terminal::Screen::draw(style, |screen| terminal::inventory(screen, record)),
        terminal::Screen::draw(style, |screen| terminal::scale_answer(screen, record, true, None)),
        terminal::Screen::draw(style, |screen| terminal::tree(screen, &record.machine)),
    ]
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let each = |name: &&'static str| [20, 40, 80, 160].map(|width| (*name, width));
    for (name, width) in support::share_of(5, support::NAMES.iter().flat_map(each)) {
        for text in all(&support::named(name).unwrap(), &plain(width)) {
            for line in text.lines() {
                assert!(line.width() <= width, "{name} at {width}: {line:?}");
            }
            assert!(text.ends_with('\n') && !text.starts_with('\n'), "{name} at {width}");
        }
    }
}

#[test]
fn figures_carry_units_and_spread() {
    let text = terminal::Screen::draw(&plain(80), |screen| {
        terminal::report(screen, &support::named("large").unwrap(), None)
    });
    for part in [
        "82 %  3.10 GHz ±",
        " of 3.80 GHz",
        "costs 27 % [25 – 28 %],",
        "2.80 GHz  2.79 – 2.81 GHz",
        "    4.00  ",
        "210 GB/s",
        "10.5×",
        "0.11 %",
        "57.0 µs",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
}

#[test]
fn a_report_says_what_how_noisy_how_far_why_and_what_was_not_seen_in_this_order() {
    let text = terminal::Screen::draw(&plain(80), |screen| {
        terminal::report(screen, &support::named("small").unwrap(), None)
    });
    let parts = [
        "node-17, Example Corp. Server 9000, Linux 6.1.0-18-amd64",
        "Example(R) Processor",
        "1 package, 8 cores, 16 CPUs",
        "Noise",
        "Distance from line speed",
        "memory bandwidth",
        "What costs speed",
        "do:   echo always > /sys/kernel/mm/transparent_hugepage/enabled",
        "Not seen",
        "impossible  counters: this machine shows no PMU",
        "skipped     numa, core-to-core: not requested",
        "Core clock",
    ];
    let mut from = 0;
    for part in parts {
        let at =
            text[from..].find(part).unwrap_or_else(|| panic!("{part} is missing after {from} in:\n{text}"));
        from += at;
    }
    let first_screen = text.split("From line speed down").next().unwrap();
    assert!(first_screen.lines().count() <= 50, "{}", first_screen.lines().count());
}

#[test]
fn answer_and_page_have_the_reports_order() {
    let record = support::named("small").unwrap();
    let finding = record.diagnosis.findings[0].what.to_string();
    let page = report::page::html(&record).replace('\u{a0}', " ");
    let answer =
        terminal::Screen::draw(&plain(80), |screen| terminal::answer(screen, &record, false, Some(".")));
    let in_order = |text: &str, parts: &[&str]| {
        let at = |part: &&str| text.find(part).unwrap_or_else(|| panic!("no {part} in {text}"));
        let places: Vec<usize> = parts.iter().map(at).collect();
        assert!(places.is_sorted(), "{parts:?} stand at {places:?} in {text}");
    };
    let answer = &answer[answer.find("node-17").unwrap()..];
    in_order(answer, &["node-17", "82 %", &finding, "Not seen", "noise: ", "Machine: ", "More: "]);
    let headings = ["line-speed", "findings", "losses", "inventory", "conditions", "unseen"]
        .map(|id| format!("<section id=\"{id}\""));
    let parts: Vec<&str> = ["node-17"].into_iter().chain(headings.iter().map(String::as_str)).collect();
    in_order(&page, &parts);
}

#[test]
fn marks_and_doubts_stand_beside_their_figure() {
    for (style, page) in [(plain(80), false), (plain(160), false), (plain(80), true)] {
        let record = support::named("small").unwrap();
        let text = if page {
            report::page::html(&record)
        } else {
            terminal::Screen::draw(&style, |screen| terminal::report(screen, &record, None))
        };
        let row = text.lines().find(|line| line.contains("2.30 GHz")).unwrap();
        assert!(row.contains("2.30 GHz ?"), "{row}");
        // A page has the table of all figures, too.
        for note in ["?: unreliable", "during some samples"] {
            assert_eq!(text.matches(note).count(), if page { 2 } else { 1 }, "{note}");
        }
    }
}

#[test]
fn nothing_from_the_machine_acts_on_the_terminal() {
    let record = support::hostile();
    for color in [false, true] {
        let texts = all(&record, &Style { width: 80, color, ..Style::default() });
        // The tree prints numbers only.
        for text in &texts[..2] {
            assert!(
                text.contains("\\x1b[2J") && text.contains("\\u{202e}"),
                "the test's string is not there"
            );
        }
        for text in texts {
            let left = if color { without_sgr(&text) } else { text };
            let acts = |c: &char| {
                (c.is_control() && *c != '\n')
                    || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
            };
            let bad = left.chars().find(acts);
            assert_eq!(bad, None);
        }
    }
}

/// The text without the colours that linespeed itself writes.
fn without_sgr(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut left = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let (codes, after) = part.split_once('m').expect("an escape sequence that is no colour");
        assert!(codes.chars().all(|c| c.is_ascii_digit() || c == ';'), "{codes:?} is no colour");
        left.push_str(after);
    }
    left
}

#[test]
fn colour_changes_no_word() {
    for name in support::share_of(3, support::NAMES) {
        let record = support::named(name).unwrap();
        let coloured = all(&record, &Style { width: 80, color: true, ..Style::default() });
        for (coloured, plain) in coloured.iter().zip(all(&record, &plain(80))) {
            assert_eq!(without_sgr(coloured), plain, "{name}");
        }
    }
}

#[test]
fn a_loss_that_may_be_none_is_never_coloured() {
    let mut record = support::empty();
    let mut finding = Finding {
        rule: "page-walk".to_owned(),
        severity: Severity::Serious,
        what: "Page walks".into(),
        place: None,
        evidence: Vec::new(),
        loss: Verdict::Costs { share: 0.2, interval: (-0.1, 0.4) },
        relevance: record::diagnosis::Relevance::All,
        measured: true,
        confidence: record::diagnosis::Confidence::Medium,
        resource: None,
        remedy: Vec::new(),
        undo: Vec::new(),
    };
    let coloured = |finding: &Finding, record: &mut Record| {
        record.diagnosis.findings = vec![finding.clone()];
        let text = terminal::Screen::draw(&Style { width: 80, color: true, ..Style::default() }, |screen| {
            terminal::report(screen, record, None)
        });
        (text.contains("\x1b[1;31m"), report::page::html(record).contains("badge serious"))
    };
    assert_eq!(coloured(&finding, &mut record), (false, false));
    finding.loss = Verdict::Costs { share: 0.2, interval: (0.1, 0.4) };
    assert_eq!(coloured(&finding, &mut record), (true, true));
}

#[test]
fn a_page_is_whole_and_loads_nothing() {
    for name in support::NAMES {
        let page = report::page::html(&support::named(name).unwrap());
        assert_eq!(html::wrong(&page), None, "{name}");
        assert!(page.contains("default-src 'none'") && page.contains("<meta charset=\"utf-8\">"), "{name}");
        assert!(page.contains("prefers-color-scheme: dark") && page.contains("width=device-width"), "{name}");
        if *name != "hostile" {
            for word in ["http://", "https://", "src=", "<script", "url("] {
                assert!(!page.contains(word), "{name}: {word}");
            }
        }
    }
}

/// Where the contents of a page lead, in order.
fn contents(record: &Record) -> Vec<String> {
    let page = report::page::html(record);
    let nav = page.split("</nav>").next().unwrap_or_default();
    nav.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

#[test]
fn the_page_leads_with_what_was_asked_for_and_evidence_comes_last() {
    let mut record = support::named("threads-104").unwrap();
    let all = contents(&record);
    let at =
        |id: &str| all.iter().position(|other| other == id).unwrap_or_else(|| panic!("no {id} in {all:?}"));
    let order = ["line-speed", "findings", "losses", "of-core-clock", "inventory", "all", "unseen"].map(at);
    assert!(order.is_sorted() && order[0] == 0, "{all:?}");
    record.coverage.push(record::Coverage::skipped("scale: 4 CPUs, cores-first", "no room"));
    assert_eq!(contents(&record)[0], "of-scaling-of-primes");
    record.measurements.clear();
    assert_eq!(contents(&record)[0], "inventory");
    for (file, first) in [
        ("tests/all/records/overhead.json", "of-layer-time"),
        ("../linespeed/tests/records/0.1/stat.json", "command"),
    ] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        assert_eq!(contents(&Record::read(&path).unwrap())[0], first);
    }
}

#[test]
fn a_finding_leads_to_its_figures_and_they_to_what_they_mean() {
    let page = report::page::html(&support::named("small").unwrap());
    let finding = page.split("id=\"finding-1\"").nth(1).unwrap();
    let figures = finding.split("href=\"#of-").nth(1).unwrap().split('"').next().unwrap();
    let section = page.split(&format!("<section id=\"of-{figures}\"")).nth(1).unwrap();
    let section = section.split("</section>").next().unwrap();
    assert!(section.contains("<svg class=\"chart") && section.contains(&format!("href=\"#word-{figures}\"")));
}

#[test]
fn strings_of_the_machine_are_only_text_on_the_page() {
    let page = report::page::html(&support::hostile());
    assert_eq!(html::wrong(&page), None);
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "the test's string is not there");
    assert!(!page.contains("<script") && !page.contains("<img"));
    let bad = page.chars().find(|c| (c.is_control() && *c != '\n') || ('\u{202a}'..='\u{202e}').contains(c));
    assert_eq!(bad, None);
}

#[test]
fn the_page_holds_every_measurement_and_what_its_metric_means() {
    let mut record = support::named("small").unwrap();
    record.measurements[0].metric = "flux.density".into();
    record.measurements[0].unit = "Wb".into();
    let page = report::page::html(&record);
    assert!(page.contains("3790000000 Wb"), "a metric of the future is missing");
    let word = &metric_term("load.latency");
    let usual = word.usual.as_deref().unwrap().split(['`', '"', '&', '<', ' ']).next().unwrap();
    assert!(page.contains("<b>Usual: </b>") && page.contains(usual));
    let rows = page.matches("<tr>").count();
    assert!(rows > record.measurements.len(), "{rows} rows for {} figures", record.measurements.len());
}

#[test]
fn a_page_of_1024_cpus_stays_readable_in_size() {
    let page = report::page::html(&support::named("huge").unwrap());
    // 12,000 figures in tables; mail servers refuse from about 10 MB.
    assert!(page.len() < 8_000_000, "{}", page.len());
    assert!(page.contains("4 × L3 36 MiB, each 8 × L2 1 MiB"), "the shape is not summed up");
}

#[test]
fn a_headline_in_doubt_says_so_and_memory_that_was_not_reached_has_no_bar() {
    let mut record = support::named("small").unwrap();
    let resources = &mut record.diagnosis.resources;
    resources.retain(|resource| resource.name != "memory latency");
    let bandwidth = resources.iter_mut().find(|resource| resource.name == "memory bandwidth").unwrap();
    bandwidth.doubt = Some("too noisy".into());
    let said = "memory latency not measured: the largest working set, 3.1 MiB, fits in the caches";
    record.diagnosis.not_reached = vec![said.into()];
    for m in record.measurements.iter_mut().filter(|m| m.metric == "memory.bandwidth") {
        m.doubt = Some("too noisy: known to ±30 % only".into());
    }
    let text = terminal::Screen::draw(&plain(160), |screen| terminal::report(screen, &record, None));
    assert!(text.contains("\n  memory bandwidth unreliable: too noisy\n"), "{text}");
    assert!(text.contains(said) && !text.lines().any(|l| l.contains("memory latency  ")), "{text}");
    let page = report::page::html(&record);
    let plain = page.replace('\u{a0}', " ");
    assert!(plain.contains("unreliable: too noisy") && plain.contains(said));
    assert!(plain.contains(r#"<span class="unsure" title="unreliable">?</span>"#));
}

#[test]
fn the_tree_shows_where_cpu_numbers_lie() {
    let machine =
        support::full(support::Shape { packages: 2, nodes: 2, cores: 32, siblings: 2, l3_cores: 16 }).machine;
    let text = terminal::Screen::draw(&plain(80), |screen| terminal::tree(screen, &machine));
    assert!(
        text.contains("package 0: CPUs 0-15,32-47; first siblings 0-15, second siblings 32-47"),
        "{text}"
    );
    assert!(text.contains("└─ 16 × L2 1 MiB · L1d 32 KiB · L1i 32 KiB · core: CPUs 0,32 | 1,33"), "{text}");
}

#[test]
fn an_empty_record_says_that_it_is_empty() {
    let record = support::empty();
    assert!(
        terminal::Screen::draw(&plain(80), |screen| terminal::report(screen, &record, None))
            .contains("Nothing was measured.")
    );
    assert!(
        terminal::Screen::draw(&plain(80), |screen| terminal::inventory(screen, &record))
            .contains("no facts about this machine")
    );
    assert!(report::page::html(&record).contains("Nothing was measured."));
    assert_eq!(report::cyclictest::lines(&record), None);
    assert_eq!(report::cyclictest::histogram(&record), None);
}

#[test]
fn a_run_that_ended_early_says_so_at_the_top() {
    let mut record = support::named("small").unwrap();
    record.ended = record::Ended::Interrupted { signal: 2 };
    assert!(
        terminal::Screen::draw(&plain(80), |screen| terminal::report(screen, &record, None))
            .lines()
            .take(6)
            .any(|line| line.contains("interrupted by signal 2"))
    );
    assert!(report::page::html(&record).contains("interrupted by signal 2"));
}

#[test]
fn cyclictests_own_lines_and_histogram_keep_their_shape() {
    let mut record = support::named("one").unwrap();
    record
        .measurements
        .retain(|m| m.metric == "wakeup.latency" && m.labels.word(Label::Policy) == Some("fifo"));
    let m =
        record.measurements.iter_mut().find(|m| m.labels.switch(Label::Corrected) == Some(false)).unwrap();
    m.distribution = vec![
        record::Bucket { from: 1_500.0, to: 1_600.0, count: 7 },
        record::Bucket { from: 3_000.0, to: 3_100.0, count: 2 },
        record::Bucket { from: 5e6, to: 5.1e6, count: 1 },
    ];
    m.summary.min = 1_540.0;
    m.summary.max = 5_050_000.0;
    m.summary.mean = Some(2_990.0);
    m.summary.median = 1_550.0;
    assert_eq!(
        report::cyclictest::lines(&record).unwrap(),
        "T: 0 ( 4711) P:80 I:1000 C:   2000 Min:      1 Act:   53 Avg:    2 Max:    5050\n"
    );
    assert_eq!(
        report::cyclictest::histogram(&record).unwrap(),
        "# Histogram\n000000 000000\n000001 000007\n000002 000000\n000003 000002\n\
         # Total: 000000009\n# Min Latencies: 00001\n# Avg Latencies: 00002\n# Max Latencies: 05050\n\
         # Histogram Overflows: 00001\n"
    );
}

#[test]
fn a_word_is_explained_in_its_parts() {
    let word = &metric_term("wakeup.latency");
    let text = terminal::Screen::draw(&plain(80), |screen| terminal::word(screen, word));
    assert!(text.starts_with("wakeup.latency  metrics\n"), "{text}");
    assert!(
        text.contains("  How    ") && text.contains("  Usual  ") && text.contains("  Influences "),
        "{text}"
    );
    assert!(text.lines().all(|line| line.width() <= 80), "{text}");
}

fn metric_term(name: &str) -> record::glossary::Term {
    let metrics = record::glossary::Glossary::new([record::glossary::Group::metrics()]);
    metrics.find(name).unwrap().clone()
}
