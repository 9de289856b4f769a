"""Code that decides by the words of a text, and look-ups by a literal key."""

import re

import rust

# Asked of a text, these decide by its words.
QUESTIONS = ("starts_with", "contains", "ends_with", "strip_prefix", "strip_suffix", "split_once", "rsplit_once", "find")
# What holds a sentence, by its name.
SENTENCES = ("reason", "doubt", "why", "remedy", "error", "says", "said", "told", "what", "message", "sentence", "meaning", "label")
# Texts of other programs are read by their words, there and nowhere else.
READS_TEXTS = ("import",)
# What holds details and labels, which have typed keys; and how a key is looked up in them.
KEYED = ("detail", "details", "labels", "looks", "around", "ceilings")
LOOK_UPS = ("get", "named", "number_named", "has_name", "contains_key")
WORD = re.compile(r"""["(]?[A-Za-z][A-Za-z'’-]*[.,:;!?)"]*$""")


def receiver(all_tokens, dot):
    """The names before the dot at `dot`, back to where the expression begins."""
    names, index = [], dot - 1
    while index >= 0:
        token = all_tokens[index]
        if token.text in (")", "]"):
            depth = 0
            while index >= 0:
                depth += (all_tokens[index].text in (")", "]")) - (all_tokens[index].text in ("(", "["))
                if depth == 0:
                    break
                index -= 1
            index -= 1
        elif token.kind == "word":
            names.append(token.text)
            index -= 1
        elif token.text in (".", "?", "::", "&", "*"):
            index -= 1
        else:
            break
    return names


def words(literal):
    """How many words of a language stand in a literal; paths, names with dots and figures are none."""
    return sum(bool(WORD.match(word)) for word in literal.split())


def is_sentence(literal):
    """Whether a literal is words, and not a name or a path."""
    return words(literal) >= 2


def decisions(text):
    """(line, what) of every decision by the words of a sentence."""
    found = rust.product_tokens(text)
    for index, token in enumerate(found):
        if token.text in QUESTIONS and 0 < index < len(found) - 2 and found[index - 1].text == "." and found[index + 1].text == "(":
            argument = found[index + 2]
            holder = [name for name in receiver(found, index - 1) if name in SENTENCES]
            spoken = argument.kind == "string" and is_sentence(argument.text)
            if spoken or (holder and argument.kind in ("string", "word") and argument.text not in ("char", "|")):
                yield token.line, f"{'.'.join(reversed(holder)) or '…'}.{token.text}({argument.text})"
        elif token.text in ("==", "!=") and 0 < index < len(found) - 1:
            after, before = found[index + 1], found[index - 1]
            holder = [name for name in receiver(found, index) if name in SENTENCES]
            for literal in (after, before):
                if literal.kind == "string" and (is_sentence(literal.text) or (literal is after and holder and len(literal.text) > 2)):
                    yield token.line, f"{'.'.join(reversed(holder)) or '…'} {token.text} {literal.text}"


def look_ups(text):
    """(line, what) of every look-up in details or labels by a literal key."""
    found = rust.product_tokens(text)
    for index, token in enumerate(found):
        if token.text in LOOK_UPS and 0 < index < len(found) - 2 and found[index - 1].text == "." and found[index + 1].text == "(":
            holder = [name for name in receiver(found, index - 1) if name in KEYED]
            if holder and found[index + 2].kind == "string":
                yield token.line, f"{'.'.join(reversed(holder))}.{token.text}({found[index + 2].text})"


def all_look_ups():
    """(file, line, what) outside of what reads and writes records."""
    for path in rust.sources("crates", "lab"):
        if path.relative_to(rust.ROOT).parts[1] != "record":
            yield from ((path, line, what) for line, what in look_ups(path.read_text()))


def all_decisions():
    """(file, line, what) of the whole product."""
    for path in rust.sources("crates", "lab"):
        crate = path.relative_to(rust.ROOT).parts[1]
        if crate not in READS_TEXTS:
            yield from ((path, line, what) for line, what in decisions(path.read_text()))
