//! Determines the kind of KVM from the behavior of its guests.

use super::TriedUntil;

/// The kind of KVM on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    /// The processor runs both modes of a guest, and this machine is bare metal.
    Hardware,
    /// The processor runs both modes of a guest, and this machine is itself virtual.
    Nested,
    /// The module kvm_pvm: both modes of the guest run in the machine's user mode, and a guest kernel that does not
    /// support this is emulated.
    Pvm,
    /// At least one mode of the guest is emulated.
    Emulating,
    /// KVM exists but cannot run a guest.
    Unusable,
    /// KVM is missing, or this user may not use it.
    None,
}

impl Kind {
    /// Determines the kind from the point at which the guests in user mode and kernel mode failed (`None` if they run).
    /// `hypervisor` is the hypervisor under which this machine runs; `pvm` is set if the module kvm_pvm is loaded.
    pub(super) fn of_guests(ended: [Option<TriedUntil>; 2], hypervisor: Option<&str>, pvm: bool) -> Self {
        match ended {
            [Some(TriedUntil::Made), _] => Kind::None,
            [None, None] if hypervisor.is_some_and(|word| word != "none") => Kind::Nested,
            [None, None] => Kind::Hardware,
            _ if !ended.contains(&Some(TriedUntil::Interpreted)) => Kind::Unusable,
            _ if pvm => Kind::Pvm,
            _ => Kind::Emulating,
        }
    }

    /// The name of this kind in a record.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kvm_is_named_by_what_its_guests_did() {
        use TriedUntil::{Interpreted, Made, Run};
        for (ended, hypervisor, pvm, kind) in [
            ([None, None], Some("none"), false, Kind::Hardware),
            ([None, None], None, false, Kind::Hardware),
            ([None, None], Some("kvm"), true, Kind::Nested),
            ([None, Some(Interpreted)], Some("kvm"), true, Kind::Pvm),
            ([None, Some(Interpreted)], Some("kvm"), false, Kind::Emulating),
            ([Some(Run), Some(Interpreted)], Some("kvm"), false, Kind::Emulating),
            ([None, Some(Run)], None, true, Kind::Unusable),
            ([Some(Made), Some(Made)], None, true, Kind::None),
        ] {
            assert_eq!(Kind::of_guests(ended, hypervisor, pvm), kind, "{ended:?} {pvm}");
        }
    }
}
