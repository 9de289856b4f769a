//! Progress on standard error: a bar with the remaining time on a terminal, one line per step with `--verbose`, and
//! otherwise nothing.

use std::io::IsTerminal;
use std::time::Instant;

use experiment::copies::RunObserver;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::Progress;
use os::child::Process;

use crate::options::Out;
use crate::output;

/// Shows the progress of a run.
pub struct Shown<'a> {
    out: &'a Out,
    bar: Option<ProgressBar>,
    done: f64,
    current: f64,
    /// The name of the current measurement, command or recipe.
    pub name: String,
    began: Instant,
    said_left: bool,
}

impl<'a> Shown<'a> {
    /// Begins the display for a run that may take `seconds` in total; 0 if the duration is not yet known.
    pub fn new(out: &'a Out, name: &str, seconds: f64) -> Self {
        let bar = (std::io::stderr().is_terminal() && !out.quiet_output).then(|| {
            let bar = ProgressBar::new((seconds * 1000.0) as u64);
            // The bar is redrawn rarely, and only if something changed, because drawing disturbs the measurement.
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
            if let Ok(style) = ProgressStyle::with_template("{prefix:>15} [{bar:30}] {msg}") {
                bar.set_style(style.progress_chars("=> "));
            }
            bar
        });
        let (name, began) = (name.to_owned(), Instant::now());
        Self { out, bar, done: 0.0, current: 0.0, name, began, said_left: false }
    }

    /// Prints a line, only with `--verbose`.
    pub fn verbose(&self, words: &str) {
        output::verbose(self.out, words);
    }

    /// Called before the first run of a command, with the expected total time of all runs.
    pub fn begin_runs(&mut self, seconds: f64) {
        if let Some(bar) = &self.bar {
            bar.set_length((seconds * 1000.0) as u64);
        }
        let name = self.name.clone();
        self.begin(&name, seconds);
    }

    /// Called when `done` of `all` runs have finished.
    pub fn done(&mut self, done: usize, all: usize, says: &str) {
        self.verbose(&format!("{done} of {all}: {says}"));
        self.advance(done as f64 / all.max(1) as f64);
    }

    fn show(&self, done: f64) {
        // Nothing is shown until the total time of all runs is known.
        if let Some(bar) = self.bar.as_ref().filter(|bar| bar.length() > Some(0)) {
            let total = bar.length().unwrap_or(0) as f64 / 1000.0;
            bar.set_message(format!("{:.0} s left", (total - done).max(0.0)));
            bar.set_position((done * 1000.0) as u64);
        }
    }

    /// Clears the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Shown<'_> {
    fn begin(&mut self, measurement: &str, seconds: f64) {
        self.name = measurement.to_owned();
        self.current = seconds;
        self.began = Instant::now();
        if let Some(bar) = &self.bar {
            bar.set_prefix(self.name.clone());
        }
        self.show(self.done);
    }

    fn advance(&mut self, share: f64) {
        self.show(self.done + self.current * share.clamp(0.0, 1.0));
    }

    fn end(&mut self) {
        self.done += self.current;
        self.show(self.done);
        if self.out.verbose {
            let took = self.began.elapsed().as_secs_f64();
            let line = format!("{}: {took:.1} s of about {:.1} s", self.name, self.current);
            match &self.bar {
                Some(bar) => bar.println(line),
                None => output::print_error(&format!("{line}\n")),
            }
        }
    }
}

impl RunObserver for Shown<'_> {
    fn left(&mut self, names: &[String]) {
        if !self.out.quiet_output && !self.said_left {
            self.said_left = true;
            say_left(names, "Ctrl-C stops waiting; --timeout limits the wait");
        }
    }
}

/// Reports processes that a command left running in the background, and what the user can do (`means`).
pub fn say_left(names: &[String], means: &str) {
    let names = names.join(", ");
    output::complain(&format!("the command has exited, but these are still running: {names}. {means}"));
}

/// The names and IDs of the first few processes.
pub fn name_processes(left: &[Process]) -> Vec<String> {
    left.iter().take(5).map(|process| format!("{} {}", process.name, process.pid)).collect()
}
