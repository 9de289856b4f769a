//! A derive macro that does nothing. JSON Schemas are generated only in the tests of `record`, and the code that generates them
//! takes longer to compile than the types themselves, so all other builds of `record` derive this macro instead.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

use proc_macro::TokenStream;

/// Generates nothing, and accepts the attributes of `schemars`.
#[proc_macro_derive(JsonSchema, attributes(schemars))]
pub fn generate_nothing(_: TokenStream) -> TokenStream {
    TokenStream::new()
}
