import dataclasses
import json
import pathlib
import typing
import unittest

import agentv_eval
from agentv_eval import CodeJudgePayload, parse_code_judge_payload

ROOT = pathlib.Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "schemas/code-judge-payload.schema.json").read_text("utf-8"))
FIXTURE = ROOT / "packages/core/test/fixtures/payload.json"
NAMES = {"OutputMessage": "Message"}


class Payload(unittest.TestCase):
    def test_the_classes_have_the_keys_of_the_schema(self) -> None:
        fields = {field.name for field in dataclasses.fields(CodeJudgePayload)}
        self.assertEqual(fields, set(SCHEMA["properties"]))
        for name, schema in SCHEMA["$defs"].items():
            if "properties" in schema:
                keys = typing.get_type_hints(getattr(agentv_eval, NAMES.get(name, name)))
                self.assertEqual(set(keys), set(schema["properties"]), name)

    def test_a_verdict_has_the_keys_of_the_schema(self) -> None:
        output = json.loads((ROOT / "schemas/code-judge-output.schema.json").read_text("utf-8"))
        fields = {field.name for field in dataclasses.fields(agentv_eval.CodeJudgeResult)}
        self.assertEqual(fields, set(output["properties"]))

    def test_every_key_is_read_and_users_data_is_untouched(self) -> None:
        text = FIXTURE.read_text("utf-8")
        payload = parse_code_judge_payload(text)
        for key, value in json.loads(text).items():
            self.assertEqual(getattr(payload, key), value)

    def test_a_short_payload_will_do_and_new_keys_do_no_harm(self) -> None:
        payload = parse_code_judge_payload(b'\xef\xbb\xbf{"candidate_answer": "\xc3\xa9", "new_key": 1}')
        self.assertEqual(payload, CodeJudgePayload(candidate_answer="é"))

    def test_what_is_no_payload_says_so(self) -> None:
        for text, message in [(" ", "there was nothing"), ("{", "is no JSON"), ("[]", "no JSON object")]:
            with self.assertRaisesRegex(ValueError, message):
                parse_code_judge_payload(text)
