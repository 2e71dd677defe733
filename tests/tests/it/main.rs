//! The one binary of the tests that need whole programs; each file is one feature.

mod tidy;
