//! linespeed as people use it: its command line, its files, its exit codes, and the places that it runs in.

mod compare;
mod confined;
mod definitions;
mod distances;
mod import;
mod input;
mod inspect;
mod kept;
mod limited;
mod offline;
mod old_records;
mod output;
mod overhead;
mod plan;
mod prove;
mod quiet;
mod quiet_messages;
mod records;
mod reference;
mod scale;
mod scale_words;
mod signals;
mod stat;
mod stat_signals;
mod support;
mod words;
