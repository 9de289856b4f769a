//! The kernel's mitigation of each known processor vulnerability.

use record::{Coverage, Machine};

use crate::{Root, text};

const FOLDER: &str = "/sys/devices/system/cpu/vulnerabilities";

/// Maximum number of vulnerabilities read; Linux 6.18 lists more than twenty.
const MAX: usize = 128;
/// Maximum length of a stored text, in characters; the text for Spectre v2 has about 200.
const MAX_TEXT: usize = 1000;

/// Fills in the mitigations of [`Machine::kernel`].
pub(crate) fn read(root: &Root, machine: &mut Machine, _coverage: &mut Vec<Coverage>) {
    for file in root.list(FOLDER).into_iter().take(MAX) {
        let Some(value) = root.text(&format!("{FOLDER}/{file}")) else { continue };
        let (name, value) = (text::clean(&file), text::clean_to(&value, MAX_TEXT));
        if !name.is_empty() && !value.is_empty() {
            machine.kernel.mitigations.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;

    #[test]
    fn each_vulnerability_keeps_the_kernel_s_words() {
        let tree = Tree::new().files(
            "sys/devices/system/cpu/vulnerabilities",
            &[("meltdown", "Mitigation: PTI\n"), ("retbleed", "Not affected\n"), ("mds", "\n")],
        );
        let mut machine = Machine::default();
        read(&tree.root(), &mut machine, &mut Vec::new());
        let reported: Vec<_> =
            machine.kernel.mitigations.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(reported, [("meltdown", "Mitigation: PTI"), ("retbleed", "Not affected")]);
    }
}
