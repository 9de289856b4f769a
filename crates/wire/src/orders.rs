//! Instructions for a lab machine, on the kernel command line:
//! `linespeed.args=run,numa,--quick linespeed.channel=ttyS1 linespeed.offline=2,3 linespeed.emulated`.
//!
//! The kernel treats names with a dot as module parameters and does not pass them to init, so init reads them from `/proc/cmdline`.

/// The instructions for the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// linespeed's arguments, without its name.
    pub arguments: Vec<String>,
    /// The serial port for results, a name in `/dev`.
    pub channel: String,
    /// Numbers of the CPUs to take offline before linespeed runs.
    pub offline: Vec<u32>,
    /// Whether the machine is emulated.
    pub emulated: bool,
}

const ARGUMENTS: &str = "linespeed.args";
const CHANNEL: &str = "linespeed.channel";
const OFFLINE: &str = "linespeed.offline";
/// Also read by `machine::virtualization`, which has to recognize emulated machines.
const EMULATED: &str = "linespeed.emulated";

impl Orders {
    /// Formats the instructions as parameters for the kernel command line.
    pub fn parameters(&self) -> String {
        let arguments: Vec<String> = self.arguments.iter().map(|argument| encode(argument)).collect();
        // An empty list of arguments differs from one empty argument.
        let mut text = format!("{CHANNEL}={}", encode(&self.channel));
        if !arguments.is_empty() {
            text.push_str(&format!(" {ARGUMENTS}={}", arguments.join(",")));
        }
        if !self.offline.is_empty() {
            let cpus: Vec<String> = self.offline.iter().map(u32::to_string).collect();
            text.push_str(&format!(" {OFFLINE}={}", cpus.join(",")));
        }
        if self.emulated {
            text.push_str(&format!(" {EMULATED}"));
        }
        text
    }

    /// Parses the instructions on the kernel command line.
    ///
    /// # Errors
    ///
    /// A parameter is missing or invalid.
    pub fn read(line: &str) -> Result<Self, String> {
        let words = || line.split_ascii_whitespace();
        let value = |name: &str| words().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let unclear = |name, value: &str| format!("invalid {name}={value} on the kernel command line");
        let arguments = match value(ARGUMENTS) {
            None => Vec::new(),
            Some(list) => list
                .split(',')
                .map(|argument| decode(argument).ok_or_else(|| unclear(ARGUMENTS, argument)))
                .collect::<Result<_, _>>()?,
        };
        let channel = value(CHANNEL).ok_or_else(|| format!("the kernel command line has no {CHANNEL}="))?;
        let channel = decode(channel)
            .filter(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric()))
            .ok_or_else(|| unclear(CHANNEL, channel))?;
        let offline = value(OFFLINE).map_or(Ok(Vec::new()), |list| {
            list.split(',').map(|cpu| cpu.parse().map_err(|_| unclear(OFFLINE, list))).collect()
        })?;
        Ok(Self { arguments, channel, offline, emulated: words().any(|word| word == EMULATED) })
    }
}

/// Encodes an argument. Every character that the kernel's parser would interpret, and the comma, which separates arguments, becomes `%XX`;
/// an empty argument becomes `%`.
fn encode(text: &str) -> String {
    if text.is_empty() {
        return "%".to_owned();
    }
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_./:=+@".contains(&byte) {
            encoded.push(byte.into());
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn decode(text: &str) -> Option<String> {
    if text == "%" {
        return Some(String::new());
    }
    let mut bytes = Vec::new();
    let mut parts = text.split('%');
    bytes.extend(parts.next()?.bytes());
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend(part.get(2..)?.bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_orders_read_as_a_person_would_write_them() {
        let orders = Orders {
            arguments: ["run", "numa", "--quick"].map(str::to_owned).to_vec(),
            channel: "ttyS1".to_owned(),
            offline: vec![2, 3],
            emulated: true,
        };
        let text = orders.parameters();
        assert_eq!(
            text,
            "linespeed.channel=ttyS1 linespeed.args=run,numa,--quick linespeed.offline=2,3 linespeed.emulated"
        );
        assert_eq!(Orders::read(&format!("console=ttyS0 {text} panic=-1")), Ok(orders));
    }

    #[test]
    fn orders_that_cannot_be_understood_are_named() {
        for (line, said) in [
            ("quiet", "no linespeed.channel="),
            ("linespeed.channel=../sda", "linespeed.channel=../sda"),
            ("linespeed.channel=ttyS1 linespeed.args=a%2", "linespeed.args=a%2"),
            ("linespeed.channel=ttyS1 linespeed.args=%FF", "linespeed.args=%FF"),
            ("linespeed.channel=ttyS1 linespeed.offline=1-x", "linespeed.offline=1-x"),
        ] {
            let error = Orders::read(line).unwrap_err().to_string();
            assert!(error.contains(said), "{line}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_arguments_survive_the_command_line(
            arguments in proptest::collection::vec("[^\0]{0,12}", 0..6),
            offline in proptest::collection::vec(any::<u32>(), 0..4),
            emulated: bool,
        ) {
            let orders = Orders { arguments, channel: "ttyAMA0".to_owned(), offline, emulated };
            let text = orders.parameters();
            prop_assert!(text.is_ascii() && !text.contains(['"', '\n']));
            prop_assert_eq!(Orders::read(&text), Ok(orders));
        }

        #[test]
        fn no_command_line_panics(line in "(linespeed\\.(args|channel|offline)=|[%,0-9a-zé ]){0,20}") {
            let _ = Orders::read(&line);
        }
    }
}
