//! Selects one of several machines by the name specified by the user.

use crate::Imported;

/// Maximum number of machines listed if a name is ambiguous.
const MOST_NAMED: usize = 12;

/// No machine, or more than one machine, has this name.
#[derive(Debug, thiserror::Error)]
#[error("--only {wanted} does not match exactly one machine; the text contains {there}")]
pub struct NoSuchMachine {
    wanted: String,
    there: String,
}

/// The machine selected by the user: by its full name, by its number, or by a unique part of its name.
///
/// # Errors
///
/// No machine matches, or several machines match.
pub fn choose_machine(machines: Vec<Imported>, wanted: &str) -> Result<Imported, NoSuchMachine> {
    let there = list_machines(&machines);
    let names: Vec<String> = names(&machines).map(|name| name.to_lowercase()).collect();
    let asked = wanted.to_lowercase();
    let number = wanted.parse::<usize>().ok().filter(|number| (1..=names.len()).contains(number));
    let mut parts = names.iter().enumerate().filter(|(_, name)| name.contains(&asked)).map(|(at, _)| at);
    let by_part = parts.next().filter(|_| parts.next().is_none());
    let exact = names.iter().position(|name| *name == asked);
    let chosen = exact.or(number.map(|number| number - 1)).or(by_part.filter(|_| !asked.is_empty()));
    chosen
        .and_then(|at| machines.into_iter().nth(at))
        .ok_or_else(|| NoSuchMachine { wanted: wanted.to_owned(), there })
}

/// Lists as many machines as fit on a line, with their numbers.
pub fn list_machines(machines: &[Imported]) -> String {
    let named = names(machines).enumerate().take(MOST_NAMED);
    let mut all: Vec<String> = named.map(|(at, name)| format!("{}: {name}", at + 1)).collect();
    all.extend((machines.len() > MOST_NAMED).then(|| format!("and {} more", machines.len() - MOST_NAMED)));
    all.join(", ")
}

fn names(machines: &[Imported]) -> impl Iterator<Item = String> {
    let name = |(at, machine): (usize, &Imported)| {
        machine.name.clone().unwrap_or_else(|| format!("machine {}", at + 1))
    };
    machines.iter().enumerate().map(name)
}
