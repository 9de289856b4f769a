//! The processes of a machine, or the threads of the observed processes, in a table whose number of lines is constant.

use record::live::{Interval, Process};
use record::units;

use super::NARROW;
use crate::paint::{Span, Tone};
use crate::terminal::screen::Screen;
use crate::text::{cut, pad_left, pad_right, width};

/// At this many new processes per second or more, their number is shown, because the CPU time of short-lived processes is not in any row.
const MANY_STARTED: f64 = 500.0;
/// Processes without a row are listed together if they use at least this share of one CPU.
const OTHERS: f64 = 0.1;
/// Width of the part of a narrow table's heading that shows the period.
const OVER: usize = 11;
/// Two periods count as equal if they differ by less than this share.
const ALIKE: f64 = 0.2;

/// The last sample of all processes. If sampling is expensive, some intervals have no sample of their own.
#[derive(Clone, Debug, Default)]
pub struct LastLook {
    processes: Vec<Process>,
    /// The period over which the CPU times of these processes were counted, in seconds, and whether it is about as long as the interval.
    seconds: f64,
    is_of_interval: bool,
    /// The machine's activity in that period.
    machine: Meanwhile,
    /// The machine's activity since the end of that period.
    since: Meanwhile,
}

/// CPU time of a machine over one or more intervals, s.
#[derive(Clone, Copy, Debug, Default)]
struct Meanwhile {
    seconds: f64,
    busy: f64,
    kernel: f64,
}

impl LastLook {
    /// Adds the following interval.
    pub fn take(&mut self, interval: &Interval) {
        self.since.seconds += interval.seconds;
        self.since.busy += interval.times.busy();
        self.since.kernel += interval.times.kernel();
        let length = interval.processes_seconds;
        self.is_of_interval =
            length.is_some_and(|length| (length / interval.seconds.max(1e-9) - 1.0).abs() < ALIKE);
        if let Some(length) = length {
            self.processes.clone_from(&interval.processes);
            self.seconds = length;
            self.machine = std::mem::take(&mut self.since);
        }
    }

    /// The processes found.
    pub(super) fn len(&self) -> usize {
        self.processes.len()
    }

    /// The machine's CPU time and kernel time, in seconds, that the first `rows` processes did not use. `None` if negligible, or if the
    /// processes and the machine were sampled over different periods.
    fn others(&self, rows: usize) -> Option<(f64, f64)> {
        let Meanwhile { seconds, busy, kernel } = self.machine;
        let shown = self.processes.iter().take(rows);
        let (cpu, system) = shown.fold((0.0, 0.0), |sum, one| (sum.0 + one.cpu, sum.1 + one.system));
        let alike = (seconds / self.seconds.max(1e-9) - 1.0).abs() < ALIKE;
        (alike && busy - cpu >= OTHERS * self.seconds).then(|| (busy - cpu, (kernel - system).max(0.0)))
    }
}

/// The widths of a row's columns: a number, a name, and as many of the others as fit.
struct Columns {
    number: usize,
    gap: usize,
    name: usize,
    others: Vec<usize>,
    room: usize,
}

impl Columns {
    /// `behind`: number of character columns to leave free at the end of a narrow table's rows.
    fn new(screen: &Screen, others: &[usize], behind: usize) -> Self {
        let room = screen.width();
        let (number, gap, name, behind) = if room < NARROW { (7, 1, 13, behind) } else { (9, 2, 17, 0) };
        let first = others.first().copied().unwrap_or(0);
        let name = name.min(room.saturating_sub(number + gap + first + behind)).max(1);
        let mut end = number + gap + name;
        let fits = others.iter().take_while(|columns| {
            end += **columns;
            end + behind <= room
        });
        let others = fits.copied().collect();
        Self { number, gap, name, others, room }
    }

    /// A row, followed by the text `behind` if it fits completely.
    fn row(&self, number: &str, name: &str, others: &[String], behind: &str) -> String {
        let cells: String = others.iter().zip(&self.others).map(|(text, w)| pad_left(text, *w)).collect();
        let row = format!(
            "{}{}{}{cells}",
            pad_left(number, self.number),
            " ".repeat(self.gap),
            pad_right(&cut(name, self.name - 1), self.name)
        );
        if width(&row) + width(behind) <= self.room { format!("{row}{behind}") } else { row }
    }
}

/// The processes with the most CPU time, in at most `room` rows. If the other processes used a relevant amount, the last row shows their
/// sum.
pub(super) fn processes(screen: &mut Screen, interval: &Interval, look: &LastLook, room: usize) {
    let columns = Columns::new(screen, &[9, 9, 9], OVER);
    let over = if look.is_of_interval || look.seconds <= 0.0 {
        String::new()
    } else {
        let gap = if screen.width() < NARROW { " " } else { "  " };
        format!("{gap}over {}", units::figure_to(look.seconds, "s", 2))
    };
    let heads = ["CPU %", "sys %", "threads"].map(str::to_owned);
    screen.line(&[Span::quiet(columns.row("PID", "name", &heads, &over))]);
    let percent = |of: f64| format!("{:.1}", of / look.seconds.max(1e-9) * 100.0);
    let others = look.others(room).filter(|_| room > 1).and_then(|_| look.others(room - 1));
    let rows = room.saturating_sub(usize::from(others.is_some()));
    let mut shown: Vec<String> =
        look.processes.iter().take(rows).map(|one| line(&columns, one, percent)).collect();
    let started = interval.rates.get("forks").copied().unwrap_or(0.0);
    let forks = (started >= MANY_STARTED).then(|| units::thousands(started.round()));
    match (others, forks) {
        (Some((cpu, system)), forks) => {
            let behind = forks.map(|forks| format!("  {forks} forks/s")).unwrap_or_default();
            let cells = [percent(cpu), percent(system), String::new()];
            shown.push(columns.row("", "others", &cells, &behind));
        }
        (None, Some(forks)) if room > 0 => {
            shown.resize(room - 1, String::new());
            let forks = pad_left(&forks, 9);
            shown.push(format!(
                "{forks}  new processes and threads per second; short-lived ones are not listed"
            ));
        }
        _ => {}
    }
    shown.resize(room, String::new());
    shown.iter().for_each(|text| screen.line(&[Span::new(Tone::Plain, text)]));
}

fn line(columns: &Columns, process: &Process, percent: impl Fn(f64) -> String) -> String {
    let real_time = if process.real_time { "  real-time" } else { "" };
    let ended = if process.ended { "  (ended)" } else { "" };
    let cells = [percent(process.cpu), percent(process.system), process.threads.to_string()];
    columns.row(&process.pid.to_string(), &process.name, &cells, &format!("{real_time}{ended}"))
}

/// Threads of the selected processes.
pub(super) fn threads(screen: &mut Screen, interval: &Interval, room: usize) {
    let columns = Columns::new(screen, &[9, 12, 11, 7], 0);
    let heads = ["CPU %", "runnable %", "blocked %", "state"].map(str::to_owned);
    screen.line(&[Span::quiet(columns.row("TID", "name", &heads, ""))]);
    let service = interval.service.clone().unwrap_or_default();
    let seconds = if service.seconds > 0.0 { service.seconds } else { interval.seconds };
    // A thread's times and the elapsed time are from different clocks, so a thread's share is limited to 100 %.
    let percent = |of: f64, threads: f64| {
        format!("{:.1}", (of / seconds.max(1e-9) * 100.0).clamp(0.0, 100.0 * threads))
    };
    let state = |name: &str| service.states.get(name).copied().unwrap_or(0.0);
    let all = (service.threads > 1).then(|| {
        let of = [state("user") + state("system"), state("runnable"), state("blocked")];
        let cells = of.map(|of| percent(of, service.threads as f64));
        columns.row(&format!("all {}", service.threads), "threads", &cells, "")
    });
    let single = interval.threads.iter().map(|one| {
        let [cpu, runnable, blocked] = [one.cpu, one.runnable, one.blocked].map(|of| percent(of, 1.0));
        columns.row(&one.tid.to_string(), &one.name, &[cpu, runnable, blocked, one.state.clone()], "")
    });
    let mut shown: Vec<String> = all.into_iter().chain(single).take(room).collect();
    shown.resize(room, String::new());
    shown.iter().for_each(|text| screen.line(&[Span::plain(text)]));
}
