//! Generates the output of `linespeed --version`: a release includes the commit from which it was built, followed by `+` if the
//! sources were changed.
//! `LINESPEED_COMMIT` specifies the commit for sources outside their repository.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=LINESPEED_COMMIT");
    // Other builds would be made anew after each commit.
    let release = std::env::var("PROFILE").ok().filter(|profile| profile == "release");
    let commit = release.and_then(|_| std::env::var("LINESPEED_COMMIT").ok().or_else(commit));
    let commit = commit.map_or_else(String::new, |commit| format!(" ({commit})"));
    println!("cargo::rustc-env=LINESPEED_VERSION={}{commit}", env!("CARGO_PKG_VERSION"));
}

/// The commit, if these sources belong to a repository and are not just stored inside another one.
fn commit() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    println!("cargo::rerun-if-changed={}", git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    println!("cargo::rerun-if-changed=..");
    let changed = if git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty() { "" } else { "+" };
    Some(git(&["rev-parse", "--short=10", "HEAD"])? + changed)
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
