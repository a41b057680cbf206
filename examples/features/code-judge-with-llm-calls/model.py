"""A stand-in for a model: an item is a yes if it is about returns."""

import json
import re
import sys

prompt = sys.argv[1]
verdicts = ["yes" if "return" in item else "no" for item in re.findall(r"^Item \d+: (.*)$", prompt, re.MULTILINE)]
print(json.dumps({"verdicts": verdicts}) if '{"verdicts"' in prompt else verdicts[0].capitalize() + ".")
