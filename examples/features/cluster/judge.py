"""Does the answer name the expected price?"""
import json
import sys

from amounts import amounts_in

payload = json.load(sys.stdin)
expected = float(payload["reference_answer"])
found = amounts_in(payload["candidate_answer"])
is_right = expected in found
print(json.dumps({
    "score": 1 if is_right else 0,
    "hits": [f"names {expected:.2f}"] if is_right else [],
    "misses": [] if is_right else [f"names {found}, not {expected:.2f}"],
}))
