import contextlib
import http.server
import json
import os
import threading
import unittest
from collections.abc import Iterator
from typing import Any
from unittest import mock

from agentv_eval import (
    InvokeRequest,
    InvokeResponse,
    TargetClient,
    TargetInfo,
    TargetInvocationError,
    TargetNotAvailableError,
    create_target_client,
)

INFO = {"targetName": "judge", "maxCalls": 50, "callCount": 3, "availableTargets": ["judge", "other"]}
ANSWER = {"outputMessages": [{"role": "assistant", "content": "yes"}], "rawText": "yes"}
YES = InvokeResponse([{"role": "assistant", "content": "yes"}], "yes")
Asked = list[tuple[str, str | None, Any]]


@contextlib.contextmanager
def stub_proxy(status: int = 200, body: str | None = None) -> Iterator[tuple[TargetClient, Asked]]:
    """A stand-in for AgentV's proxy on loopback, a client that found it by its environment, and what it was asked."""
    asked: Asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply(None)

        def do_POST(self) -> None:
            self.reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def reply(self, request: Any) -> None:
            asked.append((self.path, self.headers["Authorization"], request))
            batch = {"responses": [ANSWER for _ in request["requests"]]} if self.path == "/invokeBatch" else None
            usual = json.dumps({"/info": INFO, "/invoke": ANSWER, "/invokeBatch": batch}[self.path])
            self.send_response(status)
            self.end_headers()
            self.wfile.write((body if body is not None else usual).encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    env = {"AGENTV_TARGET_PROXY_URL": f"http://127.0.0.1:{server.server_port}/", "AGENTV_TARGET_PROXY_TOKEN": "secret"}
    try:
        with mock.patch.dict(os.environ, env):
            client = create_target_client()
        assert client is not None
        yield client, asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Target(unittest.TestCase):
    def test_s006_s150_info_is_typed_and_lists_the_available_targets(self) -> None:
        with stub_proxy() as (client, asked):
            self.assertEqual(client.get_info(), TargetInfo("judge", 50, 3, ["judge", "other"]))
            self.assertEqual(asked, [("/info", "Bearer secret", None)])

    def test_s007_s151_the_chosen_target_is_handed_on(self) -> None:
        with stub_proxy() as (client, asked):
            self.assertEqual(client.invoke("?", target="other"), YES)
            self.assertEqual(asked, [("/invoke", "Bearer secret", {"question": "?", "target": "other"})])

    def test_a_request_carries_what_is_set_and_nothing_else(self) -> None:
        with stub_proxy() as (client, asked):
            client.invoke(InvokeRequest("?", system_prompt="s", eval_case_id="c", attempt=2))
            self.assertEqual(asked[0][2], {"question": "?", "systemPrompt": "s", "evalCaseId": "c", "attempt": 2})

    def test_a_batch_goes_out_as_one_request(self) -> None:
        with stub_proxy() as (client, asked):
            self.assertEqual(client.invoke_batch(["a", InvokeRequest("b", target="other")]), [YES, YES])
            requests = [{"question": "a"}, {"question": "b", "target": "other"}]
            self.assertEqual(asked, [("/invokeBatch", "Bearer secret", {"requests": requests})])

    def test_a_refusal_is_an_error_with_its_status(self) -> None:
        for status, body, message in [
            (429, '{"error": "Max calls exceeded (limit: 1)"}', "Max calls exceeded (limit: 1)"),
            (500, '{"error": {"nested": true}}', "HTTP 500"),
            (502, "<html>", "HTTP 502"),
            (200, "no JSON", "HTTP 200 without JSON"),
        ]:
            with stub_proxy(status, body) as (client, _), self.assertRaises(TargetInvocationError) as caught:
                client.invoke("?")
            self.assertEqual((str(caught.exception), caught.exception.status_code), (message, status))

    def test_without_a_proxy_and_with_half_of_one(self) -> None:
        with mock.patch.dict(os.environ, clear=True):
            self.assertIsNone(create_target_client())
        with mock.patch.dict(os.environ, {"AGENTV_JUDGE_PROXY_URL": "http://127.0.0.1:9"}, clear=True):
            with self.assertRaisesRegex(TargetNotAvailableError, "_TOKEN is not"):
                create_target_client()
