//! Where a rule does not hold, each with its reason.

/// One place that a rule leaves out.
#[derive(Clone, Copy, Debug)]
pub struct Exception {
    pub rule: &'static str,
    /// A file, or a folder when it ends with `/`.
    pub path: &'static str,
    pub reason: &'static str,
}

/// All of them. An exception that nothing needs any more is a finding itself.
pub const EXCEPTIONS: &[Exception] = &[
    Exception {
        rule: "allow",
        path: "proto/src/lib.rs",
        reason: "generated code: which lints it trips changes with the generator",
    },
    Exception {
        rule: "sleep",
        path: "tests/src/wait.rs",
        reason: "the one place that polls, always with a deadline",
    },
    Exception {
        rule: "sql",
        path: "tests/benches/src/peers/postgres.rs",
        reason: "PostgreSQL as a queue is one of the things that hive is measured beside",
    },
    Exception {
        rule: "shell",
        path: "harness/src/engine/scripted/shell.rs",
        reason: "a script's `shell` step is a command line by definition; what is filled in is quoted",
    },
];
