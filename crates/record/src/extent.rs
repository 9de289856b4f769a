//! Estimates the memory needed to parse a record, before any of it is allocated: a few bytes of JSON can represent a
//! long list.

/// Maximum number of CPUs in any kernel configuration (NR_CPUS of x86, arch/x86/Kconfig), and therefore the maximum
/// number of nodes and siblings.
const MOST_CPUS: usize = 8192;
/// The maximum length of other lists in a record, such as samples or the results for every pair of a thousand CPUs.
const MOST_ITEMS: usize = 1 << 20;
/// Lists with at most one entry per CPU of the machine.
const OF_CPUS: [&[u8]; 6] = [b"cpus", b"siblings", b"nodes", b"idle_states", b"memory_slots", b"notes"];
/// Maximum number of moments in a recording; a recording usually has a few hundred.
const MOST_MOMENTS: usize = 8192;
/// Maximum nesting of lists; the parser refuses deeper nesting.
const MOST_DEEP: usize = 200;

/// Memory sizes in bytes of an object (a map node), a list (a vector) and any other value (an element of a vector that
/// has just grown).
const OBJECT: u64 = 320;
const LIST: u64 = 64;
const VALUE: u64 = 48;

/// A list that is longer than it could be on any machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LongList {
    /// The list's name; empty for a list within a list.
    pub name: String,
    /// Maximum number of items in the list.
    pub most: usize,
}

/// An unfinished object or list.
struct Open<'a> {
    name: &'a [u8],
    most: usize,
    items: usize,
}

/// Approximate memory that a JSON text needs once it is parsed, bytes. Invalid JSON is not detected here but by the
/// parser.
///
/// # Errors
///
/// A list is too long.
pub(crate) fn memory_of(text: &[u8]) -> Result<u64, LongList> {
    let mut bytes = 0;
    let mut open: Vec<Open> = Vec::new();
    let (mut word, mut name): (&[u8], &[u8]) = (b"", b"");
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' => {
                (word, rest) = split_string(after);
                bytes += word.len() as u64 + VALUE;
            }
            b':' => name = word,
            b'{' | b'[' => {
                let most = match byte {
                    b'{' => usize::MAX,
                    _ if OF_CPUS.contains(&name) => MOST_CPUS,
                    _ if name == b"moments" => MOST_MOMENTS,
                    _ => MOST_ITEMS,
                };
                bytes += if *byte == b'{' { OBJECT } else { LIST };
                open.push(Open { name, most, items: 1 });
                name = b"";
                if open.len() > MOST_DEEP {
                    break;
                }
            }
            b'}' | b']' => drop(open.pop()),
            b',' => {
                bytes += VALUE;
                let Some(list) = open.last_mut() else { continue };
                list.items += 1;
                if list.items > list.most {
                    let name = String::from_utf8_lossy(list.name).into_owned();
                    return Err(LongList { name, most: list.most });
                }
            }
            _ => {}
        }
    }
    Ok(bytes)
}

/// A string up to its closing quote, and the text after it.
fn split_string(text: &[u8]) -> (&[u8], &[u8]) {
    let mut escaped = false;
    let ends = |byte: &u8| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    };
    let end = text.iter().position(ends).unwrap_or(text.len());
    (text.get(..end).unwrap_or_default(), text.get(end + 1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_are_counted_by_their_name_and_not_inside_strings() {
        let list = |name: &str, items: usize| {
            format!("{{\"a\": \"[,,\\\",\", \"{name}\": [{}0]}}", "0,".repeat(items - 1))
        };
        let refused = |name: &str, items| memory_of(list(name, items).as_bytes()).err();
        assert_eq!(refused("siblings", MOST_CPUS), None);
        let long = LongList { name: "siblings".to_owned(), most: MOST_CPUS };
        assert_eq!(refused("siblings", MOST_CPUS + 1), Some(long));
        assert_eq!(refused("samples", MOST_CPUS + 1), None);
        assert_eq!(refused("samples", MOST_ITEMS + 1).map(|long| long.most), Some(MOST_ITEMS));
    }

    #[test]
    fn what_is_small_as_a_text_and_large_in_memory_is_taken_for_large() {
        let text = format!("[{}{{}}]", "{},".repeat(1000));
        assert!(memory_of(text.as_bytes()).unwrap() > 300_000);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = memory_of(&bytes);
        }
    }
}
