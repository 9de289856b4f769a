//! Writes a synthetic record, to view reports of machines that are not available:
//! `cargo run -p linespeed-report --example made_up -- NAME OUT.json`, `--text WIDTH` instead of the file prints the
//! terminal report.

#[path = "../tests/all/support/mod.rs"]
mod support;

use std::process::ExitCode;

use report::terminal::{self, Style};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let Some(record) = args.first().and_then(|name| support::named(name)) else {
        eprintln!("usage: made_up {} OUT.json | --text WIDTH", support::NAMES.join("|"));
        return ExitCode::from(2);
    };
    match args[1..] {
        ["--text", width] => {
            let style =
                Style { width: width.parse().unwrap_or(80), color: args.len() > 3, ..Style::default() };
            print!("{}", terminal::Screen::draw(&style, |screen| terminal::report(screen, &record, None)));
            println!("\n{}", "=".repeat(style.width));
            print!("{}", terminal::Screen::draw(&style, |screen| terminal::inventory(screen, &record)));
            println!("\n{}", "=".repeat(style.width));
            print!("{}", terminal::Screen::draw(&style, |screen| terminal::tree(screen, &record.machine)));
            ExitCode::SUCCESS
        }
        [file] if record.to_json().and_then(|json| std::fs::write(file, json)).is_ok() => ExitCode::SUCCESS,
        _ => {
            eprintln!("the record could not be written");
            ExitCode::from(3)
        }
    }
}
