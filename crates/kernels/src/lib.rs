//! The timed loops. Nothing here reads a file, allocates, starts a thread or reads a clock: the caller runs a kernel a known number of times,
//! measures, and divides.
//!
//! Some compute common benchmarks: AES and long numbers. They are portable Rust without vectors or special instructions, in memory provided by
//! the caller: the compiler chooses their instructions, so none are declared, and a known result verifies the work.
//!
//! Every other loop is written in assembly, x86-64 and aarch64 side by side in one file, so that no compiler can fold, reorder or vectorise it,
//! and starts on a 64-byte boundary, so that its speed does not depend on the linker. Each loop has its [`Work`]: the instructions, bytes loaded
//! and stored, and operations of one iteration. Results (IPC, bytes per second, flops) are based only on that declaration, and tests compare it
//! with two independent instruction counters on x86-64 and one on aarch64.
//!
//! A declaration covers one iteration. Code around the loop (loading constants, the call) is excluded: run a kernel with N and with 2 N
//! iterations and take the difference, or use a large N.
//!
//! | module | what |
//! |---|---|
//! | [`chain`] | dependent adds and multiplies: the clock; nops: the width |
//! | [`heavy`] | fused multiply-adds on every vector width: peak arithmetic, and the clock under it |
//! | [`chase`] | dependent loads, alone and up to 16 at once: load latency and memory-level parallelism |
//! | [`stream`] | read, write, copy, scale, add, triad and mixes: bandwidth |
//! | [`counter`] | the cycle or system counter, and the loop that looks for gaps in it |
//! | [`branch`] | one conditional branch an item: what a mispredict costs |
//! | [`hint`] | the instruction that spin loops wait with |
//! | [`primes`] | primes by trial division: user mode, kernel and guest compared |
//! | [`adds`] | dependent adds as bytes that run anywhere: the clock in a kernel |
//! | [`cpu_bound`] | three nops and a count: the loop of published comparisons of cores |
//! | [`evict`] | a range thrown out of every cache |
//! | [`flush`] | a cache line flushed and loaded again: bound by memory alone |
//! | [`aes_ige`] | table-driven AES-256 in IGE mode |
//! | [`bignum`] | long decimal numbers: a power and π, as `bc` computes them |
//! | [`handover`] | a cache line handed back and forth between two CPUs |
//! | [`cycle`] | the random cycle of lines that a chase follows, and the numbers it is drawn by |
//! | [`prefetch`] | a hint, for building working sets |
//!
//! To add a kernel: write it in the file of its family, for both instruction sets, with its `Work`; put it
//! into that file's list; the tests then count it and, for a stream, check what it computes.

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
