#!/bin/sh
# Counts the instructions of every aarch64 kernel under qemu and holds the declarations against them. Fails when
# a tool is missing. On Debian: apt-get install rustc-web libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu qemu-user
# The compiler for aarch64 is $RUSTC_AARCH64, or /usr/bin/rustc.
set -eu
cd "$(dirname "$0")/../../.."

for tool in qemu-aarch64 aarch64-linux-gnu-gcc "${RUSTC_AARCH64:=/usr/bin/rustc}"; do
    if ! command -v "$tool" >/dev/null; then
        echo "count-aarch64.sh: $tool is not installed" >&2
        exit 1
    fi
done

target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
# A folder of its own: two compilers in one would rebuild each other's crates every time.
RUSTC=$RUSTC_AARCH64 CARGO_TARGET_DIR=$target/aarch64-count \
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
    cargo build --package linespeed-kernels --example count --target aarch64-unknown-linux-gnu

LINESPEED_COUNT_AARCH64=$target/aarch64-count/aarch64-unknown-linux-gnu/debug/examples/count
export LINESPEED_COUNT_AARCH64
cargo test --package linespeed-kernels --test counts -- --ignored --exact --nocapture \
    qemu::qemu_counts_as_many_aarch64_instructions_as_are_declared
