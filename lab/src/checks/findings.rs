//! Checks that deliberate faults of a machine are reported before other findings and with the correct loss, and that
//! there are no findings about facts that cannot be known.

use record::Record;
use record::difference::Verdict;

use super::verdicts::Verdicts;
use crate::shape::Check;

/// Compares the record's findings with the expectations of the shape.
pub fn check(wanted: &Check, record: &Record, verdicts: &mut Verdicts) {
    let findings = record.diagnosis.findings.as_slice();
    let names = |found: &[record::diagnosis::Finding]| {
        let names: Vec<&str> = found.iter().map(|finding| finding.rule.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    for (at, rule) in wanted.finds.iter().enumerate() {
        let named = findings.get(at).is_some_and(|finding| finding.rule == *rule);
        verdicts.hold(named, format!("{rule} is finding {}", at + 1), || names(findings));
    }
    if let (Some(loss), Some(first)) = (wanted.loss, wanted.finds.first()) {
        let reported = findings.iter().find(|finding| finding.rule == *first).map(|finding| &finding.loss);
        let share = match reported {
            Some(Verdict::Costs { share, .. }) => Some(*share),
            _ => None,
        };
        let near = share.is_some_and(|share| (share - loss).abs() <= loss / 3.0);
        verdicts.hold(near, format!("{first}: a loss within a third of {loss}"), || format!("{reported:?}"));
    }
    for rule in &wanted.silent {
        let claimed = findings.iter().find(|finding| finding.rule == *rule);
        verdicts.hold(claimed.is_none(), format!("{rule} is not claimed"), || {
            claimed.map_or(String::new(), |f| f.what.clone().to_string())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::made_up;
    use record::diagnosis::Finding;

    fn found(rules: &[(&str, f64)], wanted: &str) -> Vec<String> {
        let finding = |(rule, loss): &(&str, f64)| -> Finding {
            serde_json::from_value(serde_json::json!({
                "rule": rule, "severity": "serious", "what": format!("{rule} costs"), "evidence": [],
                "loss": {"verdict": "costs", "share": loss, "interval": [loss, loss]}, "measured": false,
                "remedy": [],
            }))
            .unwrap()
        };
        let mut record = made_up::record(Vec::new());
        record.diagnosis.findings = rules.iter().map(finding).collect();
        let mut verdicts = Verdicts::default();
        check(&toml::from_str(wanted).unwrap(), &record, &mut verdicts);
        verdicts.lines(false)
    }

    #[test]
    fn a_handicap_stands_before_all_else() {
        let wanted = "finds = ['memory-speed']";
        let (speed, steal, walk) = (("memory-speed", 0.28), ("steal", 0.3), ("page-walk", 0.2));
        assert!(found(&[speed, steal, walk], wanted).is_empty());
        assert_eq!(
            found(&[walk, speed], wanted),
            ["not: memory-speed is finding 1: found page-walk, memory-speed"]
        );
        assert_eq!(found(&[], wanted), ["not: memory-speed is finding 1: found none"]);
        assert!(
            found(&[walk, speed], "finds = ['page-walk', 'memory-speed']").is_empty(),
            "both were put on"
        );
    }

    #[test]
    fn a_handicap_is_reported_with_its_loss() {
        let wanted = "finds = ['memory-speed']\nloss = 0.284";
        for (loss, faults) in [(0.2, 0), (0.37, 0), (0.18, 1), (0.39, 1)] {
            assert_eq!(found(&[("memory-speed", loss)], wanted).len(), faults, "{loss}");
        }
        assert_eq!(found(&[], wanted).len(), 2, "neither named nor told");
    }

    #[test]
    fn what_cannot_be_known_must_not_be_claimed() {
        let wanted = "silent = ['numa-distances']";
        assert!(found(&[("steal", 0.1)], wanted).is_empty());
        assert_eq!(
            found(&[("numa-distances", 0.1)], wanted),
            ["not: numa-distances is not claimed: found numa-distances costs"]
        );
    }
}
