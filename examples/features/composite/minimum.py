"""An aggregator: the worst member decides."""
import json
import sys

results = json.load(sys.stdin)["results"]
worst = min(results, key=lambda name: results[name]["score"])
print(json.dumps({"score": results[worst]["score"], "reasoning": f"the worst member is {worst}"}))
