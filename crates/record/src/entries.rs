//! A few values by name: the place of a figure and what is known of how it was measured.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::Shared;

/// Values by name, in the order of their names. There are a few of them, side by side in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries<V>(Vec<(Shared, V)>);

impl<V> Entries<V> {
    /// None.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Makes room for so many more.
    pub fn reserve(&mut self, more: usize) {
        self.0.reserve_exact(more);
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&V> {
        self.0.iter().find(|(own, _)| own.as_str() == name).map(|(_, value)| value)
    }

    /// Whether there is a value of `name`.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Gives `name` a value; the one that it had.
    pub fn insert(&mut self, name: impl Into<Shared>, value: V) -> Option<V> {
        self.put(name.into(), value)
    }

    fn put(&mut self, name: Shared, value: V) -> Option<V> {
        // Most have two or three, and a record hundreds of thousands of these lists.
        if self.0.len() == self.0.capacity() && self.0.len() < 4 {
            self.0.reserve_exact(if self.0.is_empty() { 2 } else { 1 });
        }
        if self.0.last().is_none_or(|(last, _)| *last < name) {
            self.0.push((name, value));
            return None;
        }
        match self.0.binary_search_by(|(own, _)| own.cmp(&name)) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (name, value));
                None
            }
        }
    }

    /// Takes `name` away; the value that it had.
    pub fn remove(&mut self, name: &str) -> Option<V> {
        let at = self.0.iter().position(|(own, _)| own.as_str() == name)?;
        Some(self.0.remove(at).1)
    }

    /// Keeps those of which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&Shared, &mut V) -> bool) {
        self.0.retain_mut(|(name, value)| keep(name, value));
    }

    /// Takes all away.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and values in the order of the names.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Shared, &V)> + ExactSizeIterator + Clone {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// The names in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Shared> + ExactSizeIterator + Clone {
        self.0.iter().map(|(name, _)| name)
    }

    /// The values in the order of their names.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    /// Puts names in order after some were added; of equal ones the last has its value.
    fn settle(&mut self) {
        if self.0.is_sorted_by(|(one, _), (other, _)| one < other) {
            return;
        }
        // In order of time among equal names, the last first, which is the one that stays.
        self.0.reverse();
        self.0.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.0.dedup_by(|(later, _), (first, _)| later == first);
    }
}

impl<V> Default for Entries<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<N: Into<Shared>, V> Extend<(N, V)> for Entries<V> {
    fn extend<I: IntoIterator<Item = (N, V)>>(&mut self, more: I) {
        self.0.extend(more.into_iter().map(|(name, value)| (name.into(), value)));
        self.settle();
    }
}

impl<N: Into<Shared>, V> FromIterator<(N, V)> for Entries<V> {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(all: I) -> Self {
        let mut entries = Self::new();
        entries.extend(all);
        entries
    }
}

impl<V> IntoIterator for Entries<V> {
    type Item = (Shared, V);
    type IntoIter = std::vec::IntoIter<(Shared, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<V: Serialize> Serialize for Entries<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Entries<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

struct Reader<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for Reader<V> {
    type Value = Entries<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<V>, A::Error> {
        let mut entries = Entries::new();
        while let Some(entry) = map.next_entry()? {
            entries.0.push(entry);
        }
        // Once for all of them: a file may have any number, in any order.
        entries.settle();
        Ok(entries)
    }
}

#[cfg(test)]
impl<V: schemars::JsonSchema> schemars::JsonSchema for Entries<V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        std::collections::BTreeMap::<String, V>::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        std::collections::BTreeMap::<String, V>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// A step: which name, and what is done with it.
    fn steps() -> impl Strategy<Value = Vec<(String, u8, bool)>> {
        proptest::collection::vec(("[a-c]{0,2}", any::<u8>(), any::<bool>()), 0..40)
    }

    proptest! {
        #[test]
        fn they_hold_what_a_map_would(steps in steps()) {
            let (mut entries, mut map) = (Entries::new(), BTreeMap::new());
            for (name, value, adds) in &steps {
                if *adds {
                    prop_assert_eq!(entries.insert(name.clone(), *value), map.insert(name.clone(), *value));
                } else {
                    prop_assert_eq!(entries.remove(name), map.remove(name));
                }
                prop_assert_eq!(entries.get(name), map.get(name));
            }
            let json = serde_json::to_string(&map).unwrap();
            prop_assert_eq!(serde_json::to_string(&entries).unwrap(), json.clone());
            prop_assert_eq!(&serde_json::from_str::<Entries<u8>>(&json).unwrap(), &entries);
            prop_assert_eq!(entries.len(), map.len());
        }

        #[test]
        fn of_a_name_that_comes_twice_the_last_value_stays(steps in steps()) {
            let json: Vec<String> = steps.iter().map(|(name, value, _)| format!("\"{name}\": {value}")).collect();
            let json = format!("{{{}}}", json.join(","));
            let map: BTreeMap<String, u8> = serde_json::from_str(&json).unwrap();
            let entries: Entries<u8> = serde_json::from_str(&json).unwrap();
            prop_assert!(entries.iter().map(|(name, value)| (name.as_str(), value)).eq(map.iter().map(|(name, value)| (name.as_str(), value))));
            let all: Entries<u8> = steps.iter().map(|(name, value, _)| (name.clone(), *value)).collect();
            prop_assert_eq!(all, entries);
        }
    }
}
