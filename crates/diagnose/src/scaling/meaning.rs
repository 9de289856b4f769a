//! Sentences that explain a workload's steps and their fit.

use record::diagnosis::Scaling;
use record::text::Value;
use record::units::digits_within;
use record::{Text, text};

use super::{CORES_FIRST, POOR};
use crate::figures::RESOLUTION;
use crate::usl::FitDoubt;

/// If the fit's single-thread throughput is less than this share of the measured single-thread throughput, threads share cores.
const ALONE: f64 = 0.9;
/// A throughput peak is reported only up to this multiple of the last step's thread count, because the law is a mere extrapolation beyond
/// that.
const FAR: f64 = 4.0;

/// Explains the steps of one workload and placement. `one` is the throughput of one thread; `has_interval` is set if both the single-thread
/// step and the last step were measured often enough for a 95 % CI.
pub(super) fn meaning(
    scaling: &Scaling,
    one: f64,
    cores: Option<u32>,
    doubt: Option<FitDoubt>,
    has_interval: bool,
) -> Text {
    let Scaling { threads, speedup, .. } = *scaling;
    if scaling.steps.last().is_some_and(|last| !scaling.is_possible(last)) {
        return text!(
            "scaling-disturbed",
            "{threads} threads seem more than {threads} times as fast as one: the single-thread run was disturbed, so the speedup is unknown."
        );
    }
    let mut says = text!(
        "scaling-speed-up",
        "{threads} threads achieve {speedup} the throughput of one.",
        speedup = Value::Rounded(
            Box::new(Value::Factor(speedup)),
            digits_within(speedup, scaling.speedup_interval)
        )
    );
    if scaling.is_too_noisy() {
        let (low, high) = scaling.speedup_interval.unwrap_or((speedup, speedup));
        says.push(text!(
            "scaling-too-noisy",
            "Too noisy for further conclusions: the 95 % CI of the speedup is {low} to {high}.",
            low = Value::Factor(low),
            high = Value::Factor(high)
        ));
        return says;
    }
    if let Some(doubt) = doubt {
        says.push(doubt.describe());
        return says;
    }
    // The single-CPU run varies as well, so a cause is reported only if the interval excludes linear scaling. Without an interval, the
    // range of a few runs must exclude linear scaling by more than the difference that two runs may have.
    let linear = f64::from(threads) * if has_interval { 1.0 } else { 1.0 + POOR };
    let surely = scaling.speedup_interval.is_some_and(|(low, _)| low > linear);
    if surely && speedup > f64::from(threads) * (1.0 + POOR) {
        says.push(text!(
            "scaling-superlinear",
            "Superlinear: the single-thread run had a lower clock, less cache or less local memory."
        ));
    }
    let alone = scaling.rate / one;
    if scaling.points > 2 && scaling.residual <= POOR && alone < ALONE {
        says.push(text!(
            "scaling-from-shared-core",
            "With all threads running, each achieves {share} of single-thread speed.",
            share = Value::Share(alone)
        ));
    }
    says.push(fit(scaling));
    if let Some(knee) = scaling.knee {
        let siblings = scaling.placement == CORES_FIRST && cores == Some(knee) && knee < threads;
        says.push(if siblings {
            text!(
                "scaling-knee-at-siblings",
                "The knee is at {knee}, where SMT siblings begin to share cores: each further thread adds less than half a thread's speed.")
        } else {
            text!("scaling-knee", "The knee is at {knee}: each further thread adds less than half a thread's speed.")
        });
    }
    says
}

/// Conclusions from the fit about serialized work and coherency.
fn fit(scaling: &Scaling) -> Text {
    let Scaling { threads, contention, coherency, residual, points, .. } = *scaling;
    let share = Value::Share(contention);
    if points == 2 {
        return match contention > RESOLUTION {
            true => {
                text!("scaling-two-steps", "Based on only two steps: {share} of the work is serialized.")
            }
            false => Text::default(),
        };
    }
    if residual > POOR {
        let residual = Value::Share(residual);
        return text!("The fit is unreliable: it deviates from the results by {residual}.");
    }
    // The loss at the last step of the fit; a loss below the resolution of a result counts as zero.
    let fitted = scaling.fitted.map_or(threads, |(_, most)| most);
    let last = f64::from(fitted);
    let costs = [contention * (last - 1.0), coherency * last * (last - 1.0)];
    let all = 1.0 + costs[0] + costs[1];
    let [serialized, coherent] = costs.map(|cost| cost / all >= RESOLUTION);
    let mut says = match (serialized, coherent) {
        (false, false) => {
            text!("scaling-fit-linear", "The fit shows neither serialized work nor coherency cost.")
        }
        (true, false) => {
            text!("According to the fit, {share} of the work is serialized.")
        }
        (false, true) => text!("According to the fit, coherency cost limits scaling."),
        (true, true) => text!(
            "scaling-fit-both",
            "According to the fit, {share} of the work is serialized, and coherency cost further limits scaling."
        ),
    };
    let peak = peak(scaling).max(1.0).round();
    if coherent && peak <= f64::from(threads) * FAR {
        let peak = peak as u64;
        says.push(text!("scaling-peak", "Throughput peaks at {peak} threads, then declines."));
    }
    if fitted < threads {
        says.push(text!(
            "scaling-fitted-to-cores",
            "The fit covers {cores} cores, without siblings.",
            cores = fitted
        ));
    }
    says
}

/// The thread count at which the throughput according to the law has its peak.
fn peak(scaling: &Scaling) -> f64 {
    ((1.0 - scaling.contention).max(0.0) / scaling.coherency).sqrt()
}
