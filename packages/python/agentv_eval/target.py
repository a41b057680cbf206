"""Asking models through the proxy that AgentV opens for a judge with ``target: true``. The judge sees no key of a model."""

from __future__ import annotations

import dataclasses
import json
import os
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any

# No proxy between us and loopback, whatever the environment says: the token must not leave the machine.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class TargetNotAvailableError(Exception):
    """The proxy's address is there, but not what lets the script in."""


class TargetInvocationError(Exception):
    """The proxy or the model behind it said no.

    ``status_code`` is that of HTTP: 400 for a wrong request or target, 429 when ``max_calls`` are used up, 500 when the
    model failed.
    """

    def __init__(self, message: str, status_code: int) -> None:
        super().__init__(message)
        self.status_code = status_code


@dataclasses.dataclass(frozen=True)
class InvokeRequest:
    """One question for a model; ``target`` names another than the default one."""

    question: str
    system_prompt: str | None = None
    eval_case_id: str | None = None
    attempt: int | None = None
    target: str | None = None

    def _wire(self) -> dict[str, Any]:
        wire = {
            "question": self.question,
            "systemPrompt": self.system_prompt,
            "evalCaseId": self.eval_case_id,
            "attempt": self.attempt,
            "target": self.target,
        }
        return {key: value for key, value in wire.items() if value is not None}


@dataclasses.dataclass(frozen=True)
class InvokeResponse:
    """The answer to one question. ``raw_text`` is what the assistant said last; in a batch, ``Error: …`` where one failed.

    ``output_messages`` are as the proxy sends them, with camelCase keys such as ``toolCalls``.
    """

    output_messages: list[dict[str, Any]]
    raw_text: str | None = None


@dataclasses.dataclass(frozen=True)
class TargetInfo:
    """Who answers, and how often they may still be asked."""

    target_name: str
    max_calls: int
    call_count: int
    available_targets: list[str]


class TargetClient:
    """Asks models. Every method raises ``TargetInvocationError`` when it is refused."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._token = token

    def get_info(self) -> TargetInfo:
        """Costs no call."""
        info = self._exchange("/info")
        return TargetInfo(info["targetName"], info["maxCalls"], info["callCount"], info["availableTargets"])

    def invoke(
        self, question: str | InvokeRequest, *, system_prompt: str | None = None, target: str | None = None
    ) -> InvokeResponse:
        """Asks one question: ``invoke("…", target="gpt")``, or a whole request."""
        if isinstance(question, str):
            question = InvokeRequest(question, system_prompt=system_prompt, target=target)
        return _response(self._exchange("/invoke", question._wire()))

    def invoke_batch(self, requests: Sequence[str | InvokeRequest]) -> list[InvokeResponse]:
        """Asks several; the answers come in the same order."""
        whole = [InvokeRequest(one) if isinstance(one, str) else one for one in requests]
        body = self._exchange("/invokeBatch", {"requests": [one._wire() for one in whole]})
        return [_response(one) for one in body["responses"]]

    def _exchange(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self._url + path, data, headers)
        try:
            with _OPENER.open(request) as reply:
                status, text = reply.status, reply.read()
        except urllib.error.HTTPError as error:
            with error:
                raise TargetInvocationError(_error_in(error.read()) or f"HTTP {error.code}", error.code) from None
        answer = _json(text)
        if not isinstance(answer, dict):
            raise TargetInvocationError(f"HTTP {status} without JSON", status)
        return answer


def create_target_client() -> TargetClient | None:
    """A client, or ``None`` where the evaluator did not ask for a proxy."""
    # Both generations of names are set to the same by AgentV.
    for name in ("TARGET", "JUDGE"):
        url, token = (os.environ.get(f"AGENTV_{name}_PROXY_{part}") for part in ("URL", "TOKEN"))
        if url and not token:
            raise TargetNotAvailableError(f"AGENTV_{name}_PROXY_URL is set, but AGENTV_{name}_PROXY_TOKEN is not")
        if url and token:
            return TargetClient(url, token)
    return None


def _response(body: dict[str, Any]) -> InvokeResponse:
    return InvokeResponse(body["outputMessages"], body.get("rawText"))


def _error_in(text: bytes) -> str | None:
    body = _json(text)
    error = body.get("error") if isinstance(body, dict) else None
    return error if isinstance(error, str) else None


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
