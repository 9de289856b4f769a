"""Words and forms that linespeed does not use, in what people read: sentences of the product, comments of public items, documents."""

import ast
import re
import tomllib

import rust
import sentences

# What "a" stands before where "per" is meant.
UNITS = (
    "second|minute|hour|day|week|month|year|line|row|column|record|interval|CPU|core|node|machine|host|file|folder|turn|round|run|figure|result|metric|"
    "family|loop|load|iteration|process|thread|package|socket|sample|byte|page|tool|command|class|rule|job|crate|task|series|measurement|"
    "workload|finding|cause|document|kind|field|word|table|step|guest|layer|message|cycle|element|entry|level|change|claim|event|read|call"
)
# What is counted per unit; of what may be a verb, only behind a number.
COUNTED = (
    "one|two|three|four|five|ten|bytes|lines|samples|requests|operations|wake-ups|interrupts|faults|messages|cycles|instructions|"
    "misses|pages|packets|points|seconds|milliseconds|ns|µs|ms|MB|GB|KB|MiB|GiB|KiB|portions|rounds|"
    "timers|objects|figures|results|rows|hashes|signatures|iterations|threads|transfers|accesses|migrations|ticks"
)
NUMBER = r"(?:\d[\d.,]*|\{\}|several|many|few|fewer|more|most) "
ENDS = r"(?=[.,;:)?!\]]|\s*$|\s+(?:and|or|in|on|at|for|by|from|to|is|are|with|where|when|than|while|against|beside|each|as|\(|\d))"
WORD = r"(?!(?:on|in|of|at|for|by|to|with|from|is|as|into|than|per|and|or|not|but|if|was|has|like)\b)[\w-]+"
GIVES = r"(?<!give )(?<!gives )(?<!gave )(?<!given )(?<!call )(?<!calls )(?<!called )(?<!make )(?<!makes )(?<!show )(?<!shows )(?<!such )"
PARTICIPLES = (
    r"(?!\w*(?:speed|indeed|need)\b)\w+ed|kept|held|set|given|known|taken|found|made|put|read|run|shown|seen|left|said|told|written|built|"
    r"drawn|thrown|bound|spent|sent|lost|sold|meant|broken|chosen|hidden|driven|stolen|cut|split|paid|begun|worn|done|torn|counted"
)
# What shows and does not speak.
RESULTS = (
    "figures?|results?|records?|measurements?|counters?|samples?|reports?|findings?|curves?|tables?|metrics?|watch(?:es)?|levels?|values?|"
    "numbers?|intervals?|ratios?|looks?|traces?|readings?|doubts?|counts?|columns?|rows?|verdicts?|clocks?|probes?|distances?"
)
DOCUMENTS = r"(?<!document )(?<!documents )(?<!article )(?<!paper )(?<!author )(?<!authors )(?<!vendor )(?<!manual )(?<!documentation )(?<!who )(?<!people )(?<!somebody )"


def rule(pattern):
    return re.compile(pattern, re.IGNORECASE)


# {what to write instead: what is found}
RULES = {
    "compare, not hold against": rule(r"\b(?:hold|holds|held|holding)\b[^.;:!?]{0,60}?\bagainst\b"),
    "alternately, not in turn": rule(r"(?<!which )(?<!this )\bin turns?\b"),
    "per, not a": rule(
        rf"{GIVES}\b(?:an?|one) {WORD} an? (?:{UNITS})\b{ENDS}|{NUMBER}\w+s an? (?:{UNITS})\b{ENDS}"
        rf"|(?:\b(?:{COUNTED})|%|\{{\}}|(?<!; )\b\d[\d.,]*) an? (?:{UNITS})\b{ENDS}"
    ),
    "also, not trailing too": rule(
        r",\s+too(?=[.,;:)!?\"'’]|\s*$|\s+(?:and|or|by|in|for|if|where|when|as|with|to|of|from|on|at|but|since|without)\b)"
    ),
    "an adjective, not that is": rule(rf"(?<!so )(?<!is )(?<!, )\bthat (?:is|are|was|were) (?:not |still |also |only |now |never )?(?:{PARTICIPLES})\b"),
    "fix, not mend": rule(r"\bmend(?:s|ed|ing)?\b"),
    "separate, not part": rule(
        r"\b(?:to|can|cannot|could|may|must|will|would|it|they|word) part\b(?! of\b| (?:and|is|numbers?)\b)"
        r"|\bparts (?:them|commands|words|it|two)\b|\bpart(?:ed|ing)\b"
    ),
    "disable or refuse, not deny": rule(r"(?<!permission )\b(?:deny|denies|denied|denying)\b(?!\.toml|\()"),
    "expensive, not dear": rule(r"\bdear(?:er|est)?\b"),
    "related, not kin": rule(r"\bkin\b|\b(?:its|their|your) like\b"),
    "write or print, not hand out": rule(r"\bhand(?:s|ed|ing)? (?:\w+ ){0,2}out\b"),
    "result, not figure": rule(r"(?<!significant )(?<!published )\bfigures?\b(?! \d| out\b)"),
    "recording, not watch": rule(r"\b(?:an?|the|this|that|two|each|its|one|of|kept|every|whole|same|both) watch(?:es)?\b(?! (?:is|it|over)\b)|\bwatches\b(?= (?:of|are|is|by|with|that)\b)"),
    "overhead, not what takes": rule(r"\bwhat\b(?: (?!how\b|long\b)[^.;:?! ]+){0,9} takes?\b"),
    "show, not say": rule(
        rf"{DOCUMENTS}\b(?:says|tells|hears)\b|\b(?:told|heard)\b|\b(?:{RESULTS}) (?:\w+ )?(?:say|tell|hear|sees?|saw|said)\b|\b(?:is|are|was|were|be|been|not|all|what) said\b"
    ),
    "no stranded of those": rule(r"(?:^|[.;:(] ?)of (?:those|these|what|several|them|whom)\b"),
    "this long, not so long": rule(r"\bso long\b(?! as\b)"),
}

# Nobody reads these as English.
CODE = re.compile(r"`[^`]*`|\]\([^)]*\)|<https?:[^>]*>|https?://\S+|<!--.*?-->")
# A place of a template, whose name is no word of the sentence.
PLACE = re.compile(r"\{\w*(?::[^}]*)?\}")
OUTPUT = re.compile(r"^\s*(?:```|~~~)")


def found(blocks):
    """(line, instead, the line's text) of what stands in blocks of (line, text) pairs, each a paragraph or a sentence."""
    for block in blocks:
        text, starts = "", []
        for line, part in block:
            starts.append((len(text), line, part))
            # A name in code counts as a word.
            text += PLACE.sub("{}", CODE.sub("`", part.strip())) + " "
        for instead, pattern in RULES.items():
            for match in pattern.finditer(text):
                _, line, part = max(start for start in starts if start[0] <= match.start())
                yield line, match.group().strip(), instead, part.strip()


def paragraphs(lines):
    """Blocks of Markdown, code and front matter apart. (line, text) pairs in, blocks out."""
    block, fenced = [], False
    for line, text in lines:
        if OUTPUT.match(text):
            fenced = not fenced
            text = ""
        # An entry's name and its other names are none of ours.
        if fenced or not text.strip() or re.match(r"### |Also: ", text) or text.startswith("    ") and not block:
            if block:
                yield block
            block = []
            continue
        if re.match(r"\s*(?:[-*#|>]|\d+\.) ?", text) and block:
            yield block
            block = []
        block.append((line, text))
    if block:
        yield block


# What a comment is about, as the line below it begins: a public item, or a variant of an enumeration.
PUBLIC = re.compile(r"\s*(?:pub (?!\()|[A-Z]\w*\s*(?:[,({]|$))|\s*/\*")
COMMENT = re.compile(r"\s*//([/!])(?!/) ?(.*)")


def comments(text):
    """Blocks of the comments of public items of a Rust source, and of its modules; tests apart."""
    lines = text.split("\n")
    ends = next((at for at, line in enumerate(lines) if line.startswith("#[cfg(test)]")), len(lines))
    block = []
    for at, line in enumerate(lines[:ends]):
        match = COMMENT.match(line)
        if match:
            if block and block[-1][2] != match[1]:
                yield from paragraphs((number, words) for number, words, _ in block)
                block = []
            block.append((at + 1, match[2], match[1]))
        elif block and not re.match(r"\s*(?:#\[|\)\]|[a-z_]+ = )", line):
            if block[0][2] == "!" or PUBLIC.match(line):
                yield from paragraphs((number, words) for number, words, _ in block)
            block = []


def strings(text):
    """Blocks of the sentences among a Rust source's strings, tests apart."""
    for token in rust.product_tokens(text):
        if token.kind == "string" and sentences.is_sentence(token.text):
            yield [(token.line + at, part.rstrip("\\")) for at, part in enumerate(token.text.strip('"').split("\n"))]


def values(text):
    """Blocks of the sentences in a TOML file: strings of at least four words."""
    def walk(value):
        if isinstance(value, str):
            if sentences.words(value) >= 4:
                yield value
        elif isinstance(value, (dict, list)):
            for each in value.values() if isinstance(value, dict) else value:
                yield from walk(each)
    at = 0
    for value in walk(tomllib.loads(text)):
        first = value.strip().split("\n")[0][:40]
        where = text.find(first, at)
        at = where if where >= 0 else at
        line = text.count("\n", 0, max(at, 0)) + 1
        yield [(line + number, part) for number, part in enumerate(value.strip().split("\n"))]


def docstrings(text):
    """Blocks of the docstrings of a Python module, unless a program wrote it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (words := ast.get_docstring(node, clean=False)):
            if "Written by" in words:
                return
            yield from paragraphs(list(enumerate(words.split("\n"), node.body[0].lineno)))


def files(root):
    """(file, its blocks) of everything that people read in a tree."""
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if not path.is_file() or {"target", ".git", "tests", "fuzz", "examples", "node_modules", "lab", "kmod", "bench"} & set(parts[:-1]):
            continue
        name = "/".join(parts)
        if path.suffix == ".rs" and not rust.is_test_file(path):
            text = path.read_text()
            yield path, [*strings(text), *comments(text)]
        elif path.suffix == ".md" and name != "docs/glossary.md":
            # The glossary is made of those beside the code.
            yield path, paragraphs(list(enumerate(path.read_text().split("\n"), 1)))
        elif path.suffix == ".py" and parts[:2] == ("python", "linespeed"):
            yield path, docstrings(path.read_text())
        elif path.suffix == ".toml" and parts[0] == "crates" and path.name != "Cargo.toml":
            yield path, values(path.read_text())


def crate(path, root):
    """What a file's count goes to: its crate or folder."""
    parts = path.relative_to(root).parts
    return "/".join(parts[:2]) if parts[0] == "crates" else parts[0]


def places(root):
    """(file, line, words, instead, text) of everything found in a tree."""
    for path, blocks in files(root):
        for line, words, instead, text in found(blocks):
            yield path, line, words, instead, text
