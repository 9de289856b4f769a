//! Long text through a pager on a terminal, as git and systemctl show it.

use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};

use crate::failure::Failure;
use crate::options::Out;
use crate::output;

/// What less does where `LESS` says nothing: leave at once what fits the screen, colours as they are, the screen as it was.
const LESS: &str = "FRX";

/// Prints text: on a terminal through `$PAGER`, or less, unless `--no-pager`.
pub fn page(text: &str, out: &Out) -> Result<(), Failure> {
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let wanted = io::stdout().is_terminal() && !out.no_pager && !dumb && !pager.trim().is_empty();
    if wanted && through(&pager, text) { Ok(()) } else { output::print(text) }
}

/// Whether the pager took the text. Who leaves it early has seen enough.
fn through(pager: &str, text: &str) -> bool {
    let mut command = Command::new("sh");
    command.args(["-c", pager]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    let Ok(mut child) = command.spawn() else { return false };
    // SAFETY: signal(2) with SIG_IGN runs no code of ours. An interrupt is the pager's, which would stay without us.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(text.as_bytes());
    }
    // The shell's words for what is not there, or is no program.
    child.wait().is_ok_and(|status| !matches!(status.code(), Some(126 | 127)))
}
