"""Sums for people who have no fingers left."""


def add(a, b):
    return a - b
