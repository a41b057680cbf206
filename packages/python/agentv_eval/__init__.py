"""Code judges for AgentV in a few lines of Python, and a client to ask models."""

from .judge import CodeJudgeResult, code_judge, run
from .payload import (
    CodeJudgePayload,
    ExecutionMetrics,
    FileChange,
    Message,
    TokenUsage,
    ToolCall,
    TraceEvent,
    TraceSummary,
    parse_code_judge_payload,
    read_code_judge_payload,
)
from .target import (
    InvokeRequest,
    InvokeResponse,
    TargetClient,
    TargetInfo,
    TargetInvocationError,
    TargetNotAvailableError,
    create_target_client,
)

__all__ = [
    "CodeJudgePayload",
    "CodeJudgeResult",
    "ExecutionMetrics",
    "FileChange",
    "InvokeRequest",
    "InvokeResponse",
    "Message",
    "TargetClient",
    "TargetInfo",
    "TargetInvocationError",
    "TargetNotAvailableError",
    "TokenUsage",
    "ToolCall",
    "TraceEvent",
    "TraceSummary",
    "code_judge",
    "create_target_client",
    "parse_code_judge_payload",
    "read_code_judge_payload",
    "run",
]
