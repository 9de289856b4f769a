"""Each checker finds what it is for, where it is put in, and nothing beside it."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import circles  # noqa: E402
import language  # noqa: E402
import ratchet  # noqa: E402
import rust  # noqa: E402
import sentences  # noqa: E402
import sizes  # noqa: E402


class Tokens(unittest.TestCase):
    def test_texts_comments_and_lifetimes_are_told_apart(self):
        text = 'fn f<\'a>(x: &\'a str) -> char { /* "no" */ r#"a "b" c"#; \'"\' } // "nor this"'
        kinds = [(token.kind, token.text) for token in rust.tokens(text) if token.kind in ("string", "char", "lifetime")]
        self.assertEqual(kinds, [("lifetime", "'a"), ("lifetime", "'a"), ("string", 'r#"a "b" c"#'), ("char", "'\"'")])

    def test_tests_are_no_product(self):
        text = 'fn a() {}\n#[cfg(test)]\nmod tests { fn b() { "x" } }\n#[test]\nfn c() {}\nfn d() {}'
        words = [token.text for token in rust.product_tokens(text) if token.kind == "word"]
        self.assertEqual(words, ["fn", "a", "fn", "d"])
        self.assertEqual(sizes.code_lines(text + "\n\n// comment\n"), 2)


class Sentences(unittest.TestCase):
    def found(self, text):
        return [what for _, what in sentences.decisions("fn f() { " + text + " }")]

    def test_a_decision_by_words_is_found(self):
        for text in (
            'if why.starts_with("idle states cannot be held off") {}',
            'entry.reason.as_deref().is_some_and(|r| r.contains("time ended"))',
            'if error.to_string().contains("--restore") {}',
            'row.what.contains("efficiency")',
            'let x = doubt.split_once(":");',
            'if line.reason == BUSY || text == "no figure here" {}',
            'why.strip_prefix(PREFIX)',
        ):
            self.assertEqual(len(self.found(text)), 1, text)

    def test_names_and_paths_are_no_sentences(self):
        for text in ('path.starts_with("/sys")', 'name == "cpu0"', 'flags.contains("avx2")', 'line.split_once(\':\')', 'set.contains(&what)'):
            self.assertEqual(self.found(text), [], text)

    def test_a_look_up_by_a_literal_key_is_found(self):
        found = lambda text: [what for _, what in sentences.look_ups("fn f() { " + text + " }")]
        self.assertEqual(found('m.detail.get(detail::LOOKS)?.get("all")'), ['detail.get("all")'])
        self.assertEqual(found('m.labels.named("cpu")'), ['labels.named("cpu")'])
        self.assertEqual(found('m.detail.get(detail::WORK); map.get("all"); m.labels.word(Label::Cpu)'), [])


class Language(unittest.TestCase):
    # What each rule is for, and what looks like it.
    SENTENCES = {
        "compare, not hold against": (["Machines are held against a baseline.", "Hold these against each other instead"],
                                      ["It holds the lock. Nothing speaks against it."]),
        "alternately, not in turn": (["Both are run in turn.", "the layers, in turns"], ["This delays the thread, which in turn misses its deadline."]),
        "per, not a": (["one a line", "12 bytes a second", "CSV has a row a record and a column a figure.", "{count} switches a second", "83 % a core"],
                       ["It takes a second.", "It writes a record.", "Give a machine a name.", "one on a machine", "It shows how many misses a core keeps.",
                        "once a second", "Exit codes: 0 done; 1 a finding at or above it"]),
        "also, not trailing too": (["Count failed runs, too", "It reads, too, what others wrote."], ["too noisy, too few samples", "This is too long."]),
        "an adjective, not that is": (["the records that are kept", "a finding that was measured"],
                                      ["results, so that is measured", "a bound that is too low", "The record, that is built last", "a way that is linespeed's"]),
        "fix, not mend": (["what mends it"], ["recommended"]),
        "separate, not part": (["Only ::: parts commands.", "options parted by commas"], ["a part of it", "to part of the machine", "parts of a core"]),
        "disable or refuse, not deny": (["where the kernel denies it"], ["open: permission denied"]),
        "expensive, not dear": (["what is dear is done seldom"], ["dearth"]),
        "related, not kin": (["no_turbo and its kin", "beside their like"], ["It looks like that.", "kind"]),
        "write or print, not hand out": (["where a result is handed out"], ["by hand", "on the other hand, it went out"]),
        "result, not figure": (["the figure of one core"], ["three significant figures", "Figure 3 of the article", "to figure out why"]),
        "recording, not watch": (["It keeps the watch."], ["Watch this machine at work", "to watch threads"]),
        "overhead, not what takes": (["what binding and interrupts take of a CPU"], ["It takes 3 s.", "what works and how long it takes"]),
        "show, not say": (["The record says where.", "which cannot be told apart", "results tell more", "nothing is said"],
                          ["The document says 3 GB/s.", "See linespeed list."]),
        "no stranded of those": (["under sudo; of those root takes none", "Of several records the newest counts."], ["one of those that failed"]),
        "this long, not so long": (["Watch so long"], ["for so long as it runs"]),
    }

    def test_each_rule_finds_its_kind_and_no_other(self):
        self.assertEqual(self.SENTENCES.keys(), language.RULES.keys())
        for instead, (wrong, right) in self.SENTENCES.items():
            for text in wrong + right:
                found = {what for _, _, what, _ in language.found([[(1, text)]])}
                self.assertEqual(instead in found, text in wrong, f"{instead}: {text}")

    def test_what_people_read_is_looked_at_and_nothing_else(self):
        source = """/// It mends a file,
/// and parts commands.
pub fn f() { text!("{mends} what is {dear} here", dear); let path = "dear/mend"; }
/// It mends.
fn g() {}
#[cfg(test)] mod tests { /// It mends.
pub fn h() { "it mends all" } }"""
        found = [line for line, *_ in language.found([*language.strings(source), *language.comments(source)])]
        self.assertEqual(found, [1, 2])
        module = 'def f():\n    """It mends."""\n    return "dear"\n'
        self.assertEqual([line for line, *_ in language.found(language.docstrings(module))], [2])
        document = list(enumerate(["It is held", "against `mend`.", "", "```", "It mends.", "```", "- dear"], 1))
        self.assertEqual([line for line, *_ in language.found(language.paragraphs(document))], [1, 7])


class Circles(unittest.TestCase):
    def groups(self, **files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, "src", name.replace("__", "/") + ".rs")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            # Outside the tree no path counts as one of tests.
            kept, rust.ROOT = rust.ROOT, pathlib.Path(folder)
            try:
                return circles.circles(pathlib.Path(folder, "src"))
            finally:
                rust.ROOT = kept

    def test_two_files_that_need_each_other_are_found(self):
        found = self.groups(lib="mod a; mod b;", a="use crate::b::B;", b="fn f() { crate::a::g() }")
        self.assertEqual(found, [[("a",), ("b",)]])

    def test_a_longer_way_round_through_super_and_braces_is_found(self):
        found = self.groups(lib="", a="use crate::{b::{self, X}, d};", b="use super::c;", c="use crate::a;", d="")
        self.assertEqual(found, [[("a",), ("b",), ("c",)]])

    def test_parents_children_and_tests_make_none(self):
        found = self.groups(lib="", a="mod x; use x::X;", a__x="use super::A; use crate::b::B;",
                            b="#[cfg(test)] mod tests { use crate::a::A; }")
        self.assertEqual(found, [])


class Ratchet(unittest.TestCase):
    PAST = [
        {"most": {"code": 102838, "circles": 0}},
        {"most": {"code": 82000, "circles": 0}, "allowance": {"shape": 2000}},
        {"most": {"code": 83000, "circles": 0}, "allowance": {"shape": 2000}, "added": {"shape": 1000}},
        {"most": {"code": 82500, "circles": 0}, "allowance": {"shape": 2000}, "added": {"shape": 1000}},
    ]

    def wrong(self, code, added=0, allowance=2000, circles=0):
        now = {"most": {"code": code, "circles": circles}, "allowance": {"shape": allowance}, "added": {"shape": added}}
        return len(ratchet.raised(now, self.PAST))

    def test_a_limit_above_its_lowest_is_found(self):
        self.assertEqual([self.wrong(82500, 1000), self.wrong(81500), self.wrong(80000)], [0, 0, 0])
        self.assertEqual([self.wrong(82501, 1000), self.wrong(81501), self.wrong(81500, circles=1)], [1, 1, 1])

    def test_a_feature_adds_its_allowance_and_no_more(self):
        self.assertEqual([self.wrong(83500, 2000), self.wrong(83501, 2001), self.wrong(83501, 2000)], [0, 1, 1])
        self.assertEqual(self.wrong(81500, allowance=2001), 1)
        new = {"most": {"code": 81600}, "allowance": {"shape": 2000, "new": 100}, "added": {"new": 100}}
        self.assertEqual(len(ratchet.raised(new, self.PAST)), 2)

    def test_the_first_limits_with_allowances_begin_it(self):
        now = {"most": {"code": 90000}, "allowance": {"shape": 2000}}
        self.assertEqual(ratchet.raised(now, self.PAST[:1]), [])


if __name__ == "__main__":
    unittest.main()
