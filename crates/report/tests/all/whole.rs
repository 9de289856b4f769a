//! How a whole comparison, and the layers of a machine, read on a terminal of 80 columns.

use record::{Comparison, Record};
use report::terminal::{self, Style};

#[test]
fn two_published_machines_side_by_side() {
    let comparison: Comparison = serde_json::from_str(include_str!("records/compared.json")).unwrap();
    insta::assert_snapshot!(terminal::Screen::draw(&Style::default(), |screen| terminal::comparison_answer(
        screen,
        &comparison,
        true
    )));
}

#[test]
fn one_routine_in_the_layers_of_a_virtual_machine() {
    let record = Record::from_json(include_bytes!("records/overhead.json")).unwrap();
    insta::assert_snapshot!(terminal::Screen::draw(&Style::default(), |screen| terminal::overhead_answer(
        screen, &record, true, None
    )));
}
