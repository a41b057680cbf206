#!/bin/sh
# A stand-in for an agent that says itself how long it took.
case $1 in
    *time*) duration=900 ;;
    *) duration=120 ;;
esac
echo "{\"text\": \"hello\", \"duration_ms\": $duration}"
