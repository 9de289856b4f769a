//! Imports for all rules.

pub(super) use record::diagnosis::{Confidence, Evidence, Finding, Relevance, Severity};
pub(super) use record::difference::Verdict;
pub(super) use record::text::Value;
pub(super) use record::{
    Better, Coverage, CpuList, KnobName, KnobValue, Label, Machine, Measurement, Remedy, State, Template,
    Text, detail, metrics, text,
};

pub(super) use super::draft::{reason, remedies};
pub(super) use super::{Case, Draft, Rule, costs};
pub(super) use crate::figures::*;
