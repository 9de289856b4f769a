//! Records as text and as pages, of made-up machines of every shape.

mod html;
mod matrices;
mod plans;
mod random;
mod references;
mod reports;
mod shown;
mod support;
mod whole;
