#!/bin/sh
# A stand-in for an agent that tells what it was given.
# Usage: writer.sh <guidelines> <file>...
guidelines=$1
shift
lines=$(printf '%s' "$guidelines" | grep -c 'Headlines')
names=$(for file in "$@"; do printf ' %s' "${file##*/}"; done)
unit=lines
[ "$lines" = 1 ] && unit=line
echo "guideline: $lines $unit; files:$names"
