//! The losses of a resource, from its ceiling down to what is delivered, as bars that fall.

use maud::html;
use record::Record;

use super::{Section, bars, section};
use crate::chart::bars::{Bar, Bars, Fill, Piece};
use crate::contents::loss_breakdown::{self, Kind, Row};

/// Where all of them stand.
pub(super) const ID: &str = "losses";

/// All breakdowns of a record.
pub(super) fn breakdowns(record: &Record) -> Section {
    let drawn = record.diagnosis.loss_breakdowns.iter().map(|found| {
        let doubt = loss_breakdown::doubt(record, found);
        let title =
            doubt.map_or(found.resource.clone(), |doubt| format!("{}: unreliable, {doubt}", found.resource));
        let rows = loss_breakdown::rows(found).iter().map(|row| step(row, doubt.is_some())).collect();
        bars::draw(&Bars { title, rows, ..Bars::default() })
    });
    let inside = html! {
        @if !record.diagnosis.loss_breakdowns.is_empty() { div class="flow long" { @for one in drawn { (one) } } }
    };
    section(ID, "From line speed down to what is delivered", inside)
}

fn step(row: &Row, unreliable: bool) -> Bar {
    let fill = match row.kind {
        Kind::Ceiling | Kind::Delivered => Fill::Plain,
        Kind::Loss => Fill::Lost,
        Kind::Unexplained => Fill::Nobody,
    };
    let piece = Piece::new(row.from, row.to, fill, format!("{}: {}", row.label, row.figure));
    Bar {
        name: row.label.clone(),
        how: row.how.clone(),
        pieces: vec![Piece { unreliable: unreliable && row.kind == Kind::Delivered, ..piece }],
        figure: row.figure.clone(),
        beside: row.share.clone(),
        strong: row.kind == Kind::Delivered,
    }
}
