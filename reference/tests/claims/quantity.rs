//! A number with its dimension, so that a claim about times is not compared with a size.

/// Powers of seconds and of bytes; cycles, instructions and units of work are counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dimension {
    time: i8,
    bytes: i8,
}

const COUNT: Dimension = Dimension { time: 0, bytes: 0 };
const TIME: Dimension = Dimension { time: 1, bytes: 0 };
const RATE: Dimension = Dimension { time: -1, bytes: 0 };
const BYTES: Dimension = Dimension { time: 0, bytes: 1 };
const BANDWIDTH: Dimension = Dimension { time: -1, bytes: 1 };

/// Units as written in claims and records, their value in seconds and bytes, and their dimension.
const UNITS: &[(&str, f64, Dimension)] = &[
    ("%", 0.01, COUNT),
    ("x", 1.0, COUNT),
    ("count", 1.0, COUNT),
    ("cycles", 1.0, COUNT),
    ("instructions/cycle", 1.0, COUNT),
    ("IPC", 1.0, COUNT),
    ("ps", 1e-12, TIME),
    ("ns", 1e-9, TIME),
    ("us", 1e-6, TIME),
    ("ms", 1e-3, TIME),
    ("s", 1.0, TIME),
    ("Hz", 1.0, RATE),
    ("MHz", 1e6, RATE),
    ("GHz", 1e9, RATE),
    ("MT/s", 1e6, RATE),
    ("work/s", 1.0, RATE),
    ("B", 1.0, BYTES),
    ("KiB", 1024.0, BYTES),
    ("MiB", 1_048_576.0, BYTES),
    ("GiB", 1_073_741_824.0, BYTES),
    ("TiB", 1_099_511_627_776.0, BYTES),
    ("B/s", 1.0, BANDWIDTH),
    ("kB/s", 1e3, BANDWIDTH),
    ("MB/s", 1e6, BANDWIDTH),
    ("GB/s", 1e9, BANDWIDTH),
];

/// A unit that claims may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Its spelling.
    pub name: &'static str,
    factor: f64,
    dimension: Dimension,
}

impl Unit {
    /// The unit of this name.
    pub fn find(name: &str) -> Option<Self> {
        let found = UNITS.iter().find(|(known, ..)| *known == name);
        found.map(|&(name, factor, dimension)| Self { name, factor, dimension })
    }

    /// The unit of an inventory field, from the end of its name.
    pub fn of_field(field: &str) -> Option<Self> {
        let name = match field.rsplit('_').next() {
            Some("hz") => "Hz",
            Some("bytes") => "B",
            Some("s") if field.ends_with("_mt_s") => "MT/s",
            _ => "count",
        };
        Self::find(name)
    }

    /// A quantity in this unit.
    pub fn of(self, number: f64) -> Quantity {
        Quantity { value: number * self.factor, dimension: self.dimension }
    }

    /// A quantity in this unit; `None` if its dimension differs.
    pub fn number(self, quantity: Quantity) -> Option<f64> {
        (quantity.dimension == self.dimension).then_some(quantity.value / self.factor)
    }
}

/// A value in seconds, bytes and counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// The value.
    pub value: f64,
    /// Its dimension.
    pub dimension: Dimension,
}

impl Quantity {
    /// A bare number.
    pub fn count(value: f64) -> Self {
        Self { value, dimension: COUNT }
    }

    /// The sum; `None` if the dimensions differ.
    pub fn plus(self, other: Self) -> Option<Self> {
        (self.dimension == other.dimension).then_some(Self { value: self.value + other.value, ..self })
    }

    /// The difference; `None` if the dimensions differ.
    pub fn minus(self, other: Self) -> Option<Self> {
        self.plus(Self { value: -other.value, ..other })
    }

    /// The product; `None` if the dimension is out of range.
    pub fn times(self, other: Self) -> Option<Self> {
        let time = self.dimension.time.checked_add(other.dimension.time)?;
        let bytes = self.dimension.bytes.checked_add(other.dimension.bytes)?;
        Some(Self { value: self.value * other.value, dimension: Dimension { time, bytes } })
    }

    /// A bare number to the power of another; `None` if one has a dimension, or the result is not a number.
    pub fn to_the(self, power: Self) -> Option<Self> {
        let bare = self.dimension == COUNT && power.dimension == COUNT;
        let value = self.value.powf(power.value);
        (bare && value.is_finite()).then_some(Self::count(value))
    }

    /// The quotient; `None` if the divisor is zero or the dimension is out of range.
    pub fn over(self, other: Self) -> Option<Self> {
        let time = other.dimension.time.checked_neg()?;
        let bytes = other.dimension.bytes.checked_neg()?;
        let inverse = Self { value: 1.0 / other.value, dimension: Dimension { time, bytes } };
        (other.value != 0.0).then_some(inverse).and_then(|inverse| self.times(inverse))
    }
}
