//! Determines the channel, and the package or node, of memory slots from the two free-form texts that the firmware has
//! for each slot.
//!
//! Every board vendor writes these texts differently, and the same text may have different meanings (`DIMM_A1` is channel A on a desktop
//! and processor A on a PowerEdge). A part (package, node, channel) therefore counts only if the same one of the two texts
//! contains it for every slot. A single letter counts only if it is unambiguous. Unknown parts stay `None`.

use regex_lite::Regex;

/// The result for one slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The channel, unique within the machine: `P0 CHANNEL A`, `CHANNEL 1`.
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
    /// The name after the word "channel".
    channel: Option<String>,
    /// A letter next to the word "DIMM", and the number next to the letter.
    letter: Option<(String, u32)>,
}

/// A channel, with the node and the controller from the same text.
type NamedChannel = (Option<u32>, Option<u32>, String);

/// Patterns for a package, a node, a controller, a channel (in two ways) and a letter next to "DIMM", in lower case.
const PATTERNS: [&str; 6] = [
    r"(?:^|[^a-z])(?:p|(?:cpu|proc(?:essor)?|socket|skt)[^a-z0-9]*)(?<number>\d+)",
    r"(?:^|[^a-z])node[^a-z0-9]*(?<number>\d+)",
    r"(?:^|[^a-z])(?:controller|i?mc)[^a-z0-9]*(?<number>\d+)",
    // No package has more than 16 channels, so letters go up to P.
    r"(?:^|[^a-z])(?:ch(?:annel|an|n)?[^a-z0-9]*(?<number>\d+)|(?:channel[^a-z0-9]*|ch(?:an|n)?[^a-z0-9]+)(?<letter>[a-p])(?:[^a-z]|$))",
    // C0D0: channel and DIMM. Controller0-DIMM0: on client boards, each controller is a channel.
    r"(?:^|[^a-z])c(?:ontroller)?(?<number>\d+)-?d(?:imm)?[^a-z0-9]*\d",
    // DIMM_A1, DIMM A1, DIMMA1, DIMM_P0_A0. The letter of DIMM1A is not a channel: ProLiants use it for the population order, and
    // on Supermicro's older boards, the number is the channel.
    r"(?:^|[^a-z])dimm[^a-z0-9]*(?:p\d+[^a-z0-9]+)?(?<letter>[a-p])(?<number>\d+)",
];

/// The highest plausible number of a package, node or channel.
const MAX_NUMBER: u32 = 1023;

/// The channels and nodes of the slots with these (locator, bank locator) texts, in the same order.
pub(crate) fn places(slots: &[(Option<&str>, Option<&str>)]) -> Vec<Place> {
    let patterns = PATTERNS.map(|pattern| Regex::new(pattern).ok());
    let read = |text: Option<&str>| text.map(|text| read_locator(text, &patterns)).unwrap_or_default();
    let locators: Vec<Location> = slots.iter().map(|(locator, _)| read(*locator)).collect();
    let banks: Vec<Location> = slots.iter().map(|(_, bank)| read(*bank)).collect();

    // The word "node" does not mean a NUMA node: boards use it for packages, dies, memory controllers or slots, and some restart the
    // numbers in each package. The number of a "node" only distinguishes channels with the same number. Like the controller, it is used
    // only if it is in the same text as the channel: in the other text, it may be a different kind of number.
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
    // If no package is known, the number of a "node" in the other text may be a package, and two channels may then have
    // the same name.
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

/// The values of a part if it is present for every slot, otherwise `None`.
fn all<T>(texts: &[Location], part: impl Fn(&Location) -> Option<T>) -> Option<Vec<T>> {
    if texts.is_empty() { None } else { texts.iter().map(part).collect() }
}

/// Renumbers from 0 if the vendor counts from 0 or 1; `None` if the numbers start higher.
fn from_zero(numbers: Option<Vec<u32>>) -> Option<Vec<u32>> {
    let numbers = numbers?;
    let first = *numbers.iter().min()?;
    (first <= 1).then(|| numbers.iter().map(|number| number - first).collect())
}

/// Channels from the letters next to "DIMM". The letters are used only if the same text also contains the package, or
/// if the board has more than one letter and at most two slots per letter, as on desktops.
fn by_letter(locators: &[Location], with_package: bool) -> Option<Vec<NamedChannel>> {
    let letters = all(locators, |location| location.letter.clone())?;
    let package_beside = with_package && locators.iter().all(|location| location.package.is_some());
    let several = letters.iter().any(|(letter, _)| *letter != letters[0].0);
    let two_at_most = letters.iter().all(|(_, number)| (1..=2).contains(number));
    (package_beside || (several && two_at_most))
        .then(|| letters.into_iter().map(|(letter, _)| (None, None, letter)).collect())
}

/// The first occurrence of each part in a text. A number that is too large is ignored.
fn read_locator(text: &str, patterns: &[Option<Regex>]) -> Location {
    let text = text.to_ascii_lowercase();
    let part = |pattern: &Option<Regex>| {
        let mut all = pattern.iter().flat_map(|pattern| pattern.captures_iter(&text));
        all.find_map(|found| {
            let letter = found.name("letter").map(|letter| letter.as_str().to_ascii_uppercase());
            let number = found.name("number").map(|number| number.as_str().parse().unwrap_or(u32::MAX));
            number.is_none_or(|number| number <= MAX_NUMBER).then_some((letter, number))
        })
    };
    let number = |at: usize| part(&patterns[at])?.1;
    let channel = part(&patterns[3]).or_else(|| part(&patterns[4]));
    Location {
        package: number(0),
        node: number(1),
        controller: number(2),
        channel: channel.and_then(|(letter, number)| letter.or(number.map(|number| number.to_string()))),
        letter: part(&patterns[5]).and_then(|(letter, number)| letter.zip(number)),
    }
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
            read(&[("DIMM_P0_A0", "BANK 0"), ("DIMM_P1_H1", "BANK 1")]),
            [place("P0 CHANNEL A", 0), place("P1 CHANNEL H", 1)]
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
        assert_eq!(
            read(&[
                ("Controller0-DIMM0", "BANK 0"),
                ("Controller0-DIMM1", "BANK 1"),
                ("Controller1-DIMM0", "BANK 2"),
                ("Controller1-DIMM1", "BANK 3")
            ]),
            [0, 0, 1, 1].map(|of| place(&format!("MC{of} CHANNEL {of}"), None))
        );
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
        // A single slot without a channel makes those of the others doubtful.
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
        // Numbers restart in each package.
        let anew = read(&[("P1-A1", "P0_Node0_Channel0_Dimm0"), ("P2-A1", "P1_Node0_Channel0_Dimm0")]);
        assert_eq!(anew, [place("P0 CHANNEL 0", 0), place("P1 NODE 0 CHANNEL 0", 1)]);
        // One number per slot, without packages.
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
