//! Sentences capture the variables named in their placeholders, like `format!`: `text!("{cpus} CPUs are offline")`.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

use proc_macro::{Delimiter, Ident, Punct, Spacing, TokenStream, TokenTree};

/// Expands `path; "code", "words with {places}", place = value, …` to `path::text!(@all …)`. For each placeholder without a value, the
/// variable of the same name is appended.
#[proc_macro]
pub fn with_captured(input: TokenStream) -> TokenStream {
    let mut tokens = input.into_iter();
    let krate: TokenStream = tokens.by_ref().take_while(|token| !is_punct(token, ';')).collect();
    let mut all: Vec<TokenTree> = tokens.flat_map(without_group).collect();
    let Some(TokenTree::Literal(words)) = all.get(2).cloned() else { return all.into_iter().collect() };
    let named = named(&all);
    let mut captured: Vec<String> = Vec::new();
    for place in places(&words.to_string()) {
        if !named.contains(&place) && !captured.contains(&place) {
            captured.push(place);
        }
    }
    for name in captured {
        if !all.last().is_some_and(|last| is_punct(last, ',')) {
            all.push(Punct::new(',', Spacing::Alone).into());
        }
        all.push(Ident::new(&name, words.span()).into());
    }
    let all: TokenStream = all.into_iter().collect();
    let mut call: TokenStream = krate;
    call.extend("::text!".parse::<TokenStream>().unwrap_or_default());
    let mut inside: TokenStream = "@all".parse().unwrap_or_default();
    inside.extend(all);
    call.extend([TokenTree::from(proc_macro::Group::new(Delimiter::Parenthesis, inside))]);
    call
}

fn is_punct(token: &TokenTree, of: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == of)
}

/// Unwraps a literal that another macro passed on in a group without delimiters.
fn without_group(token: TokenTree) -> Vec<TokenTree> {
    match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            let inside: Vec<TokenTree> = group.stream().into_iter().collect();
            match inside.as_slice() {
                [TokenTree::Literal(_)] => inside,
                _ => vec![TokenTree::Group(group)],
            }
        }
        other => vec![other],
    }
}

/// The names of all arguments, with a value (`name = value`) or without one.
fn named(all: &[TokenTree]) -> Vec<String> {
    let begins = |at: usize| all.get(at - 1).is_some_and(|before| is_punct(before, ','));
    let ends = |at: usize| {
        all.get(at + 1).is_none_or(|after| match after {
            TokenTree::Punct(punct) if punct.as_char() == '=' => punct.spacing() == Spacing::Alone,
            after => is_punct(after, ','),
        })
    };
    let names = (3..all.len()).filter(|at| begins(*at) && ends(*at));
    names.filter(|at| matches!(all[*at], TokenTree::Ident(_))).map(|at| all[at].to_string()).collect()
}

/// The placeholders in a sentence's words, as written in the source.
fn places(source: &str) -> Vec<String> {
    let is_name = |name: &str| {
        let mut letters = name.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    // `\u{2026}` is a letter.
    let parts = source.split('{').zip(source.split('{').skip(1));
    let inside = parts.filter(|(before, _)| !before.ends_with("\\u"));
    inside
        .filter_map(|(_, after)| after.split_once('}'))
        .map(|(name, _)| name.to_owned())
        .filter(|name| is_name(name))
        .collect()
}
