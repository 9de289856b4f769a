//! Finds all records of a host even if some contain its name and others a pseudonym. Two names belong to the same host
//! if one is derived from the other with a local key.

use std::collections::{BTreeSet, HashMap};

use super::{Key, Kind, Pseudonyms, is_pseudonym};
use crate::Record;

/// Keys that map host names to their pseudonyms.
#[derive(Debug, Default)]
pub struct Aliases(Vec<Key>);

impl Aliases {
    /// Creates aliases with these keys; without a key, each name counts as a different host.
    pub fn new(keys: Vec<Key>) -> Self {
        Self(keys)
    }

    /// The names that a host can have in records: its own name first, then its pseudonyms.
    pub fn of(&self, host: &str) -> Vec<String> {
        let mut names = vec![host.to_owned()];
        for key in self.0.iter().filter(|_| !host.is_empty()) {
            names.push(Pseudonyms::new(key.clone()).of(Kind::Host, host));
        }
        names
    }

    /// Maps each pseudonym to the name from which it is derived, if both are among these names. For the pseudonym of a
    /// pseudonym, this is the original name.
    pub fn resolve<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> HashMap<String, String> {
        let names: BTreeSet<&str> = names.into_iter().collect();
        if !names.iter().any(|name| is_pseudonym(Kind::Host, name)) {
            return HashMap::new();
        }
        let mut known = HashMap::new();
        for name in &names {
            let others = self.of(name).into_iter().skip(1).filter(|other| names.contains(other.as_str()));
            known.extend(others.map(|other| (other, (*name).to_owned())));
        }
        let last = |name: &String| {
            let mut all = std::iter::successors(Some(name), |name| known.get(*name)).take(names.len());
            all.by_ref().last().unwrap_or(name).clone()
        };
        known.iter().map(|(other, name)| (other.clone(), last(name))).collect()
    }

    /// Gives all records of a host the same name.
    pub fn unify<'a>(&self, records: impl IntoIterator<Item = &'a mut Record>) {
        let mut hosts: Vec<&mut String> =
            records.into_iter().filter_map(|record| record.machine.hostname.as_mut()).collect();
        let known = self.resolve(hosts.iter().map(|host| host.as_str()));
        for host in &mut hosts {
            if let Some(name) = known.get(host.as_str()) {
                (**host).clone_from(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> Key {
        Key::new([byte; 32])
    }

    fn sign(byte: u8, name: &str) -> String {
        Pseudonyms::new(key(byte)).of(Kind::Host, name)
    }

    #[test]
    fn a_host_is_one_by_its_name_and_its_pseudonyms_of_known_keys_alone() {
        let aliases = Aliases::new(vec![key(1), key(2)]);
        let (one, two, strange) = (sign(1, "a"), sign(2, "a"), sign(3, "a"));
        let twice = sign(1, &one);
        assert_eq!(aliases.of("a"), ["a".to_owned(), one.clone(), two.clone()]);
        assert_eq!(aliases.of(""), [""]);
        let names = ["a", "b", &one, &two, &strange, &twice];
        let known = aliases.resolve(names);
        assert_eq!(
            names.map(|name| known.get(name).map(String::as_str)),
            [None, None, Some("a"), Some("a"), None, Some("a")]
        );
        // Without the name, a pseudonym remains a pseudonym; its own pseudonym still belongs to the same host.
        assert_eq!(aliases.resolve([one.as_str(), twice.as_str()])[&twice], one);
        assert!(Aliases::default().resolve(names).is_empty());
    }

    #[test]
    fn records_of_one_host_are_given_its_name() {
        let mut records: Vec<Record> = ["a", &sign(1, "a"), &sign(1, "b"), ""]
            .map(|host| {
                let mut record = Record::new("0", "t".to_owned(), Vec::new());
                record.machine.hostname = Some(host.to_owned()).filter(|host| !host.is_empty());
                record
            })
            .into();
        Aliases::new(vec![key(1)]).unify(&mut records);
        let hosts = records.iter().map(|record| record.machine.hostname.as_deref());
        assert!(hosts.eq([Some("a"), Some("a"), Some(sign(1, "b").as_str()), None]));
    }
}
