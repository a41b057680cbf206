"""A stand-in for an agent: it takes a while and looks the price up in a file."""
import csv
import sys
import time

question = sys.argv[1].lower()
time.sleep(0.2)
with open("prices.csv", newline="") as table:
    prices = {row["item"]: row["price"] for row in csv.DictReader(table)}
found = [item for item in prices if item in question]
print(f"A {found[0]} costs {prices[found[0]]} euros." if found else "We do not sell that.")
