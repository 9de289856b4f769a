//! Opens events in groups, with fallbacks: only user mode is counted if counting the kernel is refused, events are
//! opened singly if a group does not fit, and the other events are opened even if one is missing.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use record::{Template, Text, Unavailable, text};

use super::attr::{self, Attr, Code, Mode, Whose};
use super::events::{self, Event, HARDWARE_GROUPS};
use super::pmu::Pmu;
use super::reading::{Row, Tally};
use super::refusal::{self, Scope, Surroundings};
use super::top_down::Planned;

/// Maximum number of events in one group; no set has more than six.
const MOST: usize = 16;
/// Maximum number of retries of a read if a thread starts or ends at that moment (`ECHILD`).
const RETRIES: usize = 16;

/// Events to count together.
#[derive(Clone, Debug, Default)]
pub(super) struct Wish {
    /// Names and encodings.
    pub events: Vec<(&'static str, Code)>,
    /// Whether to keep the group on the PMU all the time.
    pub pinned: bool,
}

impl Wish {
    /// The events with these names, encoded for a machine with one kind of core (or for software events).
    pub(super) fn plain(names: &[&str]) -> Self {
        let events = names.iter().filter_map(|name| events::find(name));
        Self { events: events.map(|event| (event.name, event.code())).collect(), pinned: false }
    }

    /// Like `plain`, but for one of several kinds of core. `lookup` finds a unit's encoding for Arm's names.
    pub(super) fn on_unit(names: &[&str], unit: &Pmu, lookup: impl Fn(&str) -> Option<Code>) -> Self {
        let code = |event: &Event| {
            // Some Arm kernels reject the encoding that includes the unit, but all accept Arm's own event names.
            if cfg!(target_arch = "x86_64") {
                return Some(event.on_unit(unit.kind));
            }
            event.arm_names().iter().find_map(|name| lookup(name))
        };
        let events = names.iter().filter_map(|name| events::find(name));
        Self { events: events.filter_map(|event| Some((event.name, code(event)?))).collect(), pinned: false }
    }
}

impl From<&Vec<Planned>> for Wish {
    fn from(planned: &Vec<Planned>) -> Self {
        Self { events: planned.iter().map(|event| (event.name, event.code)).collect(), pinned: false }
    }
}

/// Open events that are counted together; the first is the leader.
#[derive(Debug)]
pub(super) struct Group {
    members: Vec<(&'static str, OwnedFd)>,
    user_only: bool,
}

impl Group {
    pub(super) fn enable(&self) {
        self.members.first().into_iter().for_each(|(_, leader)| attr::enable(leader));
    }

    pub(super) fn disable(&self) {
        self.members.first().into_iter().for_each(|(_, leader)| attr::disable(leader));
    }

    /// Whether `event` is in the group.
    pub(super) fn has(&self, event: &str) -> bool {
        self.members.iter().any(|(member, _)| *member == event)
    }

    /// Adds the group's values to `tally`.
    pub(super) fn read(&self, tally: &mut Tally) {
        // The number of members, the enabled and running times, and then the counts of the members in the order in
        // which they were opened.
        let mut words = [0u64; 3 + MOST];
        let Some((_, leader)) = self.members.first() else { return };
        let got = read_retrying(leader, &mut words);
        for (index, (event, _)) in self.members.iter().enumerate() {
            match &got {
                Ok(read) if *read >= 3 + self.members.len() && words[0] as usize > index => {
                    let [_, enabled, running, ..] = words;
                    let user_only = self.user_only;
                    tally.add_kind(Row { event, raw: words[3 + index], enabled, running, user_only });
                }
                Ok(_) => tally.refuse(event, TAKEN.into()),
                Err(error) => tally.refuse(event, text!(NOT_READABLE, error)),
            }
        }
    }
}

/// A pinned group without a free counter, whose reads return nothing.
const TAKEN: Template =
    Template::new("counters-taken", "not counted: another program has exclusive use of the CPU's counters");

/// Reading a descriptor failed.
const NOT_READABLE: Template = Template::new("counters-not-readable", "not counted: {error}");

fn read_retrying(fd: &OwnedFd, words: &mut [u64]) -> io::Result<usize> {
    let mut result = attr::read(fd, words);
    for _ in 0..RETRIES {
        if !result.as_ref().is_err_and(|error| is(error, &[libc::ECHILD, libc::EINTR])) {
            break;
        }
        result = attr::read(fd, words);
    }
    result
}

/// Opens events. The mode of counting is determined with the first event and used for the rest, so that all events are
/// counted in the same way.
pub(super) struct Opener<'a> {
    whose: Whose<'a>,
    scope: Scope,
    here: &'a Surroundings,
    /// The current mode; `user_only` means that the kernel allows only user mode.
    wanted: Mode,
    /// Whether the caller wants hardware events in user mode only.
    user_asked: bool,
    /// Whether an event has been opened, which fixes the mode.
    settled: bool,
    pub(super) groups: Vec<Group>,
    pub(super) refused: Vec<(&'static str, Text)>,
}

impl<'a> Opener<'a> {
    pub(super) fn new(whose: Whose<'a>, scope: Scope, wanted: Mode, here: &'a Surroundings) -> Self {
        let user_asked = wanted.user_only;
        let wanted = Mode { group: true, disabled: true, user_only: false, ..wanted };
        let (groups, refused) = (Vec::new(), Vec::new());
        Self { whose, scope, here, wanted, user_asked, settled: false, groups, refused }
    }

    /// Whether the kernel allows only user mode.
    pub(super) fn user_only(&self) -> bool {
        self.wanted.user_only
    }

    /// Opens as much of `wish` as possible, in one group if it fits.
    pub(super) fn open(&mut self, wish: &Wish) {
        let mut members: Vec<(&'static str, OwnedFd)> = Vec::new();
        let mut alone = Vec::new();
        for &(event, code) in wish.events.iter().take(MOST) {
            if let Some(refusal) = self.known_refusal(event) {
                self.refuse(event, refusal);
                continue;
            }
            let leader = members.first().map(|(_, fd)| fd);
            match self.open_one(code, leader, wish.pinned) {
                Ok(fd) => members.push((event, fd)),
                // The event may fit in a separate group.
                Err(error) if leader.is_some() && is(&error, &[libc::EINVAL]) => alone.push((event, code)),
                Err(error) => self.refuse(event, self.here.explain(&error, self.scope).reason),
            }
        }
        self.keep(members);
        for (event, code) in alone {
            match self.open_one(code, None, false) {
                Ok(fd) => self.keep(vec![(event, fd)]),
                Err(error) => self.refuse(event, self.here.explain(&error, self.scope).reason),
            }
        }
    }

    /// The reason why the first unavailable event of `wish` cannot be opened. No event stays open.
    pub(super) fn first_refusal(&mut self, wish: &Wish) -> Option<Unavailable> {
        if let Some(refusal) = self.here.without_unit() {
            return Some(refusal);
        }
        let error = wish.events.iter().find_map(|&(_, code)| self.open_one(code, None, false).err())?;
        Some(self.here.explain(&error, self.scope))
    }

    fn keep(&mut self, members: Vec<(&'static str, OwnedFd)>) {
        if !members.is_empty() {
            let first = members.first().and_then(|(event, _)| events::find(event));
            let software = first.is_some_and(Event::is_software);
            self.groups.push(Group { members, user_only: self.user_mode(self.wanted, software) });
        }
    }

    /// Whether to count only user mode for an event. For software events, this would count little or nothing, so it is
    /// done only if necessary.
    fn user_mode(&self, mode: Mode, software: bool) -> bool {
        mode.user_only || self.user_asked && !software
    }

    pub(super) fn refuse(&mut self, event: &'static str, reason: Text) {
        if !self.refused.iter().any(|(known, _)| *known == event) {
            self.refused.push((event, reason));
        }
    }

    /// The known reason why `event` would fail, if any.
    fn known_refusal(&self, event: &str) -> Option<Text> {
        if let Some(refusal) = self.here.without_call() {
            return Some(refusal.reason);
        }
        match events::find(event).filter(|event| event.is_software()) {
            Some(event) if event.in_kernel_only() && self.user_only() => {
                Some(self.here.user_mode_only().reason)
            }
            Some(_) => None,
            None => self.here.without_unit().map(|refusal| refusal.reason),
        }
    }

    /// Opens one event. Until the first event has been opened, requests are reduced step by step: first without the
    /// kernel, then without guests.
    fn open_one(&mut self, code: Code, leader: Option<&OwnedFd>, pinned: bool) -> io::Result<OwnedFd> {
        let lead = leader.is_none();
        let try_mode = |mode: Mode| {
            let mode = Mode {
                pinned: pinned && lead,
                disabled: mode.disabled && lead,
                enable_on_exec: mode.enable_on_exec && lead,
                user_only: self.user_mode(mode, code.kind == attr::TYPE_SOFTWARE),
                ..mode
            };
            attr::open(&Attr::new(code, mode), self.whose, leader)
        };
        let error = match try_mode(self.wanted) {
            Err(error) if !self.settled => error,
            result => {
                self.settled |= result.is_ok();
                return result;
            }
        };
        for mode in less(self.wanted, &error) {
            if let Ok(fd) = try_mode(mode) {
                self.wanted = mode;
                self.settled = true;
                return Ok(fd);
            }
        }
        Err(error)
    }
}

fn is(error: &io::Error, codes: &[i32]) -> bool {
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

/// The modes to request next after `asked` was refused with `error`.
fn less(asked: Mode, error: &io::Error) -> Vec<Mode> {
    let denied = is(error, &[libc::EACCES, libc::EPERM]) && !asked.user_only && !asked.kernel_only;
    if !denied && !is(error, &[libc::EINVAL, libc::EOPNOTSUPP]) {
        return Vec::new();
    }
    let user_only = denied || asked.user_only;
    let modes = [false, true].map(|exclude_guest| Mode { user_only, exclude_guest, ..asked });
    modes.into_iter().filter(|mode| *mode != asked).collect()
}

/// Whether cycles and instructions may stay on the PMU all the time. This requires room for another pair of events,
/// which small PMUs lack (four counters: two for cycles and instructions, and one possibly used by a watchdog).
pub(super) fn may_pin() -> bool {
    static PIN: OnceLock<bool> = OnceLock::new();
    *PIN.get_or_init(|| {
        let here = refusal::surroundings();
        if here.units.as_ref().is_none_or(|units| units.len() != 1) {
            return false;
        }
        let mut opener = Opener::new(Whose::Thread(0), Scope::Own, Mode::default(), here);
        opener.open(&Wish { pinned: true, ..Wish::plain(events::CORE_GROUP) });
        // The first pair that this PMU supports.
        for names in HARDWARE_GROUPS[1..].iter().filter(|names| names.len() == 2) {
            if opener.groups.len() < 2 {
                opener.open(&Wish::plain(names));
            }
        }
        if opener.groups.len() < 2 {
            return false;
        }
        opener.groups.iter().for_each(Group::enable);
        // Enabling puts a group on the PMU immediately if it fits; the calls themselves take time.
        opener.groups.iter().rev().for_each(Group::disable);
        let mut tally = Tally::default();
        opener.groups.iter().for_each(|group| group.read(&mut tally));
        let reading = tally.reading();
        !reading.counts.is_empty() && reading.not_counted.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_asks_for_less_and_never_for_more() {
        let asked = Mode { group: true, inherit: true, disabled: true, ..Mode::default() };
        let denied = less(asked, &io::Error::from_raw_os_error(libc::EACCES));
        assert!(denied[0].user_only && denied[0].group && !denied[0].exclude_guest);
        assert!(denied.iter().all(|mode| mode.user_only && mode.inherit && mode.disabled));
        let invalid = less(asked, &io::Error::from_raw_os_error(libc::EINVAL));
        assert!(invalid.iter().all(|mode| !mode.user_only), "kernel mode must not be dropped unnecessarily");
        assert!(!invalid.contains(&asked));
        assert!(less(asked, &io::Error::from_raw_os_error(libc::ENOENT)).is_empty());
        for whole in [Mode { user_only: true, ..asked }, Mode { kernel_only: true, ..asked }] {
            assert!(less(whole, &io::Error::from_raw_os_error(libc::EACCES)).is_empty());
        }
    }

    fn group_of(path: &str, write: bool) -> Group {
        let file = std::fs::OpenOptions::new().read(!write).write(write).open(path).unwrap();
        Group { members: vec![("cycles", file.into())], user_only: false }
    }

    #[test]
    fn a_group_that_found_no_counter_has_no_figure_and_says_why() {
        // Reading a pinned group in error returns no data, as for an empty file.
        let mut tally = Tally::default();
        group_of("/dev/null", false).read(&mut tally);
        let reading = tally.reading();
        assert!(reading.counts.is_empty());
        assert_eq!(reading.not_counted, [("cycles", TAKEN.into())]);
        let mut tally = Tally::default();
        group_of("/dev/null", true).read(&mut tally);
        assert!(tally.reading().not_counted[0].1.is(&NOT_READABLE));
    }

    #[test]
    fn user_mode_by_wish_does_not_blind_the_kernels_own_events() {
        let here = crate::counters::refusal::surroundings();
        let mut opener =
            Opener::new(Whose::Thread(0), Scope::Own, Mode { user_only: true, ..Mode::default() }, here);
        opener.open(&Wish::plain(events::SOFTWARE_GROUP));
        let blamed = opener.refused.iter().any(|(_, why)| *why == here.user_mode_only().reason);
        assert_eq!(blamed, opener.user_only(), "{:?}", opener.refused);
        assert!(opener.user_mode(opener.wanted, false));
        if let [group] = &opener.groups[..] {
            assert_eq!(group.user_only, opener.user_only());
            group.enable();
            std::thread::sleep(std::time::Duration::from_millis(1));
            let mut tally = Tally::default();
            group.read(&mut tally);
            let reading = tally.reading();
            assert!(opener.user_only() || reading.get("context-switches").unwrap().raw > 0, "{reading:?}");
        }
    }
}
