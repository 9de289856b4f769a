//! Progress on standard error: a bar with the time left on a terminal, lines with `--verbose`, else nothing.

use std::io::{IsTerminal, Write};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::Progress;

use crate::options::Out;

/// Shows how far a run is.
pub struct Shown {
    bar: Option<ProgressBar>,
    verbose: bool,
    done: f64,
    current: f64,
    name: String,
    began: Instant,
}

impl Shown {
    /// For a run that may take `seconds` in all.
    pub fn new(out: &Out, seconds: f64) -> Self {
        let bar = (std::io::stderr().is_terminal() && !out.quiet_output).then(|| {
            let bar = ProgressBar::new((seconds * 1000.0) as u64);
            // Few redraws, and only when there is news: drawing happens beside measuring.
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
            if let Ok(style) = ProgressStyle::with_template("{prefix:>15} [{bar:30}] {msg}") {
                bar.set_style(style.progress_chars("=> "));
            }
            bar
        });
        Self {
            bar,
            verbose: out.verbose,
            done: 0.0,
            current: 0.0,
            name: String::new(),
            began: Instant::now(),
        }
    }

    fn show(&self, done: f64) {
        if let Some(bar) = &self.bar {
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

impl Progress for Shown {
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
        if self.verbose {
            let line = format!(
                "{}: {:.1} s of at most {:.1} s",
                self.name,
                self.began.elapsed().as_secs_f64(),
                self.current
            );
            match &self.bar {
                Some(bar) => bar.println(line),
                None => {
                    let _ = writeln!(std::io::stderr(), "{line}");
                }
            }
        }
    }
}
