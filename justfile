# The project's verbs. `just` alone lists them.
_list:
    @just --list

# What is quick: formatting, lints, generated files, house rules.
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo xtask gen --check
    cargo xtask tidy

# Every test, after installing what is missing.
test:
    ./test.sh

# Write the generated files: schemas and reference pages.
gen:
    cargo xtask gen

# Figures of the shipped build beside floors; `just bench --quick`, `just bench --write`.
bench *options:
    cargo xtask bench {{options}}
