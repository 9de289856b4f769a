//! `linespeed explain`: explains a name.

use record::glossary::Term;
use report::terminal;
use report::view::{View, headline_metric};

use crate::delivery::hand_out;
use crate::failure::Failure;
use crate::glossary;
use crate::options::Options;

/// Maximum number of entries suggested if the requested name does not exist.
const MOST: usize = 5;

/// Prints the meaning of `name`, or every name with its group if `name` is empty.
pub fn run(options: &Options, name: &str) -> Result<u8, Failure> {
    let glossary = glossary::all();
    if name.is_empty() {
        let forms = View::new(|screen| terminal::glossary(screen, glossary.terms()));
        return hand_out(options, &forms).map(|()| 0);
    }
    // A headline takes precedence over an inventory term with the same name, because reports show headlines
    // prominently.
    let own = glossary.find(name);
    let headline = headline_metric(name).and_then(|metric| glossary.find(metric.name()));
    match headline.or(own) {
        Some(word) => {
            let other = own.filter(|own| own.name != word.name);
            let value = serde_json::json!({
                "name": word.name, "group": word.group, "what": word.what,
                "how": word.how, "usual": word.usual, "moves": word.moves,
            });
            let forms = View::new(|screen| {
                terminal::word(screen, word);
                if let Some(other) = other {
                    screen.blank();
                    terminal::word(screen, other);
                }
            });
            hand_out(options, &forms.with_value(value)).map(|()| 0)
        }
        None => {
            let hint = |terms: Vec<&Term>, words: &str, end: &str| {
                let names: Vec<&str> = terms.iter().take(MOST).map(|term| term.name).collect();
                (!names.is_empty()).then(|| format!("; {words} {}{end}", names.join(", ")))
            };
            let hint = hint(glossary.find_ending_in(name), "did you mean", "?")
                .or_else(|| hint(glossary.find_containing(name), "it occurs in:", "."))
                .or_else(|| glossary.find_nearest(name).map(|near| format!("; did you mean {near}?")))
                .unwrap_or(".".to_owned());
            let words = format!("the glossary has no entry {name:?}{hint} All names: linespeed explain");
            Err(Failure::Usage(words))
        }
    }
}
