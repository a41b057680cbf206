#!/usr/bin/env bash
# Installs what the tests need, if it is missing, and runs every test. From any directory, on a fresh machine with rustup:
#   ./test.sh
#   ./test.sh --long   also what takes minutes more: 50 runs that are killed and resumed and 100 000 cases three times each,
#                      with CI=true always; simulated comparisons; and workers, servers and networks that fail
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
    has unshare || missing+=(util-linux)
    has xmllint || missing+=(libxml2-utils)
    has nats-server || missing+=(nats-server)
    has chromium || has google-chrome || missing+=(chromium)
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
    npm ci --no-audit --no-fund --prefix tests/browser
}

# The real clients that the tests run against a stub of their API, on loopback only. They are kept outside of the clone; what
# is there already is not fetched again.
clients=${XDG_CACHE_HOME:-$HOME/.cache}/agentv-test-clients
claude_version=2.1.325
codex_version=0.166.0

install_client() ( # folder, package, program in it
    folder=$clients/$1 package=$2 program=$3
    if [[ -x $folder/$program ]]; then
        exit
    fi
    printf 'installing: %s\n' "$package"
    mkdir -p "$clients"
    # Unpacked beside its place and then moved, so that a folder that is there is whole.
    fresh=$(mktemp -d "$clients/.new-XXXXXX")
    trap 'rm -rf "$fresh"' EXIT
    cd "$fresh"
    npm pack --loglevel error "$package" >/dev/null
    tar -xzf ./*.tgz
    [[ -x package/$program ]]
    # Another run may have been quicker.
    rm -rf "$folder"
    mv -T package "$folder" 2>/dev/null || [[ -x $folder/$program ]]
)

can_have_namespaces() {
    local flags=(--net --pid --mount --fork --mount-proc --kill-child)
    unshare "${flags[@]}" true 2>/dev/null || unshare --map-root-user "${flags[@]}" true 2>/dev/null
}

install_clients() {
    if [[ "$(uname -sm)" != "Linux x86_64" ]]; then
        printf 'skipped: the tests with the real claude and codex want Linux on x86_64\n'
        return
    fi
    install_client "claude-code-$claude_version" "@anthropic-ai/claude-code-linux-x64@$claude_version" claude
    install_client "codex-$codex_version" "@openai/codex@$codex_version-linux-x64" \
        vendor/x86_64-unknown-linux-musl/bin/codex
    AGENTV_TEST_CLAUDE=$clients/claude-code-$claude_version/claude
    AGENTV_TEST_CODEX=$clients/codex-$codex_version/vendor/x86_64-unknown-linux-musl/bin/codex
    # From here on a test that lacks its client fails.
    AGENTV_TEST_REAL_CLIENTS=required
    export AGENTV_TEST_CLAUDE AGENTV_TEST_CODEX AGENTV_TEST_REAL_CLIENTS
    if ! can_have_namespaces; then
        printf 'namespaces are refused here, so the tests with the real claude and codex will be skipped\n'
    fi
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

# The HTML report in a real browser, and the JUnit report in the hands of others.
test_reports() {
    cargo build --quiet --package agentv-cli
    (cd tests/browser && node --test --test-reporter=spec)
}

test_python() { (cd packages/python && python3 -m unittest); }

long=${CI:-false}
[[ $long == true ]] || long=false
case "${1:-}" in
    "") ;;
    --long) long=true ;;
    *) printf 'usage: %s [--long]\n' "$0" >&2; exit 2 ;;
esac

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
run "real clients for the tests" install_clients
run "formatting (cargo fmt)" cargo fmt --all --check
run "lints (cargo clippy)" cargo clippy --workspace --all-targets -- -D warnings
run "tests (cargo nextest)" cargo nextest run --workspace --profile "$profile"
run "tests of the reports in a browser (node --test)" test_reports
run "examples in the documentation (cargo test --doc)" cargo test --doc --workspace --quiet
run "generated files (cargo xtask gen --check)" cargo xtask gen --check
run "house rules (cargo xtask tidy)" cargo xtask tidy

if $long; then
    run "crashes (cargo xtask crash)" cargo xtask crash
    run "trials (cargo xtask trials)" cargo xtask trials
fi
# A quarter of an hour of simulations, and machines that fail: only where they are asked for by name.
if [[ "${1:-}" == --long ]]; then
    run "statistics (cargo xtask stats)" cargo xtask stats
    run "clusters that fail (cargo xtask cluster)" cargo xtask cluster --only failures
    run "rates of clusters (cargo xtask cluster)" cargo xtask cluster --only rates
fi

printf '\nall good\n'
