//! A persistent key, which is created on first use in a file that only its owner may read.

use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use record::redaction::Key;
use record::regular_file::{self, NotRead};
use record::{Template, Text, text};

use crate::whole_file::Writer;

/// The file's name.
pub const NAME: &str = "redaction.key";
/// Maximum length of a key: one line.
const MOST_BYTES: u64 = 1024;
/// The permission bits of the group and of other users.
const OTHERS: u32 = 0o077;

/// The warning about a key that is valid for this call only.
pub const NOT_KEPT: Template = Template::new(
    "redaction-key-not-kept",
    "--redact: pseudonyms are valid for this call only, because their key cannot be saved in the state directory: {why}",
);
/// A file without a key.
pub const DAMAGED: Template = Template::new(
    "redaction-key-damaged",
    "--redact: pseudonyms are valid for this call only, because redaction.key in the state directory contains no key (delete the file to create a key)",
);
/// The warning about a key that other users can read.
pub const READABLE: Template = Template::new(
    "redaction-key-readable",
    "--redact: other users can read the pseudonym key (run chmod 600 redaction.key in the state directory)",
);

/// The key in a directory, or a new key stored there; if that is impossible, a key for this call only. Also returns a warning if there is a
/// problem with the key.
///
/// # Errors
///
/// No random numbers are available.
pub fn kept_key(writer: &Writer, folder: Option<&Path>) -> io::Result<(Key, Option<Text>)> {
    let Some(folder) = folder else {
        let why = text!("neither XDG_STATE_HOME nor HOME is set");
        return Ok((random()?, Some(text!(NOT_KEPT, why))));
    };
    let path = folder.join(NAME);
    let key = random()?;
    match writer.write_secret(&path, &key.to_text()) {
        Ok(()) => Ok((key, None)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(match read(writer, &path) {
            Ok((Some(known), remark)) => (known, remark),
            Ok((None, remark)) => (key, remark),
            Err(why) => (key, Some(text!(NOT_KEPT, why = why.to_string()))),
        }),
        // A directory that is not writable may still contain a key.
        Err(error) => Ok(match read(writer, &path) {
            Ok((Some(known), remark)) => (known, remark),
            _ => (key, Some(text!(NOT_KEPT, why = error.to_string()))),
        }),
    }
}

/// The key in a directory; `None` if there is none.
pub fn known_key(writer: &Writer, folder: &Path) -> Option<Key> {
    read(writer, &folder.join(NAME)).ok()?.0
}

/// The key in a file, with a warning if needed.
fn read(writer: &Writer, path: &Path) -> Result<(Option<Key>, Option<Text>), NotRead> {
    let _owner = writer.assume(path);
    let (text, data) = regular_file::read(path, MOST_BYTES)?;
    let key = std::str::from_utf8(&text).ok().and_then(Key::from_text);
    let remark = match &key {
        None => Some(text!(DAMAGED)),
        Some(_) if data.mode() & OTHERS != 0 => Some(text!(READABLE)),
        Some(_) => None,
    };
    Ok((key, remark))
}

/// An unpredictable key.
fn random() -> io::Result<Key> {
    let mut bytes = [0; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(Key::new(bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_made_once_for_its_owner_alone() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("linespeed");
        let writer = Writer { own: Some(folder.clone()), owner: None };
        let kept = || kept_key(&writer, Some(&folder)).unwrap();
        let code = |remark: Option<Text>| remark.and_then(|remark| remark.code().map(str::to_owned));
        let (key, remark) = kept();
        assert!(remark.is_none());
        let mode = || std::fs::metadata(folder.join(NAME)).unwrap().mode() & 0o777;
        assert_eq!((mode(), kept()), (0o600, (key.clone(), None)));
        // Nothing else is left behind.
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::set_permissions(folder.join(NAME), std::fs::Permissions::from_mode(0o644)).unwrap();
        let (same, remark) = kept();
        assert_eq!((same, code(remark).as_deref()), (key.clone(), Some(READABLE.code)));
        // Contents that are not a key are left unchanged, and reported.
        std::fs::write(folder.join(NAME), "no key").unwrap();
        let (other, remark) = kept();
        assert!(other != key && code(remark).as_deref() == Some(DAMAGED.code));
        assert_eq!(std::fs::read(folder.join(NAME)).unwrap(), b"no key");
    }

    #[test]
    fn without_a_place_a_key_is_of_one_call() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        for place in [None, Some(file.as_path())] {
            let kept = || kept_key(&Writer::default(), place).unwrap();
            let ((one, remark), (other, _)) = (kept(), kept());
            assert!(one != other && remark.is_some_and(|remark| remark.is(&NOT_KEPT)), "{place:?}");
        }
        // A directory in place of the file.
        std::fs::create_dir(folder.path().join(NAME)).unwrap();
        let (_, remark) = kept_key(&Writer::default(), Some(folder.path())).unwrap();
        assert!(remark.is_some_and(|remark| remark.is(&NOT_KEPT)));
    }
}
