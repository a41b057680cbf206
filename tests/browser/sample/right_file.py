"""The price is to be right, and nothing else is to be touched."""
import json
import sys

changed = json.load(sys.stdin).get("changed_files") or []
paths = [change if isinstance(change, str) else change.get("path") for change in changed]
only = paths == ["prices.py"]
print(json.dumps({
    "score": 1.0 if only else 0.25,
    "hits": ["prices.py was changed"] if "prices.py" in paths else [],
    "misses": [f"{path} was changed, too" for path in paths if path != "prices.py"],
    "reasoning": f"{len(paths)} file(s) changed",
    "details": {"changed": paths},
}))
