"""Each checker finds what it is for, where it is put in, and nothing beside it."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import circles  # noqa: E402
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

    def test_a_sentence_as_data_is_found(self):
        found = lambda text: [literal for _, literal in sentences.literals(text)]
        self.assertEqual(found('fn f() { g("the time ended before it") }'), ['"the time ended before it"'])
        self.assertEqual(found('fn f() { g("load.latency", "/sys/devices/system/cpu", "three words only") }'), [])
        self.assertEqual(found('text!("{n} of {all} cells are missing here");'), [])
        self.assertEqual(found('impl fmt::Display for Error { fn fmt() { write!(f, "no such file is to be had") } }'), [])
        self.assertEqual(found('#[cfg(test)] mod tests { fn f() { g("the time ended before it") } }'), [])
        self.assertEqual(found('global_asm!("mov byte ptr [r14], al");'), [])
        self.assertEqual(found('const OFF: Template = Template { code: "off", words: "the time ended before it" };'), [])
        self.assertEqual(found('const RULE: Rule = Rule { glossary: "the time ended before it", name: "x" };'), [])
        self.assertEqual(found("impl Knob for K { fn glossary(&self) -> &'static str { \"the time ended before it\" } }"), [])
        self.assertEqual(found('fn f() { Remedy::command("for t in a b c do x done") }'), [])
        self.assertEqual(found('fn f() { g(glossary, "the time ended before it") }'), ['"the time ended before it"'])
        self.assertEqual(found('#[serde(doc = "four words stand in here")] struct A;'), [])


    def test_a_look_up_by_a_literal_key_is_found(self):
        found = lambda text: [what for _, what in sentences.look_ups("fn f() { " + text + " }")]
        self.assertEqual(found('m.detail.get(detail::LOOKS)?.get("all")'), ['detail.get("all")'])
        self.assertEqual(found('m.labels.named("cpu")'), ['labels.named("cpu")'])
        self.assertEqual(found('m.detail.get(detail::WORK); map.get("all"); m.labels.word(Label::Cpu)'), [])


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


if __name__ == "__main__":
    unittest.main()
