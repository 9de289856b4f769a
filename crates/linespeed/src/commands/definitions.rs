//! Completions and manual pages, from the one definition of the command line.

use std::path::Path;

use clap_complete::Shell;

use crate::failure::Failure;
use crate::{files, options, output};

/// Completions for a shell on standard output.
pub fn completions(shell: Shell) -> Result<u8, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut options::definition(), "linespeed", &mut text);
    output::print(&String::from_utf8_lossy(&text)).map(|()| 0)
}

/// The main manual page on standard output, or all of them into a folder.
pub fn man(folder: Option<&Path>) -> Result<u8, Failure> {
    let mut definition = options::definition();
    // Gives every command its whole name and the options that all have.
    definition.build();
    let Some(folder) = folder else {
        return output::print(&page(definition)?).map(|()| 0);
    };
    files::create(folder)?;
    for command in definition.get_subcommands() {
        let name = format!("linespeed-{}", command.get_name());
        files::write(&folder.join(format!("{name}.1")), &page(command.clone().display_name(name))?)?;
    }
    files::write(&folder.join("linespeed.1"), &page(definition)?)?;
    Ok(0)
}

fn page(command: clap::Command) -> Result<String, Failure> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text).map_err(|error| Failure::Output {
        path: None,
        error,
        way_out: "",
    })?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
