//! `linespeed explain`: the words about a name.

use report::forms::Forms;
use report::terminal;

use crate::delivery::hand_out;
use crate::failure::Failure;
use crate::glossary;
use crate::options::Options;

/// Prints what `name` means, or every name with its group.
pub fn run(options: &Options, name: Option<&str>) -> Result<u8, Failure> {
    let glossary = glossary::all();
    let Some(name) = name else {
        let forms = Forms::new(|style| terminal::glossary(glossary.terms(), style));
        return hand_out(options, &forms).map(|()| 0);
    };
    match glossary.find(name) {
        Some(word) => {
            let value = serde_json::json!({
                "name": word.name, "group": word.group, "what": word.what,
                "how": word.how, "usual": word.usual, "moves": word.moves,
            });
            let forms = Forms::new(|style| terminal::word(word, style));
            hand_out(options, &forms.with_value(value)).map(|()| 0)
        }
        None => {
            let several: Vec<&str> = glossary.find_ending_in(name).iter().map(|word| word.name).collect();
            let near = (!several.is_empty()).then(|| several.join(", "));
            let near = near.or_else(|| glossary.find_nearest(name).map(str::to_owned));
            let nearest = near.map_or(".".to_owned(), |near| format!("; did you mean {near}?"));
            Err(Failure::Usage(format!(
                "the glossary has no entry {name:?}{nearest} All names: linespeed explain"
            )))
        }
    }
}
