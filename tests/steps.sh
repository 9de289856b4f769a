# The steps of ./test, one function per step. ./test sources this file from the root of the source tree.
# shellcheck shell=bash

PACKAGES=(
    bzip2                     # unpacks the archives of captured machines
    valgrind                  # counts the instructions of the timed loops
    rustc-web                 # a compiler for which Debian has an aarch64 standard library
    libstd-rust-web-dev:arm64
    gcc-aarch64-linux-gnu     # links programs and compiles the kernel module for aarch64
    make                      # builds the kernel module, together with gcc; the kernel's build tools need libelf
    gcc
    libelf1
    binutils
    libc6-dev-arm64-cross
    qemu-user                 # runs aarch64 programs and counts their instructions
    chromium                  # opens the page
    python3                   # drives chromium
    qemu-system-x86           # boots machines of other shapes
    qemu-system-arm
    bc                        # reference for the workloads; recipes run this and the following programs
    openssl
    libssl-dev                # compares linespeed's AES with OpenSSL's
    sysbench
    stress-ng
    mariadb-server-core       # does not start a service
    mariadb-client
    likwid
    linux-perf                # compares stat's perf format with perf's
    numactl                   # import reads the output of this and the following programs
    lshw
    dmidecode
    hwloc-nox
    rt-tests
    hyperfine
    time
    locales
)

# The newest tested versions; an older installed version also works.
CARGO_DENY=0.20.2
MDBOOK=0.5.4

target_dir=${CARGO_TARGET_DIR:-$PWD/target}
# Static programs for this machine, as configured in .cargo/config.toml.
host=$(rustc --version --verbose 2>/dev/null | sed -n 's/^host: //p')
native=$target_dir/$host/debug
# A separate directory, because two compilers cannot share one: each would rebuild everything every time.
foreign_dir=$target_dir/foreign
foreign=$foreign_dir/aarch64-unknown-linux-gnu/debug
# `everything` is set if all checks are to run; otherwise, the number `share` selects a sample.
everything=${LINESPEED_TEST_EVERYTHING:-}
share=${LINESPEED_TEST_SHARE:-$((0x$(git rev-parse --short=7 HEAD 2>/dev/null || echo 0)))}

# A release contains no path of the build machine, so that other machines produce identical bytes.
release_flags=("--remap-path-prefix=${CARGO_HOME:-${HOME:-}/.cargo}/registry/src=registry" "--remap-path-prefix=$PWD=.")
release_config=(--config "target.$host.rustflags=[\"${release_flags[0]}\", \"${release_flags[1]}\"]")

# Runs a command with Debian's compiler, for aarch64. Clippy cannot use this compiler, but the compiler's own warnings are errors.
foreign() {
    env RUSTC="${RUSTC_AARCH64:-/usr/bin/rustc}" RUSTDOC="${RUSTDOC_AARCH64:-/usr/bin/rustdoc}" \
        CARGO_TARGET_DIR="$foreign_dir" \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64 \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="-C target-feature=+crt-static -C relocation-model=static -D warnings${foreign_flags:-}" \
        "$@"
}

foreign_cargo() { foreign cargo "$1" --target aarch64-unknown-linux-gnu "${@:2}"; }

# The packages whose programs and tests run on aarch64. All steps select the same packages, because others would select other features of
# the dependencies, and everything would be compiled again.
FOREIGN=(-p linespeed -p linespeed-kernels -p linespeed-os -p linespeed-overhead)

# Builds the programs and examples for aarch64.
foreign_programs() { foreign_cargo build "${FOREIGN[@]}" --bins --examples; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Builds everything for this machine in the same way as the tests. Building fewer packages at once would select other features of the
# dependencies, and everything would be compiled again.
native_programs() { cargo test --quiet --workspace --no-run; }

# Runs a command. If it fails, updates the package lists, which may be older than the newest kernel, and runs it again.
with_newest_packages() {
    "$@" || { as_root apt-get update -q && "$@"; }
}

step_install() {
    local missing=() package
    for package in "${PACKAGES[@]}"; do
        installed "$package" || missing+=("$package")
    done
    if [ ${#missing[@]} -gt 0 ]; then
        echo "installing ${missing[*]}"
        as_root dpkg --add-architecture arm64 &&
            as_root apt-get update -q &&
            as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" ||
            return 1
    else
        echo "all ${#PACKAGES[@]} packages are installed"
    fi
    # The toolchain may have been installed without rustfmt and clippy.
    { cargo fmt --version && cargo clippy --version || rustup component add rustfmt clippy; } || return 1
    # Built outside the tree, because the tree's cargo settings are for linespeed only.
    cargo deny --version || (cd / && CARGO_TARGET_DIR=$work/cargo-deny cargo install --quiet --debug --locked "cargo-deny@$CARGO_DENY")
}

step_house() {
    python3 -m unittest discover -s tests/house -p 'test_*.py' && tests/house/check
}

step_format() { cargo fmt --all --check; }

# The root of each crate rejects code that can panic outside tests; the step `house` checks these settings.
# Uses the profile of the tests, so that procedural macros and build scripts are not built twice. No code depends on the profile.
step_lint() { cargo clippy --workspace --all-targets -- -D warnings; }

step_documents() { RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items; }

# Checks the licenses and sources of the dependencies, as specified in deny.toml.
step_dependencies() { cargo deny --locked check licenses sources --hide-inclusion-graph; }

step_programs() { native_programs; }

# One test takes a CPU offline during a run and puts it back online; `LINESPEED_TEST_OFFLINE= ./test native` skips this test. Many tests
# wait for a timer or a child process, so there are more test threads than CPUs.
step_native() {
    # The number of cases of property tests that do not specify one; `everything` uses the default, 256.
    [ -n "$everything" ] || export PROPTEST_CASES=${PROPTEST_CASES:-64}
    LINESPEED_TEST_OFFLINE=${LINESPEED_TEST_OFFLINE-1} RUST_TEST_THREADS=${RUST_TEST_THREADS:-$(($(nproc) + 2))} \
        cargo test --workspace --no-fail-fast
}

# Uses the program built for the tests; the step `packages` does the same with the installed program.
step_python() {
    python/classes --check && native_programs &&
        LINESPEED=$native/linespeed XDG_STATE_HOME=$work/python PYTHONPATH=python PYTHONDONTWRITEBYTECODE=1 python_trials python3
}

# Runs the package's tests and its notebook, with a Python interpreter that finds the package.
python_trials() { "$1" -W error -m unittest discover -s python/tests && "$1" docs/python.py; }

# Finds panics, hangs and impossible results. `everything` runs each parser for a minute, or for $LINESPEED_TEST_FUZZ seconds, and with
# at least 3000 inputs.
step_fuzz() {
    local much=(--seconds 1)
    [ -z "$everything" ] || much=(--seconds "${LINESPEED_TEST_FUZZ:-60}" --runs 3000)
    native_programs && "$native/fuzz" "${much[@]}"
}

# Installs mdbook without its search and its server, which take long to build.
step_book() {
    if [ -z "$everything" ]; then
        echo "only in ./test everything"
        return
    fi
    local mdbook
    mdbook=$(command -v mdbook) || mdbook=$target_dir/mdbook/bin/mdbook
    [ -x "$mdbook" ] || (cd / && CARGO_TARGET_DIR=$work/mdbook cargo install --quiet --debug --locked --no-default-features \
        --root "$target_dir/mdbook" "mdbook@$MDBOOK") || return 1
    "$mdbook" build docs --dest-dir "$work/book" && [ -s "$work/book/tutorial.html" ]
}

step_kills() {
    local kills=150
    [ -z "$everything" ] || kills=1000
    LINESPEED_TEST_KILLS=$kills cargo test --workspace --test kills -- --nocapture
}

# Handicaps need an otherwise idle machine, so no other test may run at the same time.
step_handicaps() {
    if [ -z "$everything" ]; then
        echo "only in ./test everything"
        return
    fi
    LINESPEED_TEST_HANDICAPS=1 cargo test --workspace --test handicaps -- --test-threads=1
}

# Tests the statistics of the bench, and its independent pointer chase.
step_bench() {
    python3 -m unittest discover -s bench/tests &&
        cargo test --quiet --manifest-path bench/chase/Cargo.toml --target-dir "$target_dir/chase"
}

step_counts() {
    # Built first, because the test runs the example under valgrind.
    native_programs && cargo test --workspace --test counts &&
        foreign_programs &&
        LINESPEED_COUNT_AARCH64=$foreign/examples/count cargo test --workspace --test counts -- \
            --ignored --exact --nocapture qemu::qemu_counts_as_many_aarch64_instructions_as_are_declared
}

# Tests the crates with code for specific instruction sets; `everything` tests the whole workspace.
step_emulated() {
    # The tests of building the kernel module start and kill many programs, which the emulator does not always survive.
    local not_emulated=(--skip kernel_module)
    if [ -n "$everything" ]; then
        # All other tests run, but only a sample of the grids of cases that `native` runs completely.
        LINESPEED_TEST_EVERYTHING='' foreign_cargo test --workspace --no-fail-fast -- "${not_emulated[@]}"
        return
    fi
    # Only the crates with aarch64 instructions; the step `smoke` builds the rest.
    foreign_cargo test "${FOREIGN[@]}" --lib --test bc --test openssl --test streams --test counts --no-fail-fast -- "${not_emulated[@]}"
}

step_tools() {
    if [ -z "$everything" ]; then
        echo "only in ./test everything"
        return
    fi
    crates/import/tests/real/capture "$work/today" &&
        LINESPEED_TEST_TODAY=$work/today cargo test -p linespeed-import --lib -- --ignored --exact \
            real::what_the_tools_of_this_machine_print_is_read_as_what_others_printed
}

# Runs the contents of contrib/ with the engines for which they are intended.
step_engines() {
    if [ -z "$everything" ]; then
        echo "only in ./test everything"
        return
    fi
    native_programs && tests/engines/run "$native/linespeed" "$target_dir/engines"
}

# Compares linespeed's verdicts on programs with the known answers, in about 40 minutes on an otherwise idle machine. All optimization
# levels and tries, which tests/exam/run uses without options, take an hour and a half.
step_exam() {
    if [ -z "$everything" ]; then
        echo "only in ./test everything"
        return
    fi
    native_programs && tests/exam/run --linespeed "$native/linespeed" --levels O0,O2 --tries 2 --quiet 3 \
        --markdown "$target_dir/exam.md"
}

# Builds all packages twice, the second time from a copy of the tree in another directory; then installs, uses and removes each package.
step_packages() {
    if [ -z "$everything" ]; then
        echo "only in ./test everything"
        return
    fi
    packaging/build && tests/packages/run "$target_dir/packages" "$target_dir/packaging"
}

step_smoke() {
    native_programs && foreign_programs || return 1
    local program=$foreign/linespeed tree=$work/tree
    file_is_static "$program" || return 1
    mkdir -p "$tree" && tar xjf crates/machine/tests/machines/128arm-2pa2n8cluster4co.tar.bz2 -C "$tree" || return 1
    qemu-aarch64 "$program" --version &&
        qemu-aarch64 "$program" inspect --json >"$work/aarch64.json" &&
        grep -q '"architecture": "aarch64"' "$work/aarch64.json" &&
        qemu-aarch64 "$program" inspect --root "$tree" --tree >/dev/null &&
        qemu-aarch64 "$program" run costs clock --quick --output "$work/measured.json" &&
        qemu-aarch64 "$program" show "$work/measured.json" --html --output "$work/aarch64.html" &&
        # A record from one architecture must be readable on the other.
        "$native/linespeed" show "$work/measured.json" >/dev/null
}

# Builds the lab, and the programs that build and test the kernel module.
module_programs() {
    native_programs && foreign_programs
}

step_module() {
    module_programs || return 1
    local one=()
    [ -n "$everything" ] || one=(--share "$share")
    with_newest_packages "$native/lab" module "${one[@]}"
}

step_lab() {
    module_programs || return 1
    with_newest_packages "$native/lab" kernel || return 1
    if [ -n "$everything" ]; then
        "$native/lab" all
    else
        "$native/lab" check --share "$share"
    fi
}

# Succeeds if a program needs neither a library nor a loader.
file_is_static() {
    if LC_ALL=C readelf -lW "$1" | grep -E 'INTERP|NEEDED' >/dev/null; then
        echo "$1 is not static" >&2
        return 1
    fi
}

step_release() {
    local program=$work/linespeed bytes
    if [ -n "$everything" ]; then
        cargo build --release "${release_config[@]}" && cp "$target_dir/$host/release/linespeed" "$program" || return 1
        if LC_ALL=C readelf -SW "$program" | grep -E ' \.(symtab|debug_info) ' >/dev/null; then
            echo "$program is not stripped" >&2
            return 1
        fi
    else
        # An optimized build takes minutes, so for a change, the program built for the tests is checked.
        native_programs && strip -o "$program" "$native/linespeed" || return 1
    fi
    file_is_static "$program" || return 1
    bytes=$(stat -c %s "$program")
    echo "linespeed: static, stripped, $bytes bytes"
    [ -z "$everything" ] || [ "$bytes" -le 16000000 ] || { echo "the limit is 16,000,000 bytes" >&2; return 1; }
    # The program must start without any environment variables.
    env -i "$program" --version
}

step_page() {
    native_programs && "$native/linespeed" --quick --quiet-output --output "$work/real.json" &&
        "$native/linespeed" show "$work/real.json" --html --output "$work/real.html" &&
        tests/browser/all "$work/real.html"
}
