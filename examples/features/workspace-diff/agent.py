"""A stand-in for a coding agent: it works in the directory that it is started in.

Usage: agent.py <prompt>
"""
import pathlib
import sys

prompt = sys.argv[1]
if "test" in prompt:
    # An agent that takes the easy way out.
    pathlib.Path("tests/test_calculator.py").unlink()
    print("All tests pass now.")
else:
    source = pathlib.Path("calculator.py")
    source.write_text(source.read_text().replace("a - b", "a + b"))
    print("`add` subtracted; now it adds.")
