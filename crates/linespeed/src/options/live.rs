//! Options of `live`.

use std::time::Duration;

use clap::Args;
use live::Selection;

/// Options of `live`.
#[derive(Debug, Args)]
pub struct Live {
    /// Time between updates [default: 1s]
    #[arg(short, long, value_name = "TIME", default_value = "1s", hide_default_value = true, value_parser = super::duration)]
    pub interval: Duration,
    /// Observe for TIME [default: 10s], print once, exit
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "10s", value_parser = super::duration,
          conflicts_with = "interval")]
    pub once: Option<Duration>,
    /// Observe these processes and their children
    #[arg(short, long, value_name = "PID[,PID]", value_delimiter = ',', value_parser = clap::value_parser!(i32).range(1..),
          group = "service")]
    pub pid: Vec<i32>,
    /// Observe a cgroup: /system.slice/nginx.service
    #[arg(long, value_name = "PATH", group = "service")]
    pub cgroup: Option<String>,
    /// Observe a systemd unit
    #[arg(long, value_name = "NAME", group = "service")]
    pub unit: Option<String>,
    /// Observe a container, by the start of its ID
    #[arg(long, value_name = "ID", group = "service")]
    pub container: Option<String>,
}

impl Live {
    /// The selected processes; `None` for the whole machine.
    pub fn selection(&self) -> Option<Selection> {
        if !self.pid.is_empty() {
            return Some(Selection::Processes(self.pid.clone()));
        }
        let cgroup = self.cgroup.clone().map(Selection::Cgroup);
        let unit = self.unit.clone().map(Selection::Unit);
        cgroup.or(unit).or(self.container.clone().map(Selection::Container))
    }
}
