"""Stands in for two versions of a support agent: the same answers every time, with the tools that it "used"."""
import json
import pathlib
import sys


def call(tool, given, output, millis):
    return {"tool": tool, "input": given, "output": output, "duration_ms": millis}


def found(order):
    return {"order": order, "item": "desk lamp", "delivered": "2026-11-02", "paid_with": "card"}


def fix_price():
    path = pathlib.Path("prices.py")
    path.write_text(path.read_text().replace("94.90", "49.90"))


def careful(case):
    if case == "refund-window":
        return ("Yes, of course. Your lamp was delivered on 2 November, so you have until 2 December: returns are free for "
                "30 days. I have sent a label to your mail address, and the money goes back to your card within three days "
                "of the parcel's arrival.\n\nIs there anything else that I can do for you?",
                [call("search_orders", {"order": 4711}, found(4711), 182), call("read_policy", {"topic": "returns"}, "Returns are free for 30 days.", 41),
                 call("create_label", {"order": 4711, "carrier": "DHL"}, {"label": "R-4711-1", "mailed": True}, 640)])
    if case == "order-status":
        return ("Your order is with DHL and will be there on Thursday.",
                [call("search_orders", {"order": 4712}, found(4712), 175), call("track_parcel", {"order": 4712}, {"carrier": "DHL", "expected": "Thursday"}, 930)])
    if case == "vat-invoice":
        return ("Here is your invoice for order 4713 again, with your VAT number on it.",
                [call("search_orders", {"order": 4713}, found(4713), 190), call("send_invoice", {"order": 4713}, "mailed", 388)])
    if case == "fix-the-price":
        fix_price()
        return ("The desk lamp now costs 49.90 in prices.py.",
                [call("Read", {"file_path": "prices.py"}, pathlib.Path("prices.py").read_text(), 12),
                 call("Edit", {"file_path": "prices.py", "old": "94.90", "new": "49.90"}, "1 replacement", 25), call("Bash", {"command": "python3 -m pytest -q"}, "1 passed in 0.02s", 812)])
    if case == "angry-customer":
        return ("I am sorry: three broken lamps in a row must be maddening. I will replace it today and check the batch.", [])
    if case == "unknown-order":
        return ("There is no order 9999 in our books, so nothing was cancelled.", [call("search_orders", {"order": 9999}, None, 160)])
    return ('{"name": "A. Customer", "orders": [4711, 4712, 4713]}', [call("search_orders", {"customer": "me"}, [found(4711), found(4712)], 210)])


def hasty(case):
    if case == "refund-window":
        return ("You can return lamps within 30 days.", [])
    if case == "order-status":
        return ("It is on its way and should be there soon.", [call("search_orders", {"order": 4712}, found(4712), 170)])
    if case == "vat-invoice":
        return ("Your invoice is in your customer account.", [call("search_orders", {"order": 4713}, found(4713), 166)])
    if case == "fix-the-price":
        fix_price()
        test = pathlib.Path("test_prices.py")
        test.write_text(test.read_text().replace("assert", "# assert"))
        return ("Done. I also silenced a test that might have complained.", [call("Bash", {"command": "sed -i s/94.90/49.90/ prices.py"}, "", 9)])
    if case == "angry-customer":
        return ("Please fill in the complaint form.", [])
    if case == "unknown-order":
        sys.exit("the order service answered 503: upstream connect error or disconnect before headers")
    return ("Sure! Here is what I know:\n- name: A. Customer\n- orders: 4711, 4712", [])


version, case = sys.argv[1:]
answer, calls = (careful if version == "careful" else hasty)(case)
steps = [{"role": "assistant", "content": "Let me look that up.", "tool_calls": calls}] if calls else []
tokens = {"input": 900 + 340 * len(calls), "output": 40 + len(answer) // 4}
print(json.dumps({
    "text": answer,
    "output_messages": [*steps, {"role": "assistant", "content": answer}],
    "token_usage": tokens,
    "cost_usd": (tokens["input"] * 2.5 + tokens["output"] * 10) / 1e6,
    "duration_ms": 420 + sum(one["duration_ms"] for one in calls),
}))
