//! Writes a cpio archive in the format that the kernel unpacks as its initial file system (`newc`); see "initramfs buffer
//! format" in the kernel's documentation (driver-api/early-userspace).

/// The types of entries, as the file type bits of `st_mode`.
const DIRECTORY: u32 = 0o040_000;
const CHARACTER_DEVICE: u32 = 0o020_000;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

/// The name that ends an archive.
const TRAILER: &str = "TRAILER!!!";

/// An archive under construction. All entries belong to root and are dated 1970, so that equal contents yield identical
/// archives.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

/// An entry that the format cannot represent.
#[derive(Debug, PartialEq, Eq)]
pub enum TooLong {
    /// The file is 4 GiB or larger, but the format stores sizes in 32 bits.
    File(String),
    /// The kernel rejects names of PATH_MAX (4096) bytes or more.
    Name(String),
}

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TooLong::File(name) => write!(f, "{name} exceeds the maximum file size in an initramfs (4 GiB)"),
            TooLong::Name(name) => write!(f, "{:.60}… exceeds the maximum path length", name),
        }
    }
}

impl Archive {
    /// An empty archive.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a directory, whose parents must already have been added. Paths have no leading slash.
    pub fn folder(&mut self, path: &str, mode: u32) -> Result<(), TooLong> {
        self.entry(path, DIRECTORY | mode, (0, 0), b"")
    }

    /// A character device.
    pub fn device(&mut self, path: &str, mode: u32, major: u32, minor: u32) -> Result<(), TooLong> {
        self.entry(path, CHARACTER_DEVICE | mode, (major, minor), b"")
    }

    /// A file.
    pub fn file(&mut self, path: &str, mode: u32, contents: &[u8]) -> Result<(), TooLong> {
        self.entry(path, REGULAR | mode, (0, 0), contents)
    }

    /// A symbolic link to `target`.
    pub fn link(&mut self, path: &str, target: &str) -> Result<(), TooLong> {
        self.entry(path, LINK | 0o777, (0, 0), target.as_bytes())
    }

    /// The finished archive with its trailer.
    pub fn finish(mut self) -> Vec<u8> {
        // The name is short and there are no contents, so this cannot fail.
        let _ = self.entry(TRAILER, 0, (0, 0), b"");
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), contents: &[u8]) -> Result<(), TooLong> {
        if path.len() >= 4096 {
            return Err(TooLong::Name(path.to_owned()));
        }
        let size = u32::try_from(contents.len()).map_err(|_| TooLong::File(path.to_owned()))?;
        self.entries += 1;
        let links = if mode & DIRECTORY != 0 { 2 } else { 1 };
        // The fields are inode, mode, uid, gid, links, mtime, size, major and minor of the file system, major and minor of the device, name
        // length, checksum. Entries with the same inode number and several links would be treated as one file, so each has its own number.
        let name = path.len() as u32 + 1;
        let fields = [self.entries, mode, 0, 0, links, 0, size, 0, 0, device.0, device.1, name, 0];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08X}").bytes());
        }
        self.bytes.extend(path.bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend(contents);
        self.align();
        Ok(())
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// The mount points for file systems, and the directories that will contain included files.
const FOLDERS: [&str; 6] = ["dev", "proc", "sys", "tmp", "bin", "root"];

/// A machine's initial file system: the program as `/init`, its mount points and `/dev/console`. More entries may be
/// added.
///
/// # Errors
///
/// The program is too large for the format.
pub fn first_file_system(program: &[u8]) -> Result<Archive, TooLong> {
    let mut archive = Archive::new();
    for folder in FOLDERS {
        archive.folder(folder, 0o755)?;
    }
    // The kernel opens the console as init's standard output before devtmpfs is mounted.
    archive.device("dev/console", 0o600, 5, 1)?;
    archive.device("dev/null", 0o666, 1, 3)?;
    archive.file("init", 0o755, program)?;
    Ok(archive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    struct Entry {
        name: String,
        mode: u32,
        device: (u32, u32),
        contents: Vec<u8>,
    }

    /// Reads an archive as the kernel's `init/initramfs.c` does: fixed fields, with names and contents aligned to 4
    /// bytes.
    fn unpack(bytes: &[u8]) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut at = 0;
        loop {
            assert_eq!(&bytes[at..at + 6], b"070701", "an entry at {at}");
            let field = |index: usize| {
                let start = at + 6 + 8 * index;
                u32::from_str_radix(std::str::from_utf8(&bytes[start..start + 8]).unwrap(), 16).unwrap()
            };
            let (size, name_size) = (field(6) as usize, field(11) as usize);
            let name_at = at + 110;
            let name = std::str::from_utf8(&bytes[name_at..name_at + name_size - 1]).unwrap().to_owned();
            assert_eq!(bytes[name_at + name_size - 1], 0);
            let data_at = (name_at + name_size).next_multiple_of(4);
            if name == TRAILER {
                assert_eq!(data_at, bytes.len(), "there is data after the trailer");
                return entries;
            }
            let contents = bytes[data_at..data_at + size].to_vec();
            entries.push(Entry { name, mode: field(1), device: (field(9), field(10)), contents });
            at = (data_at + size).next_multiple_of(4);
        }
    }

    fn example() -> Vec<u8> {
        let mut archive = Archive::new();
        archive.folder("dev", 0o755).unwrap();
        archive.device("dev/console", 0o600, 5, 1).unwrap();
        archive.file("init", 0o755, b"\x7fELF!").unwrap();
        archive.file("empty", 0o644, b"").unwrap();
        archive.link("dev/stdout", "/proc/self/fd/1").unwrap();
        archive.finish()
    }

    #[test]
    fn what_went_in_comes_out() {
        let entries = unpack(&example());
        let reported: Vec<(&str, u32)> =
            entries.iter().map(|entry| (entry.name.as_str(), entry.mode)).collect();
        assert_eq!(
            reported,
            [
                ("dev", 0o040_755),
                ("dev/console", 0o020_600),
                ("init", 0o100_755),
                ("empty", 0o100_644),
                ("dev/stdout", 0o120_777)
            ]
        );
        assert_eq!(entries[1].device, (5, 1));
        assert_eq!(entries[2].contents, b"\x7fELF!");
        assert!(entries[3].contents.is_empty());
        assert_eq!(entries[4].contents, b"/proc/self/fd/1");
    }

    #[test]
    fn names_that_no_path_can_have_are_refused() {
        let mut archive = Archive::new();
        assert!(matches!(archive.file(&"a".repeat(4096), 0o644, b""), Err(TooLong::Name(_))));
        assert!(unpack(&archive.finish()).is_empty());
    }

    #[test]
    fn cpio_lists_the_same() {
        // Under an emulator, a missing program starts and then fails.
        if !Command::new("cpio").arg("--version").output().is_ok_and(|output| output.status.success()) {
            eprintln!("cpio is not installed: its own listing is not compared");
            return;
        }
        let mut child = Command::new("cpio")
            .args(["--list", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&example()).unwrap();
        let listed = child.wait_with_output().unwrap();
        assert!(listed.status.success());
        assert_eq!(String::from_utf8(listed.stdout).unwrap(), "dev\ndev/console\ninit\nempty\ndev/stdout\n");
    }
}
