//! linespeed
fn main() {}
