# The steps of ./test, a function each. Sourced by it, from the root of the source tree.
# shellcheck shell=bash

PACKAGES=(
    bzip2                     # captured machines are archives
    valgrind                  # counts the kernels' instructions
    rustc-web                 # a compiler with an aarch64 standard library beside it
    libstd-rust-web-dev:arm64
    gcc-aarch64-linux-gnu     # the linker for aarch64, and its kernel module's compiler
    make                      # builds the kernel module, with gcc; kernels' tools need libelf
    gcc
    libelf1
    binutils
    libc6-dev-arm64-cross
    qemu-user                 # runs what was built for aarch64, and counts its instructions
    chromium                  # opens the page
    python3                   # drives chromium
    qemu-system-x86           # boots machines of other shapes
    qemu-system-arm
    bc                        # peers of the workloads, and what the recipes run
    openssl
    libssl-dev                # holds our AES against OpenSSL's
    sysbench
    stress-ng
    mariadb-server-core       # without a service that would start
    mariadb-client
    likwid
    linux-perf                # holds stat's perf layout against perf's
    numactl                   # what these print is read by import
    lshw
    dmidecode
    hwloc-nox
    rt-tests
    hyperfine
    time
    locales
)

# The newest that was tried; an older one that is installed will do.
CARGO_DENY=0.20.2
MDBOOK=0.5.4

target_dir=${CARGO_TARGET_DIR:-$PWD/target}
# Static programs for the machine that this runs on, as .cargo/config.toml has them.
host=$(rustc --version --verbose 2>/dev/null | sed -n 's/^host: //p')
native=$target_dir/$host/debug
# The folder of one compiler is of no use to another, and both would rebuild it each time.
foreign_dir=$target_dir/foreign
foreign=$foreign_dir/aarch64-unknown-linux-gnu/debug
# Set where all is to run; otherwise the number draws a share.
everything=${LINESPEED_TEST_EVERYTHING:-}
share=${LINESPEED_TEST_SHARE:-$((0x$(git rev-parse --short=7 HEAD 2>/dev/null || echo 0)))}

# No path of the machine that a release is built on stands in it, so that it is the same bytes elsewhere.
release_flags=("--remap-path-prefix=${CARGO_HOME:-${HOME:-}/.cargo}/registry/src=registry" "--remap-path-prefix=$PWD=.")
release_config=(--config "target.$host.rustflags=[\"${release_flags[0]}\", \"${release_flags[1]}\"]")

# A command with Debian's compiler, for aarch64. Clippy cannot use that one, but its own warnings are errors too.
foreign() {
    env RUSTC="${RUSTC_AARCH64:-/usr/bin/rustc}" RUSTDOC="${RUSTDOC_AARCH64:-/usr/bin/rustdoc}" \
        CARGO_TARGET_DIR="$foreign_dir" \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64 \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="-C target-feature=+crt-static -C relocation-model=static -D warnings${foreign_flags:-}" \
        "$@"
}

foreign_cargo() { foreign cargo "$1" --target aarch64-unknown-linux-gnu "${@:2}"; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Everything native, as the tests are built: programs built with fewer packages at once have other features of what they depend
# on, and all would be compiled again.
native_programs() { cargo test --quiet --workspace --no-run; }

# Tries it again with new package lists: those that are here may be older than the newest kernel.
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
    # rustup's toolchain may have been installed without them.
    { cargo fmt --version && cargo clippy --version || rustup component add rustfmt clippy; } || return 1
    # Outside the tree, whose settings are for linespeed.
    cargo deny --version || (cd / && CARGO_TARGET_DIR=$work/cargo-deny cargo install --quiet --debug --locked "cargo-deny@$CARGO_DENY")
}

step_house() {
    python3 -m unittest discover -s tests/house -p 'test_*.py' && tests/house/check
}

step_format() { cargo fmt --all --check; }

# Each crate's root denies what panics outside tests; the step `house` holds them to it.
# Checked as a release is, since `native` builds the other profile; but tests unwind, and all would be checked twice.
step_lint() { CARGO_PROFILE_RELEASE_PANIC=unwind cargo clippy --release --workspace --all-targets -- -D warnings; }

step_documents() { RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items; }

# Licences and sources of what the program is built from: deny.toml.
step_dependencies() { cargo deny --locked check licenses sources --hide-inclusion-graph; }

# A CPU is taken offline in mid-run here and put back; LINESPEED_TEST_OFFLINE= ./test native leaves it alone.
step_native() {
    # Cases of a property test that names no number of its own; `everything` takes the usual 256.
    [ -n "$everything" ] || export PROPTEST_CASES=${PROPTEST_CASES:-64}
    LINESPEED_TEST_OFFLINE=${LINESPEED_TEST_OFFLINE-1} cargo test --workspace --no-fail-fast
}

# With the tests' own program; the step `packages` does the same with what is installed.
step_python() {
    python/classes --check && native_programs &&
        LINESPEED=$native/linespeed XDG_STATE_HOME=$work/python PYTHONPATH=python PYTHONDONTWRITEBYTECODE=1 python_trials python3
}

# The package's tests and its notebook, with a Python that finds it.
python_trials() { "$1" -W error -m unittest discover -s python/tests && "$1" docs/python.py; }

# Panics, hangs and results that cannot be. In everything, a minute for each parser, or $LINESPEED_TEST_FUZZ seconds, and
# machines of some thousand harmed trees.
step_fuzz() {
    local much=(--seconds 3)
    [ -z "$everything" ] || much=(--seconds "${LINESPEED_TEST_FUZZ:-60}" --runs 3000)
    native_programs && "$native/fuzz" "${much[@]}"
}

# A book without search and without its server, whose parts take long to build.
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

# They want the machine for themselves, so no other test may run beside them.
step_handicaps() {
    if [ -z "$everything" ]; then
        echo "only in ./test everything"
        return
    fi
    LINESPEED_TEST_HANDICAPS=1 cargo test --workspace --test handicaps -- --test-threads=1
}

# The bench's own figures, and its independent chase.
step_bench() {
    python3 -m unittest discover -s bench/tests &&
        cargo test --quiet --manifest-path bench/chase/Cargo.toml --target-dir "$target_dir/chase"
}

step_counts() {
    # Built first, because the test runs the example under valgrind.
    native_programs && cargo test --workspace --test counts &&
        foreign_cargo build -p linespeed-kernels --example count &&
        LINESPEED_COUNT_AARCH64=$foreign/examples/count cargo test --workspace --test counts -- \
            --ignored --exact --nocapture qemu::qemu_counts_as_many_aarch64_instructions_as_are_declared
}

# The crates with code of their own for an instruction set, and those beside which a byte's order or a word's size counts.
step_emulated() {
    if [ -n "$everything" ]; then
        # Whole of programs; of grids of cases, which `native` goes through whole, the share of any run.
        LINESPEED_TEST_EVERYTHING='' foreign_cargo test --workspace --no-fail-fast
        return
    fi
    # What has instructions of its own for aarch64; smoke builds the rest.
    foreign_cargo test -p linespeed-kernels -p linespeed-os --no-fail-fast
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

# What contrib/ holds, with the engines that run it.
step_engines() {
    if [ -z "$everything" ]; then
        echo "only in ./test everything"
        return
    fi
    native_programs && tests/engines/run "$native/linespeed" "$target_dir/engines"
}

# What linespeed says of programs whose right answer is known, in about 40 minutes without other programs on the CPUs. All
# optimizations and tries, as tests/exam/run without options has them, take an hour and a half.
step_exam() {
    if [ -z "$everything" ]; then
        echo "only in ./test everything"
        return
    fi
    native_programs && tests/exam/run --linespeed "$native/linespeed" --levels O0,O2 --tries 2 --quiet 3 \
        --markdown "$target_dir/exam.md"
}

# Packages are built twice, the second time from a copy of the tree in another place, and each is installed, used and removed.
step_packages() {
    if [ -z "$everything" ]; then
        echo "only in ./test everything"
        return
    fi
    packaging/build && tests/packages/run "$target_dir/packages" "$target_dir/packaging"
}

step_smoke() {
    native_programs && foreign_cargo build || return 1
    local program=$foreign/linespeed tree=$work/tree
    file_is_static "$program" || return 1
    mkdir -p "$tree" && tar xjf crates/machine/tests/machines/128arm-2pa2n8cluster4co.tar.bz2 -C "$tree" || return 1
    qemu-aarch64 "$program" --version &&
        qemu-aarch64 "$program" inspect --json >"$work/aarch64.json" &&
        grep -q '"architecture": "aarch64"' "$work/aarch64.json" &&
        qemu-aarch64 "$program" inspect --root "$tree" --tree >/dev/null &&
        qemu-aarch64 "$program" run costs clock --quick --output "$work/measured.json" &&
        qemu-aarch64 "$program" show "$work/measured.json" --html --output "$work/aarch64.html" &&
        # A record of one architecture is read on the other.
        "$native/linespeed" show "$work/measured.json" >/dev/null
}

# The programs that build the kernel module and try it out, and the lab.
module_programs() {
    native_programs && foreign_cargo build && foreign_cargo build -p linespeed-overhead --example kernel_module
}

step_module() {
    module_programs || return 1
    local one=()
    [ -n "$everything" ] || one=(--share "$share")
    with_newest_packages "$native/lab" module "${one[@]}"
}

step_lab() {
    module_programs && foreign_cargo build -p linespeed-overhead --example guest --example full_guest || return 1
    with_newest_packages "$native/lab" kernel || return 1
    if [ -n "$everything" ]; then
        "$native/lab" all
    else
        "$native/lab" check --share "$share"
    fi
}

# Whether a program needs no library and no loader.
file_is_static() {
    if LC_ALL=C readelf -lW "$1" | grep -Eq 'INTERP|NEEDED'; then
        echo "$1 is not static" >&2
        return 1
    fi
}

step_release() {
    local program=$work/linespeed bytes
    if [ -n "$everything" ]; then
        cargo build --release "${release_config[@]}" && cp "$target_dir/$host/release/linespeed" "$program" || return 1
        if LC_ALL=C readelf -SW "$program" | grep -Eq ' \.(symtab|debug_info) '; then
            echo "$program is not stripped" >&2
            return 1
        fi
    else
        # Optimizing the whole takes minutes: a change is tried as the tests build it.
        native_programs && strip -o "$program" "$native/linespeed" || return 1
    fi
    file_is_static "$program" || return 1
    bytes=$(stat -c %s "$program")
    echo "linespeed: static, stripped, $bytes bytes"
    [ -z "$everything" ] || [ "$bytes" -le 16000000 ] || { echo "more than 16,000,000" >&2; return 1; }
    # Nothing of the machine that it was built on: no variables, no home, no /usr.
    env -i "$program" --version
}

step_page() {
    native_programs && "$native/linespeed" --quick --quiet-output --output "$work/real.json" &&
        "$native/linespeed" show "$work/real.json" --html --output "$work/real.html" &&
        tests/browser/all "$work/real.html"
}
