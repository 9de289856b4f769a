//! Possible reasons for a limited clock, other than the settings of cpufreq: power limits, firmware, heat.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::JsonSchema;

/// Possible reasons for a limited clock, other than the settings of cpufreq.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClockHolders {
    /// Power limits of processor packages, one per interface and window.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub power_limits: Vec<PowerLimit>,
    /// The limits that the processor reported as active at the time of the snapshot.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub holding: Vec<HeldBy>,
    /// The limits that were active at any time since the processor's log was cleared, usually at boot.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_before: Vec<HeldBy>,
    /// Uncore clocks (mesh, last-level cache, memory controllers), one per die.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncore: Vec<UncoreClock>,
    /// Cooling devices that are currently lowering clocks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cooling: Vec<Cooling>,
    /// The firmware's profile: `performance`, `balanced`, `low-power`, `quiet`, `cool`…
    pub platform_profile: Option<String>,
    /// The range from which the processor may choose its clocks (HWP), for the package with the tightest limit.
    pub hwp: Option<HwpRange>,
    /// The highest performance that the driver allows, as a percentage of the maximum (`intel_pstate/max_perf_pct`).
    pub max_percent: Option<u64>,
    /// How long heat has lowered clocks since boot, ms; the maximum over cores and packages.
    pub heat_ms: Option<u64>,
    /// The longest single period for which heat lowered clocks, ms.
    pub longest_heat_ms: Option<u64>,
}

/// Performance levels of a processor that chooses its own clocks. A level usually corresponds to 100 MHz (Intel SDM volume
/// 3B: HWP).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HwpRange {
    /// The highest level that the processor supports.
    pub highest: u64,
    /// The level that the processor sustains under any load.
    pub guaranteed: u64,
    /// The highest level that the processor is allowed to choose.
    pub allowed: u64,
}

impl ClockHolders {
    /// Whether there is no information on limits.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A power limit of a package (powercap, RAPL).
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PowerLimit {
    /// The interface that sets the limit: `intel-rapl` (MSR), `intel-rapl-mmio` (firmware, thermald). If several
    /// interfaces set a limit, the lowest limit applies.
    pub interface: String,
    /// The package: `package-0`.
    pub zone: String,
    /// The limit's time window: `long_term` (PL1), `short_term` (PL2), `peak_power` (PL4).
    pub window: String,
    /// The limit, W.
    pub watts: f64,
    /// The package's rated power, W.
    pub rated_watts: Option<f64>,
    /// Length of the averaging window, seconds.
    pub window_seconds: Option<f64>,
    /// The file that sets the limit.
    pub limit_file: String,
}

/// A reason for a lowered clock, as the processor reports it (Intel SDM volume 4: IA32_THERM_STATUS,
/// IA32_PACKAGE_THERM_STATUS, MSR_CORE_PERF_LIMIT_REASONS).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::Display, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum HeldBy {
    /// A signal from another component of the board: charger, voltage regulator, management controller.
    #[strum(to_string = "PROCHOT")]
    Prochot,
    /// The processor's own temperature.
    #[strum(to_string = "heat")]
    Heat,
    /// The firmware's limit on the average temperature.
    #[strum(to_string = "average temperature limit")]
    AverageHeat,
    /// The voltage regulator's temperature.
    #[strum(to_string = "voltage regulator heat")]
    RegulatorHeat,
    /// The voltage regulator's current.
    #[strum(to_string = "voltage regulator current")]
    RegulatorCurrent,
    /// The package's current.
    #[strum(to_string = "electrical current limit")]
    Current,
    /// The long-term power limit.
    #[strum(to_string = "power limit PL1")]
    LongPower,
    /// The short-term power limit.
    #[strum(to_string = "power limit PL2")]
    ShortPower,
}

/// The uncore clock of a die (`intel_uncore_frequency`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UncoreClock {
    /// The name of the die's directory: `package_00_die_00`.
    pub domain: String,
    /// The highest allowed clock, Hz.
    pub max_hz: u64,
    /// The highest clock that the firmware allowed at boot, Hz.
    pub initial_max_hz: u64,
}

/// A cooling device that lowers clocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cooling {
    /// The device's type: `Processor`, `cpufreq-cpu0`, `intel_powerclamp`.
    pub kind: String,
    /// The device's current step, above 0.
    pub step: u32,
    /// The device's highest step.
    pub highest_step: u32,
}
