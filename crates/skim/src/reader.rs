//! Goes through a JSON text value by value, and passes over what is not wanted. `None` of any step is a text that is no JSON, or
//! JSON of a form that a parser has to read.

use crate::marks::{after_blanks, close, string_end, value_end};

/// A place in a text.
#[derive(Clone, Debug)]
pub struct Reader<'t> {
    text: &'t [u8],
    at: usize,
}

/// An object or a list that is gone through.
#[derive(Debug)]
pub struct Open {
    first: bool,
}

impl<'t> Reader<'t> {
    /// At the beginning of a text.
    pub fn new(text: &'t [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// The next byte that is no blank; `None` at the end.
    pub fn peek(&mut self) -> Option<u8> {
        self.at = after_blanks(self.text, self.at);
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Begins the object that is next.
    pub fn object(&mut self) -> Option<Open> {
        self.take(b'{').map(|()| Open { first: true })
    }

    /// Begins the list that is next.
    pub fn list(&mut self) -> Option<Open> {
        self.take(b'[').map(|()| Open { first: true })
    }

    /// Whether there is another entry or item, behind whose comma this is then.
    fn more(&mut self, open: &mut Open, closes: u8) -> Option<bool> {
        let next = self.peek()?;
        if next == closes {
            self.at += 1;
            return Some(false);
        }
        if !std::mem::take(&mut open.first) {
            self.take(b',')?;
        }
        Some(true)
    }

    /// The name of the object's next entry, as it is written, whose value must be read or passed over then; none at its end.
    pub fn key(&mut self, open: &mut Open) -> Option<Option<&'t [u8]>> {
        if !self.more(open, b'}')? {
            return Some(None);
        }
        let key = self.string()?;
        self.take(b':')?;
        Some(Some(key))
    }

    /// Goes behind the end of an object of which entries were read.
    pub fn close(&mut self) -> Option<()> {
        self.at = close(self.text, self.at, 1)?;
        Some(())
    }

    /// Whether the list has another item, which must be read or passed over then.
    pub fn item(&mut self, open: &mut Open) -> Option<bool> {
        self.more(open, b']')
    }

    /// The inside of the string that is next, as it is written.
    fn string(&mut self) -> Option<&'t [u8]> {
        self.take(b'"')?;
        let end = string_end(self.text, self.at)?;
        let inside = self.text.get(self.at..end)?;
        self.at = end + 1;
        Some(inside)
    }

    /// The string that is next, where it is written without escapes.
    pub fn word(&mut self) -> Option<&'t str> {
        let inside = self.string()?;
        // Whatever is below a blank, JSON wants escaped.
        let plain = !inside.iter().fold(false, |any, byte| any | (*byte == b'\\') | (*byte < 0x20));
        plain.then(|| std::str::from_utf8(inside).ok()).flatten()
    }

    /// The value that is next, as it is written.
    pub fn value(&mut self) -> Option<&'t [u8]> {
        self.peek()?;
        let begin = self.at;
        self.at = value_end(self.text, begin)?;
        self.text.get(begin..self.at)
    }

    /// The number that is next.
    pub fn number(&mut self) -> Option<f64> {
        let text = self.value()?;
        if !is_number(text) {
            return None;
        }
        let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// The whole number that is next.
    pub fn count(&mut self) -> Option<u64> {
        let text = self.value()?;
        let digits = text.iter().all(u8::is_ascii_digit) && is_number(text);
        digits.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
    }
}

/// Whether this is a number as JSON has them.
fn is_number(text: &[u8]) -> bool {
    let mut rest = text.strip_prefix(b"-").unwrap_or(text);
    let digits = |rest: &mut &[u8]| {
        let count = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        *rest = rest.get(count..).unwrap_or_default();
        count
    };
    let zero = rest.first() == Some(&b'0');
    let whole = digits(&mut rest);
    if whole == 0 || zero && whole > 1 {
        return false;
    }
    if let Some(after) = rest.strip_prefix(b".") {
        rest = after;
        if digits(&mut rest) == 0 {
            return false;
        }
    }
    if let [b'e' | b'E', after @ ..] = rest {
        rest = match after {
            [b'+' | b'-', digits @ ..] => digits,
            digits => digits,
        };
        if digits(&mut rest) == 0 {
            return false;
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn entries_and_items_are_gone_through_one_by_one() {
        let mut reader = Reader::new(b" {\"a\" : [1, 2.5 ,-3e2], \"b\":{}, \"c\": \"x\\n\", \"d\": \"w\"} ");
        let mut open = reader.object().unwrap();
        assert_eq!(reader.key(&mut open), Some(Some(&b"a"[..])));
        let mut list = reader.list().unwrap();
        let mut all = Vec::new();
        while reader.item(&mut list).unwrap() {
            all.push(reader.number().unwrap());
        }
        assert_eq!(all, [1.0, 2.5, -300.0]);
        assert_eq!(reader.key(&mut open), Some(Some(&b"b"[..])));
        assert_eq!(reader.value(), Some(&b"{}"[..]));
        assert_eq!(reader.key(&mut open), Some(Some(&b"c"[..])));
        assert_eq!(reader.clone().word(), None);
        assert_eq!(reader.value(), Some(&b"\"x\\n\""[..]));
        assert_eq!(reader.key(&mut open), Some(Some(&b"d"[..])));
        assert_eq!(reader.word(), Some("w"));
        assert_eq!((reader.key(&mut open), reader.peek()), (Some(None), None));
        let items = |text: &str| {
            let mut reader = Reader::new(text.as_bytes());
            let mut list = reader.list()?;
            while reader.item(&mut list)? {
                reader.number()?;
            }
            reader.peek().is_none().then_some(())
        };
        assert_eq!(
            ["[]", "[1, 2]", "[1,]", "[1 2]", "[,1]", "[1", "[1]]"].map(|text| items(text).is_some()),
            [true, true, false, false, false, false, false]
        );
        let mut reader = Reader::new(b"{\"a\": 1, \"b\": {\"c\": \"}\"}} 2");
        let mut open = reader.object().unwrap();
        reader.key(&mut open).unwrap();
        reader.value().unwrap();
        assert_eq!((reader.close(), reader.number()), (Some(()), Some(2.0)));
    }

    proptest! {
        #[test]
        fn a_number_is_one_where_serde_reads_the_same(text in "-?[0-9]{0,3}(\\.[0-9]{0,20})?([eE][-+]?[0-9]{0,3})?") {
            let ours = Reader::new(text.as_bytes()).number();
            prop_assert_eq!(ours, serde_json::from_str::<f64>(&text).ok());
            let ours = Reader::new(text.as_bytes()).count();
            prop_assert_eq!(ours, serde_json::from_str::<u64>(&text).ok());
        }

        #[test]
        fn every_number_is_read_to_its_last_digit(number: f64) {
            prop_assume!(number.is_finite());
            let text = serde_json::to_string(&number).unwrap();
            prop_assert_eq!(Reader::new(text.as_bytes()).number(), Some(number));
        }
    }
}
