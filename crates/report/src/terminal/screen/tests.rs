use super::*;
use crate::terminal::Style;

fn screen(width: usize) -> Screen {
    Screen::new(&Style { width, color: false, ..Style::default() })
}

#[test]
fn figures_align_on_the_right_and_words_wrap() {
    let mut table = Table::new("T", None, ["#n", "words"]);
    table.row(vec!["5 ns".to_owned(), "some words that are too long for it".to_owned()]);
    table.row(vec!["10 ns".to_owned(), "short".to_owned()]);
    let mut screen = screen(30);
    screen.table(&table, 0);
    assert_eq!(
        screen.finish(),
        "    n  words\n 5 ns  some words that are too\n       long for it\n10 ns  short\n"
    );
}

#[test]
fn a_table_of_too_many_figures_is_written_row_by_row() {
    let mut table = Table::new("T", None, ["#a", "#b", "#c"]);
    table.row(["1.23 GB/s", "2.34 GB/s", "3.45 GB/s"].map(str::to_owned).to_vec());
    let mut screen = screen(24);
    screen.table(&table, 0);
    assert_eq!(screen.finish(), "- a 1.23 GB/s; b\n  2.34 GB/s; c 3.45 GB/s\n");
}

#[test]
fn headings_are_wrapped_before_a_table_is_written_row_by_row() {
    let mut table = Table::new("T", None, ["#bytes by hand", "#bus bytes", "?words"]);
    table.row(["1.23 GB/s", "2.34 GB/s", "no more than said"].map(str::to_owned).to_vec());
    let mut screen = screen(22);
    screen.table(&table, 0);
    assert_eq!(screen.finish(), " bytes by  bus bytes\n     hand\n1.23 GB/s  2.34 GB/s\n");
}

#[test]
fn a_column_that_would_make_many_lines_of_a_row_is_left_out_where_it_may() {
    let mut table = Table::new("T", None, ["#n", "?words"]);
    table.row(vec!["5 ns".to_owned(), "some words that are much too long for it".to_owned()]);
    let mut screen = screen(22);
    screen.table(&table, 0);
    assert_eq!(screen.finish(), "   n\n5 ns\n");
}

#[test]
fn what_is_cut_to_a_screen_says_so_at_its_end_and_in_no_line_of_its_own() {
    for (color, columns) in [(false, 40), (true, 40), (true, 22)] {
        let mut screen = Screen::new(&Style { width: columns, color, ..Style::default() });
        screen.clipped(3, |screen| {
            screen.line(&[Span::strong("one")]);
            screen.line(&[Span::strong("two words of a line")]);
            screen.blank();
            screen.line(&[Span::strong("three")]);
        });
        let text = crate::paint::without_colour(&screen.finish());
        let end = if columns == 40 { " words of a line …" } else { " …" };
        assert_eq!(text, format!("one\ntwo{end} 1 more line\n"));
    }
    let mut screen = screen(20);
    screen.clipped(1, |screen| {
        screen.line(&[Span::plain("two words of a line")]);
        screen.line(&[Span::plain("three")]);
    });
    assert_eq!(screen.finish(), "two … 1 more line\n");
}

#[test]
fn an_interval_of_two_signs_moves_no_column_and_no_edge() {
    let mut table = Table::new("T", None, ["#figure", "words"]);
    table.row(["43.0 GB/s ±2.1 %", "first"].map(str::to_owned).to_vec());
    table.row(["5 GB/s", "second"].map(str::to_owned).to_vec());
    let mut screen = Screen::new(&Style { width: 26, ascii: true, ..Style::default() });
    screen.table(&table, 0);
    screen.paragraph(&[], Tone::Plain, "words of a line then ±2.1 %");
    let text = screen.finish();
    assert!(text.contains("43.0 GB/s +-2.1 %  first\n           5 GB/s  second\n"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 26), "{text}");
}

#[test]
fn a_wrapped_command_still_is_one_command() {
    let mut screen = screen(24);
    screen.command(&[Span::plain("  ")], "echo madvise > /sys/kernel/mm/x");
    assert_eq!(screen.finish(), "  echo madvise > \\\n  /sys/kernel/mm/x\n");
}

#[test]
fn root_needs_no_sudo() {
    let mut screen = Screen::new(&crate::terminal::Style { root: true, ..Default::default() });
    screen.command(&[Span::plain("$ ")], "echo 1 | sudo tee /sys/x; sudo sysctl a=1");
    assert_eq!(screen.finish(), "$ echo 1 | tee /sys/x; sysctl a=1\n");
}

#[test]
fn a_word_broken_in_a_command_is_one_word_to_the_shell() {
    let mut screen = screen(20);
    screen.command(&[Span::plain("   ")], "echo a > /sys/kernel/mm/transparent_hugepage/enabled");
    let text = screen.finish();
    assert!(text.lines().all(|line| width(line) <= 20), "{text}");
    // The shell removes a backslash at the end of a line together with the line end.
    let joined = text.replace("\\\n", "");
    let words: Vec<&str> = joined.split_whitespace().collect();
    assert_eq!(words, ["echo", "a", ">", "/sys/kernel/mm/transparent_hugepage/enabled"]);
}
