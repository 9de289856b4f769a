use super::*;
use proptest::prelude::*;

fn lines_of(bytes: &[u8]) -> Vec<Cleaned> {
    lines(&decode(bytes)).collect()
}

fn texts(bytes: &[u8]) -> Vec<String> {
    lines_of(bytes).into_iter().map(|line| line.text).collect()
}

#[test]
fn line_ends_of_every_system_give_the_same_lines() {
    for text in ["a: 1\nb: 2\nc: 3", "a: 1\r\nb: 2\r\nc: 3\r\n", "a: 1\r\r\nb: 2\nc: 3\n"] {
        assert_eq!(texts(text.as_bytes()), ["a: 1", "b: 2", "c: 3"], "{text:?}");
    }
}

#[test]
fn keys_that_a_terminal_showed_are_no_text() {
    assert_eq!(texts(b"^C     3.5  cycles\n^C\n2^C\n"), ["     3.5  cycles", "", "2^C"]);
}

#[test]
fn powershell_and_notepad_files_are_read() {
    let text = "Modellname: größer 座 😀\nSockel: 2\n";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let expected = ["Modellname: größer 座 😀", "Sockel: 2"];
    assert_eq!(texts(&[&[0xff, 0xfe][..], &little].concat()), expected);
    assert_eq!(texts(&[&[0xfe, 0xff][..], &big].concat()), expected);
    assert_eq!(texts(&[&[0xef, 0xbb, 0xbf][..], text.as_bytes()].concat()), expected);
}

#[test]
fn colours_titles_and_overstrikes_go() {
    assert_eq!(
        texts(b"\x1b]0;root@host: ~\x07\x1b[01;32mroot@host\x1b[00m:~# lscpu\n"),
        ["root@host:~# lscpu"]
    );
    assert_eq!(texts(b"\x1b]8;;http://x\x1b\\2\x1b(B nodes\x1b[K\n"), ["2 nodes"]);
    assert_eq!(texts("C\u{8}CPU\u{a0}MHz:\u{3000}2400\n".as_bytes()), ["CPU MHz: 2400"]);
}

#[test]
fn of_progress_the_last_state_stays() {
    assert_eq!(texts(b"10 %\r50 %\r100 %\r\ndone\n"), ["100 %", "done"]);
    assert_eq!(texts(b"T: 0 Max: 123456\rT: 0 Max: 99\nx\n"), ["T: 0 Max: 99", "x"]);
}

#[test]
fn mail_and_markdown_around_the_output_go() {
    let lines = lines_of(
        b"> > L2 cache:  1024K\n>\tVersion: x\n```bash\n$ lscpu\n```\n| Intel | aes 1k  2k |\n|---|:-:|\n",
    );
    let seen: Vec<(&str, Kind, bool)> = lines.iter().map(|l| (l.text.as_str(), l.kind, l.in_fence)).collect();
    assert_eq!(
        seen,
        [
            ("L2 cache:  1024K", Kind::Text, false),
            ("\tVersion: x", Kind::Text, false),
            ("```bash", Kind::Frame, false),
            ("$ lscpu", Kind::Text, true),
            ("```", Kind::Frame, true),
            ("Intel  aes 1k  2k", Kind::Row, false),
            ("|---|:-:|", Kind::Ruler, false),
        ]
    );
    assert_eq!(lines[5].label.map(|length| &lines[5].text[..length]), Some("Intel"));
}

#[test]
fn html_goes_and_what_tools_print_in_brackets_stays() {
    assert_eq!(
        texts(b"<pre>CPU(s):&nbsp;&nbsp;4<br/>Socket(s): &#50;</pre>\n"),
        ["CPU(s):  4", "Socket(s): 2"]
    );
    assert_eq!(
        texts(b"<not supported> cycles &lt;not counted&gt; <OUT OF SPEC> a < b & c\n"),
        ["<not supported> cycles <not counted> <OUT OF SPEC> a < b & c"]
    );
    assert_eq!(texts(b"<font color=red>15</font> <span class=\"k\">x</span>\n"), ["15 x"]);
}

#[test]
fn binary_data_and_endless_lines_are_one_unreadable_line_each() {
    let mut text = vec![b'x'; 3 * LONGEST_LINE];
    text.extend(b"\nCPU(s): 4\n\x7fELF\x01\x00\x00\x02\n");
    let lines = lines_of(&text);
    let kinds: Vec<Kind> = lines.iter().map(|line| line.kind).collect();
    assert_eq!(kinds, [Kind::Unreadable, Kind::Text, Kind::Unreadable]);
    assert_eq!(lines[1].number, 2);
}

#[test]
fn ends_that_never_come_are_looked_for_once() {
    // A search from every position would take hours.
    let text = "\u{1b}]".repeat(LONGEST_LINE / 2 - 1) + "\nCPU(s): 4\n";
    assert_eq!(lines_of(text.as_bytes()).last().map(|line| line.text.as_str()), Some("CPU(s): 4"));
}

proptest! {
    #[test]
    fn no_bytes_panic_and_line_numbers_never_fall(bytes: Vec<u8>) {
        let lines = lines_of(&bytes);
        prop_assert!(lines.windows(2).all(|pair| pair[0].number <= pair[1].number));
    }

    #[test]
    fn no_markup_panics(text in "[<>&;#x0-9|`~ \\r\u{1b}\\[\\]a-d座\u{8}]{0,60}") {
        lines_of(text.as_bytes());
    }

    #[test]
    fn plain_ascii_lines_come_through_as_they_are(lines in proptest::collection::vec("[A-Za-z][A-Za-z0-9:. ,%()]{0,40}", 1..10)) {
        let read = texts(lines.join("\n").as_bytes());
        let expected: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
        prop_assert_eq!(read, expected);
    }
}
