"""Parses and writes JSON."""

import json

import exam

text = json.dumps([{"id": i, "name": f"item {i}", "tags": ["a", "b", str(i)], "price": i / 7} for i in range(exam.size(2000))])


def work():
    return len(json.dumps(json.loads(text)))


exam.measure(work)
