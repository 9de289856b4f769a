//! `linespeed explain`: the words about a name.

use report::terminal;

use crate::failure::Failure;
use crate::options::Options;
use crate::{glossary, output};

/// Prints what `name` means, or every name with its group.
pub fn run(options: &Options, name: Option<&str>) -> Result<u8, Failure> {
    let (glossary, style) = (glossary::all(), output::style(&options.out));
    let Some(name) = name else {
        return output::print(&terminal::glossary(glossary.terms(), &style)).map(|()| 0);
    };
    match glossary.find(name) {
        Some(word) if options.out.json => {
            let value = serde_json::json!({
                "name": word.name, "group": word.group, "what": word.what,
                "how": word.how, "usual": word.usual, "moves": word.moves,
            });
            output::print_json(&value).map(|()| 0)
        }
        Some(word) => output::print(&terminal::word(word, &style)).map(|()| 0),
        None => {
            let several: Vec<&str> = glossary.find_ending_in(name).iter().map(|word| word.name).collect();
            let near = if several.is_empty() {
                glossary.find_nearest(name).map(str::to_owned)
            } else {
                Some(several.join(", "))
            };
            let nearest = near.map_or(".".to_owned(), |near| format!("; did you mean {near}?"));
            Err(Failure::Usage(format!(
                "the glossary has no entry {name:?}{nearest} All names: linespeed explain"
            )))
        }
    }
}
