"""Amounts of money in a text."""
import re


def amounts_in(text):
    return [float(amount) for amount in re.findall(r"\d+\.\d\d", text)]
