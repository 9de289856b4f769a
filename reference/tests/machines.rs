//! The shipped texts: each gives a record in which everything is understood and has its source.

#[test]
fn every_text_makes_a_record_of_which_nothing_is_lost() {
    let mut lost = Vec::new();
    for machine in reference::MACHINES {
        let record = machine.record("0").unwrap_or_else(|trouble| panic!("{}: {trouble}", machine.name));
        let (import, text) = (record.import.as_ref().expect("it was imported"), machine.text());
        let left: Vec<_> =
            import.not_understood.examples.iter().map(|line| (line.line, &line.says)).collect();
        if import.not_understood.lines > 0 {
            lost.push(format!("{}: {} lines: {left:?}", machine.name, import.not_understood.lines));
        }
        assert!(!record.measurements.is_empty(), "{}", machine.name);
        for m in &record.measurements {
            let origin = m.origin.as_ref().expect("each figure says where it stood");
            let line = text.lines().nth(origin.line as usize - 1).unwrap_or("");
            assert!(line.contains(origin.says.trim()), "{}: {origin:?}", machine.name);
        }
    }
    assert!(lost.is_empty(), "{lost:#?}");
}
