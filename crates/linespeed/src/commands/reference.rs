//! `linespeed reference`: the machines that ship with it.

use reference::{MACHINES, PREFIX};
use report::forms::Forms;
use report::terminal;
use serde_json::json;

use super::show;
use crate::delivery::hand_out;
use crate::failure::Failure;
use crate::options::{Options, Reference, Show, WakeupForms};
use crate::sources;

/// Lists the machines, or shows one as `show` does.
pub fn run(options: &Options, asked: &Reference) -> Result<u8, Failure> {
    let Some(name) = &asked.name else { return list(options) };
    let machine = sources::reference_machine(name)?;
    if asked.text {
        return hand_out(options, &Forms::new(|_| machine.text.to_owned())).map(|()| 0);
    }
    let record = format!("{PREFIX}{}", machine.name);
    show::run(options, &Show { record, parts: Vec::new(), forms: WakeupForms::default() })
}

fn list(options: &Options) -> Result<u8, Failure> {
    let machines: Vec<(&str, &str)> = MACHINES.iter().map(|machine| (machine.name, machine.title)).collect();
    let entry = |(name, title): &(&str, &str)| json!({"name": name, "title": title});
    let forms = Forms::new(|style| terminal::references(&machines, style));
    hand_out(options, &forms.with_value(machines.iter().map(entry).collect())).map(|()| 0)
}
