//! hive-tests: the kit that the end-to-end and crash tests share, and the tidy check.

pub mod tidy;
