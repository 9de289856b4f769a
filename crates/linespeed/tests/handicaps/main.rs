//! Handicaps put on from outside: linespeed must name each one first, with a loss within a third of what the same work
//! shows when it is done with and without the handicap in turn.
//!
//! They load or confine the machine, and nothing else may run beside them, so they run only when
//! LINESPEED_TEST_HANDICAPS is set, as `./test handicaps` does.

mod clocks;
mod cpus;
mod culprits;
mod disturbance;
mod layers;
mod live;
mod memory;
mod precedence;
mod sleepers;
#[allow(dead_code, reason = "shared with the other whole-program tests, which use all of it")]
#[path = "../program/support/mod.rs"]
mod support;
mod trial;
mod vdso;
mod worker;
