"""Prints the numbers of the last record, and what the code judge made of them."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as results:
    record = json.loads(results.readlines()[-1])
print(json.dumps(record["execution_metrics"], indent=2))
print(json.dumps(record["evaluator_results"][0]["details"]))
