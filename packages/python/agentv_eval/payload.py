"""What a code judge is given on stdin. The wire is snake_case already, so nothing is renamed; only the outermost object is a
class, and everything inside stays what ``json`` made of it."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any, Literal, TypedDict


class TokenUsage(TypedDict, total=False):
    input: float
    output: float
    cached: float


class ToolCall(TypedDict, total=False):
    """One use of a tool. ``tool`` is always there."""

    tool: str
    input: Any
    output: Any
    id: str
    timestamp: str
    duration_ms: float


class Message(TypedDict, total=False):
    """One message. ``role`` is always there; ``content`` is text, or whatever structure the agent uses."""

    role: str
    name: str
    content: Any
    tool_calls: list[ToolCall]
    timestamp: str
    duration_ms: float
    metadata: dict[str, Any]


class TraceEvent(TypedDict, total=False):
    """One event of the trace. ``type`` is always there."""

    type: Literal["model_step", "tool_call", "tool_result", "message", "error"]
    timestamp: str
    id: str
    name: str
    input: Any
    output: Any
    text: str
    metadata: dict[str, Any]


class TraceSummary(TypedDict, total=False):
    """The trace in numbers. The first four are always there."""

    event_count: int
    tool_names: list[str]
    tool_calls_by_name: dict[str, int]
    error_count: int
    token_usage: TokenUsage
    cost_usd: float
    duration_ms: float
    tool_durations: dict[str, list[float]]


class ExecutionMetrics(TypedDict, total=False):
    """What is known of the run's cost."""

    token_usage: TokenUsage
    cost_usd: float
    duration_ms: float
    tool_durations: dict[str, list[float]]
    exploration_ratio: float
    tokens_per_tool: float
    avg_tool_duration_ms: float


class FileChange(TypedDict, total=False):
    """One file that the agent changed. ``path``, ``status``, ``additions`` and ``deletions`` are always there."""

    path: str
    status: Literal["added", "modified", "deleted", "renamed"]
    old_path: str
    binary: bool
    additions: int
    deletions: int


@dataclasses.dataclass(frozen=True)
class CodeJudgePayload:
    """All that is known of a case and its answer. What a payload lacks, say one written by hand, is empty."""

    question: str = ""
    expected_outcome: str = ""
    expected_messages: list[Message] = dataclasses.field(default_factory=list)
    reference_answer: str = ""
    candidate_answer: str = ""
    output_messages: list[Message] | None = None
    guideline_files: list[str] = dataclasses.field(default_factory=list)
    input_files: list[str] = dataclasses.field(default_factory=list)
    input_messages: list[Message] = dataclasses.field(default_factory=list)
    trace_summary: TraceSummary | None = None
    candidate_trace: list[TraceEvent] | None = None
    """Deprecated: use ``output_messages``."""
    candidate_trace_summary: TraceSummary | None = None
    execution_metrics: ExecutionMetrics = dataclasses.field(default_factory=lambda: ExecutionMetrics())
    provider_metadata: dict[str, Any] = dataclasses.field(default_factory=dict)
    file_changes: str | None = None
    """What the agent changed in its workspace, as a unified diff; ``None`` where there is no workspace."""
    file_changes_truncated: bool = False
    """The diff was longer than 1 MiB and ends early."""
    changed_files: list[FileChange] | None = None
    workspace_path: str | None = None
    """Where the agent's files are until the case is graded: tests may run there."""
    config: dict[str, Any] | None = None
    """The keys of the evaluator that AgentV does not know, as written."""


def read_code_judge_payload() -> CodeJudgePayload:
    """Reads the payload from stdin, to its end; once per process, since stdin is gone afterwards."""
    # Bytes, since stdin as text has the encoding of the locale, and the wire is UTF-8.
    return parse_code_judge_payload(sys.stdin.buffer.read())


def parse_code_judge_payload(text: str | bytes) -> CodeJudgePayload:
    """The payload in this text. Keys of a newer AgentV are dropped; values are not checked."""
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise ValueError("a code judge reads its payload on stdin, and there was nothing; try `<judge> < payload.json`")
    try:
        payload = json.loads(text)
    except ValueError as error:
        raise ValueError(f"the payload of a code judge is no JSON: {error}") from error
    if not isinstance(payload, dict):
        raise ValueError("the payload of a code judge is no JSON object")
    known = {field.name for field in dataclasses.fields(CodeJudgePayload)}
    return CodeJudgePayload(**{key: value for key, value in payload.items() if key in known})
