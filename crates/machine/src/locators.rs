//! Which channel, and which package or node, a memory slot belongs to, read from the two free texts that firmware has for each slot.
//!
//! Every board vendor writes them differently, and the same text has different meanings (`DIMM_A1` is channel A on a desktop and processor
//! A on a PowerEdge). So a part only counts if every slot of the machine has it in the same text, and a letter alone only if it is
//! unambiguous. Unknown parts stay `None`.

/// What was read for one slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The channel, unique over the machine: `P0 CHANNEL A`, `CHANNEL 1`.
    pub channel: Option<String>,
    /// The package, counted from 0.
    pub node: Option<u32>,
}

/// The parts found in one text.
#[derive(Clone, Debug, Default)]
struct Location {
    package: Option<u32>,
    node: Option<u32>,
    controller: Option<u32>,
    /// After the word channel.
    channel: Option<String>,
    /// A letter beside the word DIMM, and the number beside it.
    letter: Option<(String, u32)>,
}

/// A channel with the node and controller in its text.
type NamedChannel = (Option<u32>, Option<u32>, String);

/// The highest plausible number of a package, node or channel.
const MAX_NUMBER: u32 = 1023;

/// The places of the slots with these (locator, bank locator) texts, in the same order.
pub(crate) fn places(slots: &[(Option<&str>, Option<&str>)]) -> Vec<Place> {
    let read = |text: Option<&str>| text.map(read_locator).unwrap_or_default();
    let locators: Vec<Location> = slots.iter().map(|(locator, _)| read(*locator)).collect();
    let banks: Vec<Location> = slots.iter().map(|(_, bank)| read(*bank)).collect();

    // The word node is not a NUMA node: boards number packages, dies, memory controllers or slots with it, some restarting in each package.
    // It only distinguishes channels with the same number, and, like the controller, only in the text with the channel: elsewhere it may be
    // another kind of number.
    let package = from_zero(
        all(&banks, |location| location.package).or_else(|| all(&locators, |location| location.package)),
    );
    let named = |texts: &[Location]| -> Option<Vec<NamedChannel>> {
        all(texts, |location| Some((location.node, location.controller, location.channel.clone()?)))
    };
    let (channel, other) = match (named(&banks), named(&locators)) {
        (Some(channels), _) => (Some(channels), &locators),
        (None, Some(channels)) => (Some(channels), &banks),
        (None, None) => (by_letter(&locators, package.is_some()), &banks),
    };
    // Without packages such a number in the other text may be a package: then one channel's name may stand for two channels.
    let doubtful = package.is_none() && other.iter().any(|location| location.node != other[0].node);
    let channel = channel.filter(|_| !doubtful);

    (0..slots.len())
        .map(|slot| {
            let package = package.as_ref().map(|packages| packages[slot]);
            let channel = channel.as_ref().map(|channels| {
                let (node, controller, channel) = &channels[slot];
                let part = |name: &str, number: Option<u32>| {
                    number.map(|number| format!("{name}{number} ")).unwrap_or_default()
                };
                let node = node.filter(|node| package != Some(*node));
                let (package, node, controller) =
                    (part("P", package), part("NODE ", node), part("MC", *controller));
                format!("{package}{node}{controller}CHANNEL {channel}")
            });
            Place { channel, node: package }
        })
        .collect()
}

/// A part that every slot has.
fn all<T>(texts: &[Location], part: impl Fn(&Location) -> Option<T>) -> Option<Vec<T>> {
    if texts.is_empty() { None } else { texts.iter().map(part).collect() }
}

/// Numbers counted from 0, whether the vendor counts from 0 or from 1; `None` if neither fits.
fn from_zero(numbers: Option<Vec<u32>>) -> Option<Vec<u32>> {
    let numbers = numbers?;
    let first = *numbers.iter().min()?;
    (first <= 1).then(|| numbers.iter().map(|number| number - first).collect())
}

/// Channels by the letters beside DIMM: if the same text also names the package, or on boards with more than one letter and at most two
/// slots per letter, as on desktops.
fn by_letter(locators: &[Location], with_package: bool) -> Option<Vec<NamedChannel>> {
    let letters = all(locators, |location| location.letter.clone())?;
    let package_beside = with_package && locators.iter().all(|location| location.package.is_some());
    let several = letters.iter().any(|(letter, _)| *letter != letters[0].0);
    let two_at_most = letters.iter().all(|(_, number)| (1..=2).contains(number));
    (package_beside || (several && two_at_most))
        .then(|| letters.into_iter().map(|(letter, _)| (None, None, letter)).collect())
}

/// A run of letters or digits.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Number(u32),
}

/// Letters (lower case) and numbers in order, each with whether it directly follows the previous one.
fn tokens(text: &str) -> Vec<(Token, bool)> {
    let mut tokens = Vec::new();
    let mut glued = false;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let same = |c: char| {
            (first.is_ascii_digit(), first.is_ascii_alphabetic())
                == (c.is_ascii_digit(), c.is_ascii_alphabetic())
        };
        let end = rest.find(|c| !same(c)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        if first.is_ascii_alphabetic() {
            tokens.push((Token::Word(run.to_ascii_lowercase()), glued));
        } else if first.is_ascii_digit() {
            // A number too long to parse cannot be a package; it is stored as such.
            tokens.push((Token::Number(run.parse().unwrap_or(u32::MAX)), glued));
        }
        glued = first.is_ascii_alphanumeric();
        rest = after;
    }
    tokens
}

fn read_locator(text: &str) -> Location {
    let tokens = tokens(text);
    let mut location = Location::default();
    let number = |at: usize| match tokens.get(at) {
        Some((Token::Number(number), glued)) if *number <= MAX_NUMBER => Some((*number, *glued)),
        _ => None,
    };
    let letter = |at: usize| match tokens.get(at) {
        Some((Token::Word(word), _)) if is_channel_letter(word) => Some(word.to_ascii_uppercase()),
        _ => None,
    };
    for (at, (token, _)) in tokens.iter().enumerate() {
        let Token::Word(word) = token else { continue };
        let next = number(at + 1);
        match word.as_str() {
            "p" => {
                location.package =
                    location.package.or(next.filter(|(_, glued)| *glued).map(|(number, _)| number))
            }
            "cpu" | "proc" | "processor" | "socket" | "skt" => {
                location.package = location.package.or(next.map(|(number, _)| number));
            }
            "node" => location.node = location.node.or(next.map(|(number, _)| number)),
            "controller" | "mc" | "imc" => {
                location.controller = location.controller.or(next.map(|(number, _)| number))
            }
            "channel" | "chan" | "chn" | "ch" => {
                let channel = next.map(|(number, _)| number.to_string()).or_else(|| letter(at + 1));
                location.channel = location.channel.take().or(channel);
            }
            // C0D0: channel and DIMM.
            "c" => {
                let dimm = tokens.get(at + 2) == Some(&(Token::Word("d".to_owned()), true));
                if let Some((number, true)) = next.filter(|_| dimm && number(at + 3).is_some()) {
                    location.channel = location.channel.take().or(Some(number.to_string()));
                }
            }
            "dimm" => {
                // DIMM_A1, DIMM A1. The letter of DIMM1A is not a channel: ProLiants use it for the order of population, and on
                // Supermicro's older boards the number is the channel.
                let beside = match (letter(at + 1), number(at + 2)) {
                    (Some(letter), Some((number, true))) => Some((letter, number)),
                    _ => None,
                };
                location.letter = location.letter.take().or(beside);
            }
            _ => {
                // ChannelA; DIMMA1.
                if let Some(rest) = word.strip_prefix("channel").filter(|rest| is_channel_letter(rest)) {
                    location.channel = location.channel.take().or(Some(rest.to_ascii_uppercase()));
                } else if let Some(rest) = word.strip_prefix("dimm").filter(|rest| is_channel_letter(rest)) {
                    let beside = next.filter(|(_, glued)| *glued);
                    location.letter = location
                        .letter
                        .take()
                        .or(beside.map(|(number, _)| (rest.to_ascii_uppercase(), number)));
                }
            }
        }
    }
    location
}

/// One letter up to P: no package has more than 16 channels.
fn is_channel_letter(word: &str) -> bool {
    matches!(word.as_bytes(), [b'a'..=b'p'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(slots: &[(&str, &str)]) -> Vec<(Option<String>, Option<u32>)> {
        let slots: Vec<_> = slots.iter().map(|(locator, bank)| (Some(*locator), Some(*bank))).collect();
        places(&slots).into_iter().map(|place| (place.channel, place.node)).collect()
    }

    fn place(channel: &str, node: impl Into<Option<u32>>) -> (Option<String>, Option<u32>) {
        (Some(channel.to_owned()), node.into())
    }

    #[test]
    fn server_boards_tell_their_channels_in_many_ways() {
        // AMD's reference firmware; Supermicro with Intel's; HiSilicon; Inspur; Intel's own boards; ASUS.
        assert_eq!(
            read(&[("DIMM 0", "P0 CHANNEL A"), ("DIMM 1", "P0 CHANNEL A"), ("DIMM 0", "P1 CHANNEL H")]),
            [place("P0 CHANNEL A", 0), place("P0 CHANNEL A", 0), place("P1 CHANNEL H", 1)]
        );
        assert_eq!(
            read(&[("P1-DIMM1A", "P0_Node0_Channel0_Dimm0"), ("P2-DIMM1F", "P1_Node1_Channel2_Dimm0")]),
            [place("P0 CHANNEL 0", 0), place("P1 CHANNEL 2", 1)]
        );
        assert_eq!(
            read(&[
                ("DIMM000 J11", "SOCKET 0 CHANNEL 0 DIMM 0"),
                ("DIMM170 J31", "SOCKET 1 CHANNEL 7 DIMM 0")
            ]),
            [place("P0 CHANNEL 0", 0), place("P1 CHANNEL 7", 1)]
        );
        assert_eq!(
            read(&[("CPU0_C0D0", "NODE 0"), ("CPU1_C5D1", "NODE 1")]),
            [place("P0 CHANNEL 0", 0), place("P1 CHANNEL 5", 1)]
        );
        assert_eq!(
            read(&[("CPU0_DIMMA0", "BANK 0"), ("CPU1_DIMMB0", "BANK 1")]),
            [place("P0 CHANNEL A", 0), place("P1 CHANNEL B", 1)]
        );
        assert_eq!(
            read(&[("CPU1_DIMM_A1", "NODE 1"), ("CPU2_DIMM_F2", "NODE 2")]),
            [place("P0 CHANNEL A", 0), place("P1 CHANNEL F", 1)]
        );
        assert_eq!(
            read(&[("P1-DIMMA1", "x"), ("P1-DIMMB1", "x"), ("P2-DIMME1", "x")]),
            [place("P0 CHANNEL A", 0), place("P0 CHANNEL B", 0), place("P1 CHANNEL E", 1)]
        );
    }

    #[test]
    fn desktops_and_laptops_tell_a_channel_without_a_package() {
        assert_eq!(
            read(&[("ChannelA-DIMM0", "BANK 0"), ("ChannelB-DIMM0", "BANK 2")]),
            [place("CHANNEL A", None), place("CHANNEL B", None)]
        );
        assert_eq!(
            read(&[("Controller0-ChannelA", "BANK 0"), ("Controller1-ChannelA", "BANK 0")]),
            [place("MC0 CHANNEL A", None), place("MC1 CHANNEL A", None)]
        );
        assert_eq!(
            read(&[
                ("DIMM_A1", "BANK 0"),
                ("DIMM_A2", "BANK 1"),
                ("DIMM_B1", "BANK 2"),
                ("DIMM_B2", "BANK 3")
            ])[2],
            place("CHANNEL B", None)
        );
        assert_eq!(read(&[("Channel-0-DIMM-0", "BANK 0")]), [place("CHANNEL 0", None)]);
    }

    #[test]
    fn a_text_that_may_mean_anything_means_nothing() {
        let nothing = (None, None);
        // A PowerEdge's letter is the processor and its number the slot.
        let dell: Vec<_> = (1..=6).flat_map(|n| [format!("DIMM_A{n}"), format!("DIMM_B{n}")]).collect();
        let dell: Vec<_> = dell.iter().map(|slot| (slot.as_str(), "Not Specified")).collect();
        assert!(read(&dell).iter().all(|slot| *slot == nothing), "{:?}", read(&dell));
        assert_eq!(read(&[("A1", ""), ("B1", "")]), [nothing.clone(), nothing.clone()]);
        assert_eq!(read(&[("DIMM 0", "BANK 0"), ("DIMM 1", "BANK 1")]), [nothing.clone(), nothing.clone()]);
        assert_eq!(read(&[("Bottom - Slot 1 (top)", "BANK 0")]), std::slice::from_ref(&nothing));
        // One slot that says nothing makes the others' words doubtful.
        assert_eq!(read(&[("DIMM 0", "P0 CHANNEL A"), ("DIMM 1", "")]), [nothing.clone(), nothing.clone()]);
        assert_eq!(read(&[("P7-X", ""), ("P9-X", "")]), [nothing.clone(), nothing.clone()]);
        assert_eq!(places(&[(None, None)]), [Place::default()]);
        assert_eq!(places(&[]), []);
    }

    #[test]
    fn the_letters_of_a_proliant_are_the_order_of_population() {
        // All three channels of each processor are filled.
        let slots =
            ["PROC 1 DIMM 2A", "PROC 1 DIMM 4B", "PROC 1 DIMM 6C", "PROC 2 DIMM 2A", "PROC 2 DIMM 4B"];
        let read = read(&slots.map(|slot| (slot, "Not Specified")));
        assert!(read.iter().all(|(channel, _)| channel.is_none()), "{read:?}");
        assert_eq!(read.iter().map(|(_, node)| *node).collect::<Vec<_>>(), [0, 0, 0, 1, 1].map(Some));
    }

    #[test]
    fn the_word_node_is_no_numa_node() {
        // A node is a memory controller: four of them in each of two packages.
        let slots: Vec<(String, String)> = (0..16u8)
            .map(|n| {
                let letter = char::from(b'A' + n % 8);
                (format!("CPU{}_DIMM_{letter}1", n / 8), format!("NODE {}", n / 2))
            })
            .collect();
        let slots: Vec<_> = slots.iter().map(|(l, b)| (l.as_str(), b.as_str())).collect();
        let controllers = read(&slots);
        assert_eq!(
            (&controllers[1], &controllers[15]),
            (&place("P0 CHANNEL B", 0), &place("P1 CHANNEL H", 1))
        );
        // One package of two controllers with three channels each.
        let both = read(&[("DIMMA1", "P0_Node0_Channel0_Dimm0"), ("DIMMD1", "P0_Node1_Channel0_Dimm0")]);
        assert_eq!(both, [place("P0 CHANNEL 0", 0), place("P0 NODE 1 CHANNEL 0", 0)]);
        // Counted anew in each package.
        let anew = read(&[("P1-A1", "P0_Node0_Channel0_Dimm0"), ("P2-A1", "P1_Node0_Channel0_Dimm0")]);
        assert_eq!(anew, [place("P0 CHANNEL 0", 0), place("P1 NODE 0 CHANNEL 0", 1)]);
        // A number a slot, and nothing of packages.
        let slots =
            [("DIMM_A1", "NODE 0"), ("DIMM_A2", "NODE 1"), ("DIMM_B1", "NODE 2"), ("DIMM_B2", "NODE 3")];
        assert!(read(&slots).iter().all(|slot| *slot == (None, None)), "{:?}", read(&slots));
        let alike = read(&[("DIMM_A1", "NODE 0"), ("DIMM_B1", "NODE 0")]);
        assert_eq!(alike, [place("CHANNEL A", None), place("CHANNEL B", None)]);
    }

    #[test]
    fn a_processor_s_slots_have_its_number_from_zero() {
        let hpe = read(&[("PROC 1 DIMM 3", "Not Specified"), ("PROC 2 DIMM 12", "Not Specified")]);
        assert_eq!(hpe, [(None, Some(0)), (None, Some(1))]);
    }

    #[test]
    fn numbers_as_long_as_the_line_are_no_packages() {
        assert_eq!(read(&[("CPU99999999999999_DIMMA1", "NODE 4294967296")]), [(None, None)]);
    }

    proptest! {
        #[test]
        fn no_text_panics(slots in proptest::collection::vec(("(P|CPU|DIMM|Channel|NODE|_|-| |[0-9]|[A-D]|\\PC){0,12}", "\\PC{0,12}"), 0..6)) {
            let slots: Vec<_> = slots.iter().map(|(l, b)| (Some(l.as_str()), Some(b.as_str()))).collect();
            let read = places(&slots);
            prop_assert_eq!(read.len(), slots.len());
            prop_assert!(read.iter().all(|place| place.node.is_none_or(|node| node <= MAX_NUMBER)));
        }
    }
}
