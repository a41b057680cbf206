"""A stand-in for a program that is slow to start and quick per item: it labels all tickets in one call.

In a batch there is no prompt on the command line, so it reads the eval file itself. It prints a line of JSON per case.
"""
import json
import re
import sys

WORDS = {"shipping": "parcel", "billing": "charged", "returns": "send it back"}


def tickets(path):
    """Ids and inputs. Read with two patterns, so that the example needs no YAML library."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return re.findall(r"- id: (.+)\n(?:.*\n)*?    input: (.+)", text)


def main(eval_file, output_file):
    with open(output_file, "w", encoding="utf-8") as output:
        for case, ticket in tickets(eval_file):
            labels = [label for label, word in WORDS.items() if word in ticket]
            if labels:
                print(json.dumps({"id": case, "text": labels[0], "cost_usd": 0.0001}), file=output)


main(*sys.argv[1:])
