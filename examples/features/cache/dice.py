"""An agent that never says the same twice, and counts how often it was asked."""
import random

with open("asked.log", "a", encoding="utf-8") as log:
    print("asked", file=log)
print(random.randint(1, 6))
