#!/usr/bin/env bash
# Installs what the tests need, if it is missing, and runs every test. From any directory, on a fresh machine with rustup:
#   ./test.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

step="start"
trap 'code=$?; if ((code)); then printf "\nFAILED: %s\n" "$step" >&2; fi' EXIT

# Names what comes next, and does it.
run() {
    step=$1
    shift
    printf '\n== %s ==\n' "$step"
    "$@"
}

has() { command -v "$1" >/dev/null 2>&1; }

# A C compiler without the headers of the C library cannot link anything.
can_compile_c() { has cc && printf '#include <stdlib.h>\nint main(void){return 0;}\n' | cc -x c -o /dev/null - 2>/dev/null; }

install_debian_packages() {
    local missing=()
    can_compile_c || missing+=(build-essential)
    has python3 || missing+=(python3)
    has git || missing+=(git)
    has node || missing+=(nodejs)
    has npm || missing+=(npm)
    [[ -e /etc/ssl/certs/ca-certificates.crt ]] || missing+=(ca-certificates)
    if ((${#missing[@]} == 0)); then
        return
    fi
    local as_root=()
    if ((EUID != 0)); then
        as_root=(sudo)
    fi
    if ! has apt-get || { ((EUID != 0)) && ! has sudo; }; then
        printf 'please install: %s\n' "${missing[*]}" >&2
        return 1
    fi
    printf 'installing: %s\n' "${missing[*]}"
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

install_rust_tools() {
    if ! has cargo; then
        printf 'please install Rust first: https://rustup.rs\n' >&2
        return 1
    fi
    cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
    cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
    cargo nextest --version >/dev/null 2>&1 || cargo install cargo-nextest --locked
}

# The project's own bun comes with these packages.
install_npm_packages() {
    if ! node -e 'process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)'; then
        printf 'please install Node 20 or newer; this is %s\n' "$(node --version)" >&2
        return 1
    fi
    npm ci --no-audit --no-fund
}

# `bun install && bun run build` on a copy, since it would rearrange what npm has installed here.
build_with_bun() (
    bun=$PWD/node_modules/.bin/bun
    copy=$(mktemp -d)
    trap 'rm -rf "$copy"' EXIT
    git ls-files -z --cached --others --exclude-standard -- '*.json' .npmrc packages examples |
        xargs -0 cp --parents -t "$copy"
    cd "$copy"
    "$bun" install
    "$bun" run build
    cd examples/features/code-judge-sdk
    "$bun" scripts/verify-attachments.ts <payload.json | grep -F '"score": 0.5'
)

test_python() { (cd packages/python && python3 -m unittest); }

profile=default
if [[ -n "${CI:-}" ]]; then
    profile=ci
fi

run "Debian packages" install_debian_packages
run "Rust tools" install_rust_tools
run "npm packages" install_npm_packages
run "TypeScript (npm run check)" npm run --silent check
run "build (npm run build)" npm run --silent build
run "tests of the TypeScript SDKs (npm test)" npm test --silent
run "build with bun" build_with_bun
run "tests of the Python SDK (unittest)" test_python
run "formatting (cargo fmt)" cargo fmt --all --check
run "lints (cargo clippy)" cargo clippy --workspace --all-targets -- -D warnings
run "tests (cargo nextest)" cargo nextest run --workspace --profile "$profile"
run "examples in the documentation (cargo test --doc)" cargo test --doc --workspace --quiet
run "generated files (cargo xtask gen --check)" cargo xtask gen --check
run "house rules (cargo xtask tidy)" cargo xtask tidy

printf '\nall good\n'
