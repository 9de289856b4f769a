//! Report-only knobs: linespeed never sets them, because they are the responsibility of someone else or cannot be
//! changed from this machine.

use machine::sensors::{power_supply, throttling};
use machine::text::bytes_field;
use record::text;
use record::text::Value;

use crate::compound_change::CompoundChange;
use crate::compound_change::swap::SwapAreas;
use crate::knob::{Adjustment, Inspection, Knob, KnobContext, Seen};

pub(super) fn inspect_irqbalance(_: &Knob, context: &KnobContext) -> Seen {
    let processes = context.numbered("/proc");
    let is_it = |pid: &&String| context.text(&format!("/proc/{pid}/comm")).as_deref() == Some("irqbalance");
    Ok(match processes.iter().find(is_it) {
        Some(pid) => {
            let stop = text!("sudo systemctl stop irqbalance; afterwards: sudo systemctl start irqbalance");
            Some(Inspection::noisy(format!("running (process {pid})"), "stopped", Adjustment::Manual(stop)))
        }
        None => (!processes.is_empty()).then(|| Inspection::steady("not running")),
    })
}

/// Maximum load average of an idle machine.
const AT_REST: f64 = 0.3;

pub(super) fn inspect_others(_: &Knob, context: &KnobContext) -> Seen {
    let load = context.text("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    Ok(load.filter(|load| load.is_finite() && *load >= 0.0).map(|load| {
        let now = format!("load average {load:.2}");
        if load <= AT_REST {
            return Inspection::steady(now);
        }
        let wait = text!("find the busy process with top -b -n1 | head -20, and wait until it exits");
        Inspection::noisy(now, "an idle machine", Adjustment::Manual(wait))
    }))
}

pub(super) fn inspect_quota(_: &Knob, context: &KnobContext) -> Seen {
    let Some(cpus) = context.quota else { return Ok(context.live.then(|| Inspection::steady("none"))) };
    let now = if cpus == 1.0 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") };
    let remove = text!("run outside the container, or remove its CPU limit");
    Ok(Some(Inspection::noisy(now, "none", Adjustment::Manual(remove))))
}

/// A disturbance whose share of the time since boot is below this limit does not affect a median.
const HIDDEN: f64 = 0.001;

pub(super) fn inspect_steal(_: &Knob, context: &KnobContext) -> Seen {
    let stat = context.text("/proc/stat").unwrap_or_default();
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or_default();
    let ticks: Vec<u64> = line.split_ascii_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
    let Some(stolen) = ticks.get(7) else { return Ok(None) };
    let all: u64 = ticks.iter().fold(0u64, |sum, ticks| sum.saturating_add(*ticks));
    let share = *stolen as f64 / all.max(1) as f64;
    let now = text!("{share} of CPU time since boot", share = Value::Share(share));
    if share < HIDDEN {
        return Ok(Some(Inspection::steady(now)));
    }
    let dedicated = text!("use dedicated CPUs or bare metal, or measure at another time of day");
    Ok(Some(Inspection::noisy(now, "none", Adjustment::Manual(dedicated))))
}

pub(super) fn inspect_throttling(_: &Knob, context: &KnobContext) -> Seen {
    let counted = throttling(context.files.root(), &context.online).into_values();
    Ok(counted.filter_map(|of| of.times).max().map(|most| {
        if most == 0 {
            return Inspection::steady("not since boot");
        }
        let now = text!("up to {most} times per CPU since boot");
        let cool = text!("improve cooling (fans, filters, room), or lower the power limits");
        Inspection::noisy(now, "never", Adjustment::Manual(cool))
    }))
}

pub(super) fn inspect_power(_: &Knob, context: &KnobContext) -> Seen {
    Ok(power_supply(context.files.root()).map(|supply| match supply.as_str() {
        "mains" => Inspection::steady("mains"),
        _ => Inspection::noisy("battery", "mains", Adjustment::Manual("plug it in".into())),
    }))
}

pub(super) fn inspect_swap(_: &Knob, context: &KnobContext) -> Seen {
    let Some(meminfo) = context.text("/proc/meminfo") else { return Ok(None) };
    Ok(Some(match ["SwapTotal", "SwapFree"].map(|key| bytes_field(&meminfo, key)) {
        [Some(0), _] => Inspection::steady("none"),
        [Some(all), Some(free)] if free < all => {
            let areas = SwapAreas::parse(&context.text("/proc/swaps").unwrap_or_default());
            let now = format!("{} in use", record::units::bytes(all - free));
            Inspection::noisy(now, "off", Adjustment::Compound(CompoundChange::Swap(areas)))
        }
        [Some(_), Some(_)] => Inspection::steady("none in use"),
        _ => Inspection::absent(text!("the kernel does not report swap usage")),
    }))
}
