"""Judges as processes of their own, as AgentV runs them."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import Any

PACKAGE = pathlib.Path(__file__).parents[1]


def run_judge(body: str, stdin: str = '{"candidate_answer": "It is Paris."}') -> tuple[int, Any, str]:
    """The exit code, the verdict and stderr of a script with this judge."""
    script = f"from agentv_eval import *\n\n@code_judge\ndef judge(payload):\n    print('debugging')\n    {body}\n"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "judge.py")
        path.write_text(script, "utf-8")
        # The C locale, where stdin and stdout are not UTF-8 by themselves.
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PACKAGE), "LC_ALL": "C", "PYTHONUTF8": "0"}
        ran = subprocess.run([sys.executable, str(path)], input=stdin.encode(), capture_output=True, env=env, check=False)
    return ran.returncode, json.loads(ran.stdout), ran.stderr.decode()


class Judge(unittest.TestCase):
    def test_a_verdict_is_a_result_a_mapping_or_a_score(self) -> None:
        for body, expected in [
            ("return CodeJudgeResult(1, hits=[payload.candidate_answer])", {"score": 1, "hits": ["It is Paris."], "misses": []}),
            ("return {'score': 0.5, 'details': {'a_key': 1}}", {"score": 0.5, "hits": [], "misses": [], "details": {"a_key": 1}}),
            ("return {'score': 1, 'details': [1, 2]}", {"score": 1, "hits": [], "misses": [], "details": [1, 2]}),
            ("return {'score': 1, 'details': None}", {"score": 1, "hits": [], "misses": []}),
            # AgentV decides about scores that are out of range.
            ("return 95", {"score": 95, "hits": [], "misses": []}),
            ("return -1", {"score": -1, "hits": [], "misses": []}),
        ]:
            code, verdict, stderr = run_judge(body)
            self.assertEqual((code, verdict, stderr), (0, expected, "debugging\n"))

    def test_any_letter_goes_in_and_out(self) -> None:
        _, verdict, _ = run_judge("return {'score': 1, 'hits': [payload.candidate_answer]}", '{"candidate_answer": "é😀"}')
        self.assertEqual(verdict["hits"], ["é😀"])

    def test_every_failure_is_a_verdict_of_zero_and_exit_code_1(self) -> None:
        for body, message in [
            ("raise ValueError('no luck')", "no luck"),
            ("return None", "finite number, not None"),
            ("return True", "finite number, not True"),
            ("return float('nan')", "finite number, not nan"),
            ("return {'hits': []}", "a verdict has a score"),
            ("return {'score': 1, 'verdict': 'pass'}", "no 'verdict'; put them into `details`"),
            ("return {'score': 1, 'details': 'x'}", "details of a verdict are a mapping or a list"),
            ("return {'score': 1, 'details': 7}", "details of a verdict are a mapping or a list"),
            ("return {'score': 1, 'details': {'a': object()}}", "not JSON serializable"),
        ]:
            code, verdict, stderr = run_judge(body)
            self.assertEqual((code, verdict["score"], verdict["hits"]), (1, 0, []), body)
            self.assertIn(message, verdict["misses"][0])
            self.assertEqual(verdict["reasoning"], f"Evaluation failed: {verdict['misses'][0]}")
            self.assertIn(message, stderr)

    def test_without_a_payload_a_judge_fails(self) -> None:
        code, verdict, _ = run_judge("return 1", "")
        self.assertEqual((code, verdict["score"]), (1, 0))
