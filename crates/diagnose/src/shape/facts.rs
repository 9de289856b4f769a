//! Where the CPUs were, as facts in which records differ.

use record::Record;
use record::live::Share;
use record::shape::Motion;

pub(crate) fn cpus_move(record: &Record) -> Option<String> {
    match record.diagnosis.shape.as_ref()?.motion {
        Motion::Floating => Some("yes".to_owned()),
        Motion::Pinned => Some("no".to_owned()),
        Motion::Unknown => None,
    }
}

pub(crate) fn cores_shared(record: &Record) -> Option<String> {
    let shape = record.diagnosis.shape.as_ref().filter(|shape| shape.motion != Motion::Unknown)?;
    Some(seen_in([shape.sharing, shape.sharing_busy]))
}

pub(crate) fn domains_hidden(record: &Record) -> Option<String> {
    let shape = record.diagnosis.shape.as_ref().filter(|shape| shape.motion != Motion::Unknown)?;
    Some(seen_in([shape.split, None]))
}

fn seen_in(shares: [Option<Share>; 2]) -> String {
    let most = shares.into_iter().flatten().map(|share| share.share).fold(0.0, f64::max);
    match most {
        0.0 => "not seen",
        1.0 => "in all looks",
        _ => "in some looks",
    }
    .to_owned()
}
