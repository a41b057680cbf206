#!/bin/sh
# A stand-in for an agent that is not always right. It is told which trial this is, so it is wrong at the same moments
# in every run: about shipping in every third trial, about gifts in all but every fourth.
case "$1-$(($2 % 12))" in
    returns-*) echo "You can return it within 30 days." ;;
    shipping-2 | shipping-5 | shipping-8 | shipping-11) echo "It takes a while." ;;
    shipping-*) echo "It takes 2 to 4 days." ;;
    gifts-0 | gifts-4 | gifts-8) echo "Yes, we wrap gifts for 3 euros." ;;
    gifts-*) echo "I am not sure." ;;
    *) echo "I do not know." ;;
esac
