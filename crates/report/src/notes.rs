//! Notes of a table that differ only in their numbers, as one with the range: what is said of fifty rows is said once.

/// A piece of a note: words, or a number that may differ.
#[derive(Clone, Debug, PartialEq)]
enum Piece<'a> {
    Words(&'a str),
    Number { least: &'a str, most: &'a str },
}

/// What stands between the ends of a range.
const RANGE: [&str; 5] = [" to ", " GHz to ", " MHz to ", " ns to ", " µs to "];

/// The notes with those alike as one, in the order of the first of each, and for each given note its new place.
pub(crate) fn grouped(notes: &[String]) -> (Vec<String>, Vec<usize>) {
    let mut groups: Vec<Vec<Piece>> = Vec::new();
    let mut of = Vec::with_capacity(notes.len());
    for note in notes {
        let parts = pieces(note);
        let at = groups.iter().position(|group| alike(group, &parts)).unwrap_or(groups.len());
        match groups.get_mut(at) {
            Some(group) => widen(group, &parts),
            None => groups.push(parts),
        }
        of.push(at);
    }
    (groups.iter().map(|group| text(group)).collect(), of)
}

/// A note in pieces. A number follows no letter, so that `L2` and `p99` are words, and no number and hyphen, so that
/// a range of CPUs stays whole.
fn pieces(note: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    let mut before = ' ';
    while let Some(first) = note[at..].chars().next() {
        let part = !(before.is_alphanumeric() || matches!(before, '.' | '-' | '_' | ','));
        if first.is_ascii_digit() && part {
            let rest = &note[at..];
            let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
            let number = rest[..digits].trim_end_matches('.');
            let after = rest[number.len()..].chars().next();
            let whole = !after.is_some_and(|c| c.is_alphabetic() || matches!(c, '-' | '_' | ','));
            if whole && number.parse::<f64>().is_ok() {
                pieces.push(Piece::Words(&note[from..at]));
                pieces.push(Piece::Number { least: number, most: number });
                from = at + number.len();
            }
            at += number.len();
            before = '0';
        } else {
            at += first.len_utf8();
            before = first;
        }
    }
    pieces.push(Piece::Words(&note[from..]));
    pieces
}

/// Whether both have the same words, and numbers in the same places.
fn alike(a: &[Piece], b: &[Piece]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|pair| match pair {
            (Piece::Words(a), Piece::Words(b)) => a == b,
            (Piece::Number { .. }, Piece::Number { .. }) => true,
            _ => false,
        })
}

/// Widens the numbers of a group by those of one more.
fn widen<'a>(group: &mut [Piece<'a>], more: &[Piece<'a>]) {
    let size = |number: &str| number.parse::<f64>().unwrap_or(0.0);
    for pair in group.iter_mut().zip(more) {
        if let (Piece::Number { least, most }, Piece::Number { least: low, most: high }) = pair {
            if size(low) < size(least) {
                *least = low;
            }
            if size(high) > size(most) {
                *most = high;
            }
        }
    }
}

fn text(pieces: &[Piece]) -> String {
    let is_to = |at: usize| matches!(pieces.get(at), Some(Piece::Words(words)) if RANGE.contains(words));
    let piece = |(at, piece): (usize, &Piece)| match piece {
        Piece::Words(words) => (*words).to_owned(),
        // Of ranges the one that holds all.
        Piece::Number { least, .. } if is_to(at + 1) => (*least).to_owned(),
        Piece::Number { most, .. } if at > 1 && is_to(at - 1) => (*most).to_owned(),
        Piece::Number { least, most } if least == most => (*least).to_owned(),
        Piece::Number { least, most } => format!("{least} to {most}"),
    };
    pieces.iter().enumerate().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group_texts(notes: &[&str]) -> (Vec<String>, Vec<usize>) {
        grouped(&notes.iter().map(|note| (*note).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn notes_that_differ_in_numbers_are_one_with_the_range() {
        let (notes, at) =
            group_texts(&["known to ±12.5 % only", "about all", "known to ±5 % only", "known to ±68 % only"]);
        assert_eq!(notes, ["known to ±5 to 68 % only", "about all"]);
        assert_eq!(at, [0, 1, 0, 0]);
    }

    #[test]
    fn ranges_are_one_range() {
        let notes = ["ran at 3.10 to 3.24 GHz", "ran at 3.19 GHz to 3.24 GHz", "ran at 3.05 to 3.20 GHz"];
        assert_eq!(group_texts(&notes).0, ["ran at 3.05 to 3.24 GHz", "ran at 3.19 GHz to 3.24 GHz"]);
        assert_eq!(group_texts(&["moves to 3 CPUs", "moves to 5 CPUs"]).0, ["moves to 3 to 5 CPUs"]);
    }

    #[test]
    fn numbers_that_are_names_stay_apart() {
        let names =
            ["of L2", "of L3", "CPUs 0-3", "CPUs 4-7", "at 2MiB", "at 4KiB", "on 1,2", "on 3,4", "v1.2.3"];
        assert_eq!(group_texts(&names).0, names);
    }
}
