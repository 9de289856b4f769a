//! What `linespeed --version` prints: a release names the commit that it was built from, with a `+` where the sources were changed.

use std::process::Command;

fn main() {
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo::rerun-if-changed=build.rs");
    // Other builds would be made anew after each commit.
    let release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = if release { commit() } else { None };
    println!("cargo::rustc-env=LINESPEED_VERSION={version}{}", commit.unwrap_or_default());
}

/// The commit, where these sources are those of a repository and do not just lie in one.
fn commit() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    println!("cargo::rerun-if-changed={}", git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    println!("cargo::rerun-if-changed=..");
    let changed = if git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty() { "" } else { "+" };
    Some(format!(" ({}{changed})", git(&["rev-parse", "--short=10", "HEAD"])?))
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
