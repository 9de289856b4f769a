use super::*;
use template::{GIVEN, fill_all};

fn read(text: &str) -> Result<Recipe, ReadError> {
    read_text(text, "mine.toml", Origin::BuiltIn)
}

fn complaint(text: &str) -> String {
    read(text).expect_err("it was accepted").to_string()
}

#[test]
fn every_recipe_that_ships_reads_and_says_how_to_install_what_it_needs() {
    for (name, text) in BUILT_IN {
        let recipe = read_text(text, name, Origin::BuiltIn).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(&recipe.name, name);
        assert!(!recipe.what.is_empty() && !recipe.needs.is_empty(), "{name}");
        for need in &recipe.needs {
            let missing = need.describe_missing("ID=debian");
            assert!(missing.contains("apt install") || need.hint.is_some(), "{name}: {missing}");
        }
        for small in [false, true] {
            let values = recipe.values(small, &[]).unwrap();
            assert_eq!(values.len(), recipe.settings.len());
        }
        if let Some(otherwise) = &recipe.otherwise {
            assert!(
                find_recipe(otherwise, None).is_some_and(|found| found.is_ok()),
                "{name}: no recipe {otherwise}"
            );
        }
        // A single command for all CPUs must be given the number of CPUs; otherwise, it would measure something else.
        let reported = recipe.environment.values().chain(&recipe.command);
        let reported = reported.flat_map(|template| template.places()).any(|place| place == "threads");
        assert_eq!(recipe.runs_copies(), !reported, "{name}");
    }
}

#[test]
fn settings_are_usual_small_or_the_users() {
    let recipe = find_recipe("bc-power", None).unwrap().unwrap();
    let command = |small, set: &[(String, String)]| {
        let mut values = recipe.values(small, set).unwrap();
        values.extend(GIVEN.map(|name| (name.to_owned(), "1".to_owned())));
        fill_all(&recipe.command, &values).pop().unwrap().into_string().unwrap()
    };
    assert_eq!(command(false, &[]), "echo '7^999999' | bc");
    assert_ne!(command(true, &[]), command(false, &[]));
    assert_eq!(command(true, &[("exponent".to_owned(), "5".to_owned())]), "echo '7^5' | bc");
    let error = recipe.values(false, &[("exponnt".to_owned(), "5".to_owned())]).unwrap_err();
    assert!(error.ends_with("has no setting \"exponnt\"; its settings: exponent"), "{error}");
    // bc would exit immediately without an error, and would appear a thousand times as fast.
    for nonsense in ["abc", "", "-1", "0", "{folder}"] {
        let error = recipe.values(false, &[("exponent".to_owned(), nonsense.to_owned())]).unwrap_err();
        assert!(error.ends_with("is not a whole number above 0"), "{error}");
    }
}

#[test]
fn a_working_set_within_the_caches_is_reported() {
    let recipe = find_recipe("likwid-stream", None).unwrap().unwrap();
    let mut machine = record::Machine::default();
    machine.caches.push(record::machine::Cache {
        level: 3,
        kind: record::machine::CacheKind::Unified,
        bytes: Some(200 << 20),
        cpus: [0, 1].into_iter().collect(),
        ways: None,
        line: None,
    });
    let reported = |size: &str, machine: &record::Machine| {
        let set = [("size".to_owned(), size.to_owned())];
        recipe.within_caches(&recipe.values(true, &set).unwrap(), machine)
    };
    let fits = reported("96MB", &machine).unwrap();
    let (reason, remedy) = (fits.reason.unwrap(), fits.remedy.unwrap());
    assert_eq!(reason.code(), Some("recipe-within-caches"));
    assert_eq!(reason.value("caches"), Some(&record::text::Value::Bytes(200 << 20)));
    assert_eq!(remedy, "--set size=839MB".into());
    assert_eq!(reported("839MB", &machine), None);
    let code = |found: record::Coverage| found.reason.unwrap().code().map(str::to_owned);
    assert_eq!(reported("400MB", &machine).and_then(code).as_deref(), Some("recipe-within-caches"));
    assert_eq!(reported("96MB", &record::Machine::default()), None, "64 MiB suffice without a known cache");
    assert_eq!(
        reported("1MB", &record::Machine::default()).and_then(code).as_deref(),
        Some("recipe-caches-unknown")
    );
    let other = find_recipe("bc-power", None).unwrap().unwrap();
    assert_eq!(other.within_caches(&other.values(true, &[]).unwrap(), &machine), None);
}

#[test]
fn what_is_wrong_with_a_recipe_is_reported_with_its_line() {
    let head = "name = \"mine\"\nwhat = \"x\"\n";
    let cases = [
        ("name = \"mine\"\nwhat = \"x\ncommand = []\n", "mine.toml:2: "),
        ("name = \"mine\"\nwhat = \"x\"\n", "missing field `command`"),
        (&format!("{head}command = []"), "mine.toml:3: the command is empty"),
        (&format!("{head}command = [\"a\"]\ncomand = 1\n"), "mine.toml:4: "),
        (&format!("{head}command = [\n\"a\",\n\"{{size}}\"]"), "mine.toml:5: {size} is neither a setting"),
        (
            &format!("{head}command = [\"a\"]\n[[score]]\npattern = \"x\"\nunit = \"e\""),
            "mine.toml:5: the pattern",
        ),
        (
            &format!(
                "{head}command = [\"a\"]\n[[score]]\npattern = \"{{score}}\"\nunit = \"e\"\nkind = \"speed\""
            ),
            "mine.toml:7: unknown variant `speed`, expected one of `rate`, `seconds`, `work`",
        ),
        (
            &format!("{head}command = [\"a\"]\n[[score]]\npattern = \"{{score}}\"\nunit = \"e\"\nscale = -1"),
            "mine.toml:7: must be a number above 0",
        ),
        (&format!("{head}command = [\"a\", \"{{threads}}\"]\ncopies = true\n"), "mine.toml:4: copies = true"),
        (
            &format!("{head}command = [\"a\"]\n[settings.threads]\nvalue = 1"),
            "mine.toml:4: linespeed fills in threads",
        ),
        ("name = \"Mine/..\"\nwhat = \"x\"\ncommand = [\"a\"]", "mine.toml:1: a name must have"),
    ];
    for (text, expected) in cases {
        let reported = complaint(text);
        assert!(reported.contains(expected), "{text}\n reported {reported:?}\n instead of {expected:?}");
        assert_eq!(reported.lines().count(), 1, "{reported}");
    }
}

#[test]
fn a_users_recipe_comes_before_ours_and_a_bad_one_is_listed_with_its_error() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("bc-pi.toml");
    std::fs::write(&own, "name = \"bc-pi\"\nwhat = \"mine\"\ncommand = [\"true\"]\n").unwrap();
    std::fs::write(folder.path().join("bad.toml"), "name = ").unwrap();
    let found = find_recipe("bc-pi", Some(folder.path())).unwrap().unwrap();
    assert_eq!((found.what.as_str(), &found.origin), ("mine", &Origin::File(own)));
    let all = list_all(Some(folder.path()));
    assert_eq!(all.len(), BUILT_IN.len() + 1);
    let bad = all.iter().find(|(name, _)| name == "bad").unwrap();
    assert!(bad.1.as_ref().unwrap_err().to_string().contains("bad.toml:1: "));
    assert!(find_recipe("../bc-pi", Some(folder.path())).is_none());
}

#[test]
fn files_that_are_no_recipes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.toml");
    assert!(read_file(&path).unwrap_err().to_string().contains("cannot be read"));
    std::fs::write(&path, b"name = \"x\"\nwhat = \"\xff\"").unwrap();
    assert!(read_file(&path).unwrap_err().to_string().contains("x.toml:2: not UTF-8"));
    std::fs::write(&path, vec![b'#'; 300 << 10]).unwrap();
    assert!(read_file(&path).unwrap_err().to_string().contains("limited to"));
    assert!(read_file(folder.path()).unwrap_err().to_string().contains("not a regular file"));
}

/// The documentation of recipes.
const DOCUMENT: &str = include_str!("../../../../docs/recipes.md");

#[test]
fn the_documents_example_is_a_recipe_and_its_tables_are_whole() {
    let example = DOCUMENT.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let recipe = read(example).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((recipe.name.as_str(), recipe.runs_copies(), recipe.settings.len()), ("my-solver", false, 2));
    let service = DOCUMENT.split("```toml\n").nth(2).and_then(|rest| rest.split("```").next()).unwrap();
    let recipe =
        read(&format!("name = \"x\"\nwhat = \"x\"\n{service}")).unwrap_or_else(|error| panic!("{error}"));
    assert!(recipe.service.is_some_and(|service| service.load.len() == 1));
    for (name, _) in BUILT_IN {
        assert!(DOCUMENT.contains(&format!("| `{name}` |")), "the document does not list {name}");
    }
    for place in GIVEN {
        assert!(DOCUMENT.contains(&format!("| `{{{place}}}` |")), "the document does not list {place}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "[a-z\\[\\]{}=\"\n .0-9-]{0,120}") {
        let _ = read(&text);
        let _ = read(&format!("name = \"x\"\nwhat = \"x\"\ncommand = [\"{}\"]", text.replace(['"', '\n'], "")));
        let _ = score::compile(&text, &template::Values::new(), true);
    }
}

#[test]
fn a_pipe_is_no_recipe_and_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()));
    let complaint = read_file(&pipe).expect_err("it was accepted").to_string();
    assert!(complaint.contains("not a regular file"), "{complaint}");
}
