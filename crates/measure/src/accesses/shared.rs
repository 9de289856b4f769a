//! Memory that several processes map (MAP_SHARED), identified by its file, because each process may map it at another address.
//! Anonymous shared memory also has a file, with an inode of its own.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::Range;

/// A shared mapping of a process.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SharedMapping {
    at: Range<u64>,
    /// A number for the device, the inode and the name of the file: inodes of System V shared memory may equal those of other memory.
    file: u64,
    offset: u64,
}

impl SharedMapping {
    /// The shared mappings of a process.
    pub(super) fn of_process(pid: i32) -> Vec<Self> {
        let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
        String::from_utf8_lossy(&maps).lines().filter_map(Self::parse).collect()
    }

    /// Parses a line of `/proc/PID/maps`; `None` if the mapping is private.
    fn parse(line: &str) -> Option<Self> {
        // The kernel pads the names of files, depending on the addresses.
        let mut words = line.split_whitespace();
        let [at, access, offset] = [words.next()?, words.next()?, words.next()?];
        let number = |hex: &str| u64::from_str_radix(hex, 16).ok();
        let (start, end) = at.split_once('-').filter(|_| access.ends_with('s'))?;
        let file = BuildHasherDefault::<DefaultHasher>::default().hash_one(words.collect::<Vec<_>>());
        Some(Self { at: number(start)?..number(end)?, file, offset: number(offset)? })
    }

    /// The file that is mapped at an address, and the position in it.
    pub(super) fn place(&self, address: u64) -> Option<(u64, u64)> {
        let from = address.checked_sub(self.at.start).filter(|_| self.at.contains(&address))?;
        Some((self.file, self.offset.wrapping_add(from)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55e0c0a00000-55e0c0a01000 rw-p 00003000 08:01 131 /usr/bin/postgres
7f0000000000-7f0000100000 rw-s 00000000 00:01 1027                       /dev/zero (deleted)
7f1000000000-7f1000001000 rw-s 00001000 00:01 1027                       /SYSV00000000 (deleted)
7f2000000000-7f2000001000 rw-p 00000000 00:00 0
";

    #[test]
    fn shared_memory_is_known_by_its_file_and_private_memory_is_not() {
        let of = |maps: &str, address: u64| {
            maps.lines().filter_map(SharedMapping::parse).find_map(|one| one.place(address))
        };
        let place = of(MAPS, 0x7f00_0000_1040).unwrap();
        assert_eq!(place.1, 0x1040);
        // Another process maps the second page at another address.
        let other = "601000-602000 rw-s 00001000 00:01 1027                       /dev/zero (deleted)\n";
        assert_eq!(of(other, 0x60_1040), Some(place));
        // The same inode in another kind of shared memory.
        let named = of(MAPS, 0x7f10_0000_0040).unwrap();
        assert!(named.1 == place.1 && named.0 != place.0);
        for private in [0x55e0_c0a0_0000, 0x7f20_0000_0000, 0x7f00_0010_0000, 0, u64::MAX] {
            assert_eq!(of(MAPS, private), None);
        }
        assert_eq!([SharedMapping::parse(""), SharedMapping::parse("zz-1 rw-s 0 0 0")], [None, None]);
    }
}
