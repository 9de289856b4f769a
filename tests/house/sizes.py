"""How large the house is: lines of code without blanks, comments and tests."""

import re

import rust


def code_lines(text):
    """Lines with code on them that is no test."""
    lines = set()
    for token in rust.product_tokens(text):
        lines.update(range(token.line, token.line + token.text.count("\n") + 1))
    return len(lines)


def product():
    """Lines of code of the product: crates/*/src and reference/src, with what builds them."""
    return sum(code_lines(path.read_text()) for path in rust.sources("crates", "reference"))


# Comments of a language by a file's ending.
COMMENTS = {
    ".py": re.compile(r"^[ \t]*#[^\n]*|^[ \t]*\"\"\".*?\"\"\"", re.MULTILINE | re.DOTALL),
    ".c": re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL),
}
COMMENTS[".h"] = COMMENTS[".S"] = COMMENTS[".c"]


def code_below(folder):
    """Lines of code below a folder beside the product, in any language that is used there, without tests."""
    count = sum(code_lines(path.read_text()) for path in rust.sources(folder))
    for path in sorted((rust.ROOT / folder).rglob("*")):
        comments = COMMENTS.get(path.suffix)
        if comments and "tests" not in path.parts and "target" not in path.parts:
            count += sum(bool(line.strip()) for line in comments.sub("", path.read_text()).splitlines())
    return count


def command_line():
    """All lines of the command line's crate."""
    return sum(len(path.read_text().splitlines()) for path in rust.sources("crates/linespeed/src"))


def long_files(most):
    """(file, lines) of every file of the product that is longer, its tests included."""
    for path in rust.sources("crates", "lab", "reference"):
        lines = len(path.read_text().splitlines())
        if lines > most:
            yield path, lines
