"""How large the house is: lines of code without blanks, comments and tests."""

import rust


def code_lines(text):
    """Lines with code on them that is no test."""
    lines = set()
    for token in rust.product_tokens(text):
        lines.update(range(token.line, token.line + token.text.count("\n") + 1))
    return len(lines)


def all_code():
    """Lines of code of the whole product."""
    return sum(code_lines(path.read_text()) for path in rust.sources("crates", "lab", "reference"))


def command_line():
    """All lines of the command line's crate."""
    return sum(len(path.read_text().splitlines()) for path in rust.sources("crates/linespeed/src"))


def long_files(most):
    """(file, lines) of every file of the product that is longer, its tests included."""
    for path in rust.sources("crates", "lab", "reference"):
        lines = len(path.read_text().splitlines())
        if lines > most:
            yield path, lines
