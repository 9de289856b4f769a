"""Rust sources as tokens: just enough to tell code from comments, texts and tests."""

import functools
import pathlib
import re
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]

TOKEN = re.compile(
    r"""
    (?P<blank>\s+)
  | (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<raw>b?r(?P<hashes>\#*)".*?"(?P=hashes))
  | (?P<string>[bc]?"(?:[^"\\]|\\.)*")
  | (?P<char>b?'(?:[^'\\\n]|\\(?:u\{[^}]*\}|x..|.))')
  | (?P<lifetime>'[A-Za-z_]\w*)
  | (?P<word>(?:r\#)?[A-Za-z_]\w*)
  | (?P<number>\d[\w.]*)
  | (?P<mark>::|==|!=|=>|->|.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A token: its kind (string, char, lifetime, word, number, mark), its text, its line."""

    kind: str
    text: str
    line: int


@functools.cache
def tokens(text):
    """The tokens of a source, without blanks and comments."""
    found, line = [], 1
    for match in TOKEN.finditer(text):
        kind = "string" if match.lastgroup == "hashes" or match.group("raw") else match.lastgroup
        if kind not in ("blank", "comment"):
            found.append(Token(kind, match.group(), line))
        line += match.group().count("\n")
    return found


def closing(all_tokens, start):
    """The index of what closes the bracket at `start`."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    depth = 0
    for index in range(start, len(all_tokens)):
        token = all_tokens[index]
        if token.kind == "mark":
            if token.text in pairs:
                depth += 1
            elif token.text in pairs.values():
                depth -= 1
                if depth == 0:
                    return index
    return len(all_tokens) - 1


def attributes(all_tokens):
    """(first, last) of each attribute."""
    index = 0
    while index + 1 < len(all_tokens):
        if all_tokens[index].text == "#":
            bracket = index + 1 + (all_tokens[index + 1].text == "!")
            if bracket < len(all_tokens) and all_tokens[bracket].text == "[":
                last = closing(all_tokens, bracket)
                yield index, last
                index = last
        index += 1


def test_spans(all_tokens):
    """(first, last) of each item that is compiled for tests alone."""
    for first, last in attributes(all_tokens):
        words = [token.text for token in all_tokens[first:last + 1]]
        if words not in (["#", "[", "cfg", "(", "test", ")", "]"], ["#", "[", "test", "]"]):
            continue
        index = last + 1
        while index < len(all_tokens) and all_tokens[index].text not in ("{", ";"):
            index = closing(all_tokens, index) + 1 if all_tokens[index].text in "([" else index + 1
        yield first, closing(all_tokens, index) if index < len(all_tokens) and all_tokens[index].text == "{" else index


def without_spans(all_tokens, spans):
    """The tokens that lie in none of the spans."""
    left_out = set()
    for first, last in spans:
        left_out.update(range(first, last + 1))
    return [token for index, token in enumerate(all_tokens) if index not in left_out]


@functools.cache
def product_tokens(text):
    """The tokens of a source without its tests."""
    found = tokens(text)
    return without_spans(found, list(test_spans(found)))


TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\([a-z]+\))?\s+)?mod\s+(\w+)\s*;")


@functools.cache
def test_modules(folder):
    """Names of the modules in files of their own that this folder's sources declare for tests alone."""
    return {name for path in folder.glob("*.rs") for name in TEST_MODULE.findall(path.read_text())}


def is_test_file(path):
    """Whether a file holds tests alone."""
    parts = path.relative_to(ROOT).parts if path.is_absolute() else path.parts
    name = path.stem
    if "tests" in parts or name in ("tests", "samples", "testing") or name.endswith("_tests"):
        return True
    # A module within a test module is one, too.
    return path.is_absolute() and (name in test_modules(path.parent) or path.parent.name in test_modules(path.parent.parent))


def sources(*folders):
    """Every Rust file of the product below these folders, tests, examples and build output apart."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.rs")):
            parts = path.relative_to(ROOT).parts
            if "target" not in parts and "examples" not in parts and not is_test_file(path):
                yield path
