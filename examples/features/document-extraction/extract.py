"""A stand-in for a model that reads invoices. It takes the first amount for the price and forgets the tax."""
import json
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
number = re.search(r"Invoice (\S+)", text)
if not number:
    print("I am afraid that this is no invoice.")
    sys.exit()
price = float(re.search(r"lamps? +([\d.]+)", text).group(1))
total = float(re.search(r"Total +([\d.]+)", text).group(1))
print(json.dumps({
    "number": number.group(1),
    "issued": re.search(r"\d\d\.\d\d\.\d{4}", text).group(0),
    "supplier": {"name": text.split("  ")[0]},
    "total": total if price < 150 else price,
    "lines": [{"price": price}],
}))
