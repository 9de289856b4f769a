//! What is wrong with a machine of purpose must be found, and before everything else that takes from the same resource;
//! what cannot be known must not be claimed.

use record::Record;

use super::Verdicts;
use crate::shape::Check;

/// Holds the record's findings against what the shape says of them.
pub fn check(wanted: &Check, record: &Record, verdicts: &mut Verdicts) {
    let findings = record.diagnosis.findings.as_slice();
    let names = |found: &[record::diagnosis::Finding]| {
        let names: Vec<&str> = found.iter().map(|finding| finding.rule.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    for rule in &wanted.finds {
        let at = findings.iter().position(|finding| finding.rule == *rule);
        verdicts.hold(at.is_some(), format!("{rule} is a finding"), || names(findings));
        let Some((before, own)) = at.and_then(|at| Some((&findings[..at], findings.get(at)?))) else {
            continue;
        };
        let ahead: Vec<_> = before
            .iter()
            .filter(|finding| finding.resource == own.resource && !wanted.finds.contains(&finding.rule))
            .cloned()
            .collect();
        verdicts.hold(ahead.is_empty(), format!("{rule} is the first finding of its resource"), || {
            format!("before it {}", names(&ahead))
        });
    }
    for rule in &wanted.silent {
        let claimed = findings.iter().find(|finding| finding.rule == *rule);
        verdicts.hold(claimed.is_none(), format!("{rule} is not claimed"), || {
            claimed.map_or(String::new(), |f| f.what.clone())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::made_up;
    use record::diagnosis::Finding;

    fn found(rules: &[(&str, Option<&str>)], wanted: &str) -> Vec<String> {
        let finding = |(rule, resource): &(&str, Option<&str>)| -> Finding {
            serde_json::from_value(serde_json::json!({
                "rule": rule, "severity": "serious", "what": format!("{rule} costs"), "evidence": [],
                "loss": {"verdict": "not-measurable", "reason": "made up"}, "measured": false, "remedy": [],
                "resource": resource,
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
    fn a_handicap_stands_before_all_else_that_takes_from_its_resource() {
        let wanted = "finds = ['memory-speed']";
        let (speed, steal, walk) =
            (("memory-speed", Some("memory")), ("steal", Some("core")), ("page-walk", Some("memory")));
        assert!(found(&[steal, speed, walk], wanted).is_empty());
        assert_eq!(
            found(&[walk, speed], wanted),
            ["not: memory-speed is the first finding of its resource: found before it page-walk"]
        );
        assert_eq!(found(&[steal], wanted), ["not: memory-speed is a finding: found steal"]);
        assert_eq!(found(&[], wanted), ["not: memory-speed is a finding: found none"]);
        assert!(
            found(&[walk, speed], "finds = ['memory-speed', 'page-walk']").is_empty(),
            "both were put on"
        );
    }

    #[test]
    fn what_cannot_be_known_must_not_be_claimed() {
        let wanted = "silent = ['numa-distances']";
        assert!(found(&[("steal", None)], wanted).is_empty());
        assert_eq!(
            found(&[("numa-distances", None)], wanted),
            ["not: numa-distances is not claimed: found numa-distances costs"]
        );
    }
}
