//! What is to be turned, of all that was looked at.

use crate::audit::Row;
use crate::change::Change;
use crate::files::Files;
use crate::knob::{Hold, State, Way};
use crate::undertaking::Undertaking;

/// What the machine is to be quiet for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// For whatever comes, until it is put back.
    ToStay,
    /// For the time of a command.
    ForACommand,
    /// For the time of linespeed's own measuring.
    ForMeasuring,
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// Values, in the order of their writing.
    pub changes: Vec<Change>,
    /// What a process holds, with the knob's name.
    pub holds: Vec<(&'static str, Hold)>,
    /// What is more than a value, with the knob's name.
    pub undertakings: Vec<(&'static str, Undertaking)>,
    /// Knobs that stay as they are though they were to be set, and why.
    pub left: Vec<(&'static str, String)>,
    /// What linespeed does not set by itself: at boot, or by hand.
    pub advice: Vec<(&'static str, String)>,
}

impl Turn {
    /// Of these rows; `named` says whether the user named them, or took all.
    pub fn of(rows: &[Row], named: bool, purpose: Purpose, files: &dyn Files) -> Self {
        let mut turn = Self::default();
        for row in rows {
            let name = row.knob.name();
            match &row.look.state {
                State::Noisy if named || !row.knob.only_when_named() => {
                    turn.take(row, named, purpose, files);
                }
                State::Absent(why) | State::Unseen(why) if named => {
                    turn.left.push((name, why.clone()));
                }
                _ => {}
            }
        }
        turn
    }

    fn take(&mut self, row: &Row, named: bool, purpose: Purpose, files: &dyn Files) {
        let name = row.knob.name();
        let lacking = || row.needs.as_ref().map(|needs| format!("it needs {needs}"));
        match &row.look.way {
            Way::None => {}
            Way::Write(changes) => {
                let (open, locked): (Vec<&Change>, Vec<&Change>) =
                    changes.iter().partition(|change| files.writable(&change.path));
                self.changes.extend(open.into_iter().cloned());
                if let (Some(first), Some(why)) = (locked.first(), lacking()) {
                    let of = if locked.len() == changes.len() {
                        String::new()
                    } else {
                        format!("{} of its {} values, {} first: ", locked.len(), changes.len(), first.path)
                    };
                    self.left.push((name, format!("{of}{why}")));
                }
            }
            Way::Hold(hold) if fits(hold, purpose) => match lacking() {
                Some(why) => self.left.push((name, why)),
                None => self.holds.push((name, hold.clone())),
            },
            Way::Undertake(undertaking)
                if purpose == Purpose::ForACommand || !matches!(undertaking, Undertaking::Shield(_)) =>
            {
                match lacking() {
                    Some(why) => self.left.push((name, why)),
                    None => self.undertakings.push((name, undertaking.clone())),
                }
            }
            Way::Hold(_) | Way::Undertake(_) => {
                if named {
                    let way_out = format!("only for a command: linespeed quiet {name} -- COMMAND");
                    self.left.push((name, way_out));
                }
            }
            Way::Boot(parameters) => {
                let line = format!("only at boot, on the kernel's command line: {parameters}");
                self.not_by_us(named).push((name, line));
            }
            Way::ByHand(way) => self.not_by_us(named).push((name, format!("by hand: {way}"))),
        }
    }

    /// Leaves everything as it is but what the command itself is given: somebody else's session stands, and there is one at a
    /// time. The knobs that would have been turned.
    pub fn keep_to_the_commands(&mut self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = Vec::new();
        let turned = self
            .changes
            .drain(..)
            .filter_map(|change| crate::knobs::find(&change.knob).map(|knob| knob.name()));
        for name in turned.chain(self.undertakings.drain(..).map(|(name, _)| name)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Where it is told that somebody else has to do it: who named it wants it done.
    fn not_by_us(&mut self, named: bool) -> &mut Vec<(&'static str, String)> {
        if named { &mut self.left } else { &mut self.advice }
    }

    /// Whether there is anything that must be put back.
    pub fn leaves_traces(&self) -> bool {
        !self.changes.is_empty() || !self.undertakings.is_empty()
    }
}

/// Whether something can be held for this purpose.
fn fits(hold: &Hold, purpose: Purpose) -> bool {
    match purpose {
        Purpose::ToStay => false,
        Purpose::ForMeasuring => !hold.is_the_commands(),
        Purpose::ForACommand => true,
    }
}
