//! The timed loops. Nothing here reads a file, allocates, starts a thread or reads a clock: the caller runs a kernel a known number of times,
//! measures, and divides.
//!
//! Some kernels perform the calculations of common benchmarks: AES and arithmetic on long numbers. These kernels are portable Rust
//! without vectors or special instructions, and use memory provided by the caller. Their instruction counts are not declared, because the compiler chooses the instructions;
//! instead, a known result verifies the work.
//!
//! All other loops are written in assembly, with x86-64 and aarch64 side by side in one file, so that no compiler can
//! fold, reorder or vectorize them. They start on a 64-byte boundary, so that their speed does not depend on the
//! linker. Each loop has its [`Work`]: the instructions, bytes loaded
//! and stored, and operations of one iteration. Results (IPC, bytes per second, flops) always use this declared work, and tests compare it
//! with two independent instruction counters on x86-64 and one on aarch64.
//!
//! A declaration covers one iteration, without the code around the loop (loading constants, the call). To exclude the time of that
//! code, run a kernel with N and with 2 N iterations and take the difference, or use a large N.
//!
//! | module | contents |
//! |---|---|
//! | [`chain`] | dependent adds and multiplies, for the clock; nops, for the issue width |
//! | [`heavy`] | fused multiply-adds on every vector width: peak arithmetic, and the clock under this load |
//! | [`chase`] | dependent loads, one chain or up to 16 in parallel: load latency and memory-level parallelism |
//! | [`stream`] | read, write, copy, scale, add, triad and mixes: bandwidth |
//! | [`counter`] | the time-stamp counter or virtual counter, and the loop that looks for gaps in it |
//! | [`branch`] | one conditional branch per item: cost of a misprediction |
//! | [`hint`] | the pause instruction of spin loops |
//! | [`primes`] | primes by trial division: comparison of user mode, kernel and guest |
//! | [`adds`] | dependent adds as position-independent code: the clock in a kernel |
//! | [`cpu_bound`] | three nops and a counter: the loop used in published comparisons of cores |
//! | [`evict`] | evicts a range from all caches |
//! | [`flush`] | a cache line flushed and loaded again: limited only by memory |
//! | [`aes_ige`] | table-driven AES-256 in IGE mode |
//! | [`bignum`] | long decimal numbers: a power and π, computed as in `bc` |
//! | [`handover`] | a cache line handed back and forth between two CPUs |
//! | [`cycle`] | the random cycle of lines that a chase follows, and its random numbers |
//! | [`prefetch`] | a prefetch hint, for creating working sets |
//!
//! To add a kernel, write it in the file of its family, for both instruction sets, with its `Work`, and add it to that
//! file's list. The tests then count its instructions and, for a stream, check its results.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("linespeed's kernels exist for x86-64 and aarch64 only");

pub mod adds;
pub mod aes_ige;
pub mod bignum;
pub mod branch;
pub mod chain;
pub mod chase;
mod counted;
pub mod counter;
pub mod cpu_bound;
pub mod cycle;
pub mod evict;
pub mod flush;
pub mod handover;
pub mod heavy;
pub mod hint;
mod leaf;
pub mod prefetch;
pub mod primes;
pub mod stream;
mod variant;
mod work;

pub use variant::Variant;
pub use work::Work;
