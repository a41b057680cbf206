"""A code judge: is the answer short?"""
import json
import sys

print(json.dumps({"score": int(len(json.load(sys.stdin)["candidate_answer"]) < 9)}))
