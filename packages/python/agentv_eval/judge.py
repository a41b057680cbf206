"""A code judge from one function."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, Union

from .payload import CodeJudgePayload, read_code_judge_payload


@dataclasses.dataclass
class CodeJudgeResult:
    """A verdict. The score is from 0 to 1; AgentV refuses others. ``details`` are kept in the record, untouched."""

    score: float
    hits: list[str] = dataclasses.field(default_factory=list)
    misses: list[str] = dataclasses.field(default_factory=list)
    reasoning: str | None = None
    details: dict[str, Any] | list[Any] | None = None


Verdict = Union[CodeJudgeResult, Mapping[str, Any], float]
"""What a judge may return: a result, its fields as a mapping, or the score alone."""

Judge = TypeVar("Judge", bound=Callable[[CodeJudgePayload], Verdict])


def code_judge(judge: Judge) -> Judge:
    """Makes this script a judge, and leaves the function as it is.

    The function is run here and now, so it comes last in its file; when the file is imported, say by a test, it is not.
    """
    if judge.__module__ == "__main__":
        run(judge)
    return judge


def run(judge: Callable[[CodeJudgePayload], Verdict]) -> None:
    """Reads stdin, calls the judge, prints its verdict.

    Every failure is a verdict of zero that says why, and exit code 1, which AgentV records as a grading error and not as a
    bad answer. What the judge prints goes to stderr: stdout belongs to the verdict. The score is printed as it is given.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr):
            verdict = _checked(judge(read_code_judge_payload()))
    except Exception as error:
        message = str(error) or type(error).__name__
        print(message, file=sys.stderr)
        _print({"score": 0, "hits": [], "misses": [message], "reasoning": f"Evaluation failed: {message}"})
        sys.exit(1)
    _print(verdict)


def _print(verdict: Mapping[str, Any]) -> None:
    # ASCII only, so that the encoding of the locale does not matter.
    sys.stdout.write(json.dumps(verdict, indent=2) + "\n")
    sys.stdout.flush()


def _checked(verdict: Verdict) -> dict[str, Any]:
    if isinstance(verdict, CodeJudgeResult):
        result = verdict
    elif isinstance(verdict, Mapping):
        result = _from_mapping(verdict)
    else:
        result = CodeJudgeResult(verdict)
    score = result.score
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not math.isfinite(score):
        raise TypeError(f"the score of a verdict is a finite number, not {score!r}")
    if result.details is not None and not isinstance(result.details, (Mapping, list, tuple)):
        raise TypeError(f"the details of a verdict are a mapping or a list, not {result.details!r}")
    fields = dataclasses.asdict(result)
    # So that what json cannot write fails here, where it still becomes a verdict.
    json.dumps(fields, allow_nan=False)
    return {key: value for key, value in fields.items() if value is not None}


def _from_mapping(verdict: Mapping[str, Any]) -> CodeJudgeResult:
    if "score" not in verdict:
        raise TypeError("a verdict has a score")
    known = {field.name for field in dataclasses.fields(CodeJudgeResult)}
    unknown = sorted(set(verdict) - known)
    if unknown:
        raise TypeError(f"a verdict has no {', '.join(map(repr, unknown))}; put them into `details`")
    return CodeJudgeResult(**verdict)
