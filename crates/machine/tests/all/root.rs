//! Tests reading below a directory: nothing in a captured tree may lead out of it, block, or be unbounded.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use machine::{Root, Why};
use proptest::prelude::*;

/// A tree with these files, and links written with `->`.
fn tree(entries: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("sys")).unwrap();
    for (path, text) in entries {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match text.strip_prefix("-> ") {
            Some(target) => symlink(target, path).unwrap(),
            None => fs::write(path, text).unwrap(),
        }
    }
    folder
}

fn why(folder: &Path, path: &str) -> Why {
    Root::captured(folder).unwrap().try_text(path).unwrap_err().why
}

#[test]
fn a_wrong_root_is_named_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for (path, way_out) in [
        (folder.path().join("nothing"), "no such directory; specify the directory"),
        (file, "not a directory; unpack the capture"),
        (folder.path().to_owned(), "contains neither sys nor proc; specify the directory"),
    ] {
        let message = Root::captured(&path).unwrap_err().to_string();
        assert!(message.starts_with(path.to_str().unwrap()) && message.contains(way_out), "{message}");
        assert_eq!(message.lines().count(), 1);
    }
}

#[test]
fn the_folder_that_an_archive_unpacks_to_is_found() {
    let folder = tree(&[("captured/sys/a", "1"), ("captured/proc/b", "2")]);
    fs::remove_dir(folder.path().join("sys")).unwrap();
    let root = Root::captured(folder.path()).unwrap();
    assert_eq!((root.text("/sys/a").as_deref(), root.text("proc/b").as_deref()), (Some("1"), Some("2")));
    // Two directories are ambiguous.
    fs::create_dir(folder.path().join("other")).unwrap();
    assert!(Root::captured(folder.path()).is_err());
}

#[test]
fn no_link_leads_out() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    let secret = secret.to_str().unwrap();
    let up = format!("{}{secret}", "../".repeat(40));
    let folder = tree(&[
        ("sys/absolute", &format!("-> {secret}")),
        ("sys/relative", &format!("-> {up}")),
        ("sys/folder", &format!("-> {}", outside.path().display())),
        ("sys/self", "-> /proc/self/status"),
    ]);
    for path in
        ["sys/absolute", "sys/relative", "sys/folder/secret", "sys/self", &format!("sys/../../{secret}")]
    {
        assert_eq!(why(folder.path(), path), Why::Missing, "{path}");
        assert!(!Root::captured(folder.path()).unwrap().exists(path), "{path}");
    }
    assert!(Root::captured(folder.path()).unwrap().list("sys/folder").is_empty());
}

#[test]
fn links_inside_are_followed_as_on_the_machine() {
    let folder = tree(&[
        ("sys/real/file", "here"),
        ("sys/absolute", "-> /sys/real/file"),
        ("sys/relative", "-> ../sys/./real/../real/file"),
        ("sys/above", "-> ../../../sys/real/file"),
        ("sys/folder", "-> real"),
        ("sys/chain", "-> folder/file"),
        ("sys/real/self", "-> ."),
    ]);
    let root = Root::captured(folder.path()).unwrap();
    for path in [
        "sys/absolute",
        "sys/relative",
        "sys/above",
        "sys/folder/file",
        "sys/chain",
        "sys/real/self/self/file",
    ] {
        assert_eq!(root.text(path).as_deref(), Some("here"), "{path}");
    }
    assert_eq!(root.list("sys/folder"), ["file", "self"]);
}

#[test]
fn links_in_a_circle_end() {
    let folder =
        tree(&[("sys/a", "-> b"), ("sys/b", "-> a"), ("sys/c", "-> c/c"), ("sys/d/e", "-> ../d/e/f")]);
    for path in ["sys/a", "sys/a/file", "sys/c", "sys/d/e", "sys/d/e/x"] {
        assert_eq!(why(folder.path(), path), Why::LinkLoop, "{path}");
    }
}

#[test]
fn pipes_and_folders_are_not_files() {
    let folder = tree(&[("sys/folder/file", "x"), ("sys/link", "-> pipe")]);
    let pipe = folder.path().join("sys/pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in ["sys/pipe", "sys/link", "sys/folder"] {
        assert_eq!(why(folder.path(), path), Why::NotAFile, "{path}");
    }
    // A file in place of a directory.
    assert_eq!(why(folder.path(), "sys/folder/file/deeper"), Why::Missing);
    assert!(Root::captured(folder.path()).unwrap().list("sys/folder/file").is_empty());
}

#[test]
fn a_file_without_end_is_refused() {
    let folder = tree(&[("sys/long", ""), ("proc/cpuinfo", "")]);
    let length = |path: &str, bytes: u64| {
        fs::File::options().write(true).open(folder.path().join(path)).unwrap().set_len(bytes).unwrap();
    };
    length("sys/long", (1 << 20) + 1);
    assert_eq!(why(folder.path(), "sys/long"), Why::TooLong(1 << 20));
    length("sys/long", 1 << 33);
    assert_eq!(why(folder.path(), "sys/long"), Why::TooLong(1 << 20));
    // A thousand CPUs need more than a mebibyte.
    length("proc/cpuinfo", 3 << 20);
    assert!(Root::captured(folder.path()).unwrap().text("proc/cpuinfo").is_some());
    assert_eq!(Root::captured(folder.path()).unwrap().bytes("proc/cpuinfo", 4096), None);
}

#[test]
fn text_is_trimmed_and_always_utf_8() {
    let folder = tree(&[("sys/padded", " \n0-3\n\0\0"), ("sys/empty", "")]);
    fs::write(folder.path().join("sys/binary"), [0x30, 0xff, 0xfe, 0x31]).unwrap();
    let root = Root::captured(folder.path()).unwrap();
    assert_eq!(root.text("/sys/padded").as_deref(), Some("0-3"));
    assert_eq!(root.text("/sys/empty").as_deref(), Some(""));
    assert_eq!(root.text("/sys/binary").as_deref(), Some("0\u{fffd}\u{fffd}1"));
    assert_eq!(root.cpu_list("/sys/padded").unwrap().len(), 4);
    assert_eq!(root.number::<u32>("/sys/padded"), None);
}

#[test]
fn names_come_in_the_order_of_their_numbers() {
    let folder = tree(&[
        ("sys/cpu10", ""),
        ("sys/cpu2", ""),
        ("sys/cpu0", ""),
        ("sys/cpufreq", ""),
        ("sys/cpu-1", ""),
    ]);
    let root = Root::captured(folder.path()).unwrap();
    assert_eq!(root.list("sys"), ["cpu-1", "cpu0", "cpu2", "cpu10", "cpufreq"]);
    assert_eq!(root.numbered("sys", "cpu").to_string(), "0,2,10");
}

#[test]
fn a_file_of_procfs_that_comes_in_pieces_is_read_to_its_end() {
    let root = Root::live();
    for path in ["/proc/vmstat", "/proc/self/mountinfo", "/proc/filesystems"] {
        let Ok(whole) = fs::read_to_string(path) else { continue };
        let names = |text: &str| -> Vec<String> {
            text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
        };
        assert_eq!(names(&root.text(path).unwrap()), names(whole.trim()), "{path}");
    }
    // The stack is one of the last of some dozen mappings, with a kilobyte each.
    let whole = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    if whole.contains("[stack]") {
        assert!(root.text("/proc/self/smaps").unwrap().contains("[stack]"));
    }
}

#[test]
fn what_this_user_may_not_read_says_so() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tree(&[("sys/locked", "x")]);
    let path = folder.path().join("sys/locked");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // Root can still read it.
    if fs::read(&path).is_err() {
        let error = Root::captured(folder.path()).unwrap().try_text("sys/locked").unwrap_err();
        assert_eq!(error.to_string(), "/sys/locked: permission denied");
    }
}

proptest! {
    #[test]
    fn no_way_through_links_leads_out(
        parts in proptest::collection::vec(prop::sample::select(&["..", "sys", "up", "out", "secret", ".", "tree"][..]), 1..12),
        start in prop::sample::select(&["", "/", "sys/", "//"][..]),
    ) {
        let outer = tempfile::tempdir().unwrap();
        let tree = outer.path().join("tree");
        fs::create_dir_all(tree.join("sys")).unwrap();
        fs::write(outer.path().join("secret"), "secret").unwrap();
        symlink("../../..", tree.join("sys/up")).unwrap();
        symlink(outer.path(), tree.join("sys/out")).unwrap();
        let root = Root::captured(&tree).unwrap();
        let path = format!("{start}{}", parts.join("/"));
        prop_assert_eq!(root.text(&path), None);
        prop_assert!(!root.list(&path).contains(&"tree".to_owned()), "{} lists what lies outside", path);
    }

    #[test]
    fn no_path_panics(path in "\\PC{0,60}|[./a-z]{0,5000}") {
        let folder = tree(&[("sys/a", "1")]);
        let root = Root::captured(folder.path()).unwrap();
        let _ = (root.text(&path), root.list(&path), root.exists(&path), root.numbered(&path, "a"));
    }
}
