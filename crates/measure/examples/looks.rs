//! Runs placement checks of this machine's CPUs: COUNT of them, or one per input line. Prints each as JSON, for
//! comparison with other tools in the same second. Usage: `looks [COUNT]`

use std::io::{BufRead, Error, Write};

use measure::shape::Looker;

fn main() -> Result<(), Error> {
    let machine = machine::inspect(&machine::Root::live()).machine;
    let mut looker = Looker::new(&machine, &machine.allowed_cpus()).ok_or(Error::other("one CPU"))?;
    let mut print = || {
        let look = os::with_fifo(1, |_| looker.look(false));
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(&look)?)?;
        out.flush()
    };
    match std::env::args().nth(1).and_then(|count| count.parse::<u32>().ok()) {
        Some(count) => (0..count).try_for_each(|_| print()),
        None => std::io::stdin().lock().lines().try_for_each(|line| line.and_then(|_| print())),
    }
}
