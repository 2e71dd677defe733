//! The tidy check: rules about the source text that neither rustc nor clippy knows.
//!
//! Each rule is a function from text to findings, so that a bad sample can show that it still bites.

mod exceptions;
mod layers;
mod markdown;
mod shape;
mod source;
mod tree;
mod words;

pub use exceptions::{EXCEPTIONS, Exception};
pub use layers::{foreign_crates, model_is_pure, no_sql_outside_store, no_store_at_the_edges};
pub use markdown::links;
pub use shape::{
    forgotten_modules, no_allow, no_bare_spawn, no_shell, no_sleep_in_tests, no_unwrap, one_binary,
    opens_with_its_job, sizes,
};
pub use source::Source;
pub use tree::{Tree, root};
pub use words::foreign_words;

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path from the workspace's root.
    pub path: String,
    /// From 1; 0 when it is about the whole file.
    pub line: usize,
    pub rule: &'static str,
    pub text: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}:{}: {}: {}",
            self.path, self.line, self.rule, self.text
        )
    }
}
