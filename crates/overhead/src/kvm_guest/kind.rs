//! What KVM there is, by what its guests did.

use std::fmt;

use super::{Guest, Tried};

/// What kind of KVM a machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The processor runs both modes of a guest, and this machine is hardware.
    Hardware,
    /// The processor runs both modes of a guest, and this machine is virtual itself.
    Nested,
    /// The module kvm_pvm: the guest runs in user mode of the machine, and a kernel that does not know of it is
    /// interpreted.
    Pvm,
    /// At least one mode of a guest is interpreted.
    Emulating,
    /// There is one, and it runs no guest.
    Unusable,
    /// There is none, or this user may not have it.
    None,
}

impl Kind {
    /// Its name in a record.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Hardware => "hardware",
            Kind::Nested => "nested",
            Kind::Pvm => "pvm",
            Kind::Emulating => "emulating",
            Kind::Unusable => "unusable",
            Kind::None => "none",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Hardware => "the processor's virtualization",
            Kind::Nested => "the processor's virtualization, nested in a virtual machine",
            Kind::Pvm => "PVM, which interprets the kernel mode of a guest that does not know of it",
            Kind::Emulating => "emulating: it interprets what a guest runs",
            Kind::Unusable => "there, but it runs no guest",
            Kind::None => "none",
        })
    }
}

/// The kind by what came of the two guests; `hypervisor` is what the machine itself runs below, `pvm` whether that
/// module is loaded.
pub(super) fn classify(
    user: &Result<Guest, Tried>,
    kernel: &Result<Guest, Tried>,
    hypervisor: Option<&str>,
    pvm: bool,
) -> Kind {
    let interpreted = |guest: &Result<Guest, Tried>| matches!(guest, Err(tried) if tried.times.is_some());
    judge(
        [user.is_ok(), kernel.is_ok()],
        interpreted(user) || interpreted(kernel),
        matches!(user, Err(tried) if tried.before_running),
        hypervisor,
        pvm,
    )
}

fn judge(runs: [bool; 2], interpreted: bool, absent: bool, hypervisor: Option<&str>, pvm: bool) -> Kind {
    match runs {
        _ if absent => Kind::None,
        [true, true] if hypervisor.is_some_and(|word| word != "none") => Kind::Nested,
        [true, true] => Kind::Hardware,
        _ if pvm && interpreted => Kind::Pvm,
        _ if interpreted => Kind::Emulating,
        _ => Kind::Unusable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kvm_is_named_by_what_its_guests_did() {
        for (runs, interpreted, absent, hypervisor, pvm, kind) in [
            ([true, true], false, false, Some("none"), false, Kind::Hardware),
            ([true, true], false, false, None, false, Kind::Hardware),
            ([true, true], false, false, Some("kvm"), true, Kind::Nested),
            ([true, false], true, false, Some("kvm"), true, Kind::Pvm),
            ([true, false], true, false, Some("kvm"), false, Kind::Emulating),
            ([false, false], true, false, Some("kvm"), false, Kind::Emulating),
            ([true, false], false, false, None, true, Kind::Unusable),
            ([false, false], false, true, None, true, Kind::None),
        ] {
            assert_eq!(
                judge(runs, interpreted, absent, hypervisor, pvm),
                kind,
                "{runs:?} {interpreted} {pvm}"
            );
        }
    }
}
