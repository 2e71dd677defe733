//! The workspace keeps its own rules, and each rule still finds what it is for.

use hive_tests::tidy::{self, Finding, Source, Tree};

type Rule = fn(&Source) -> Vec<Finding>;

#[test]
fn the_workspace_is_tidy() {
    let tree = Tree::read(&tidy::root()).unwrap();
    assert!(
        tree.files.len() > 50,
        "the walk found almost nothing: {}",
        tree.files.len()
    );
    let findings = tree.findings();
    let list: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(
        list.is_empty(),
        "{} findings:\n{}",
        list.len(),
        list.join("\n")
    );
}

/// What `rule` says about a file `path` with this text.
fn found(rule: Rule, path: &str, text: &str) -> usize {
    rule(&Source::new(path, text)).len()
}

const SERVICE: &str = "broker/src/inbox.rs";

#[test]
fn long_files_and_functions_are_found() {
    let file = |lines| "// x\n".repeat(lines);
    assert_eq!(found(tidy::sizes, SERVICE, &file(600)), 0);
    assert_eq!(found(tidy::sizes, SERVICE, &file(601)), 1);
    // Inline tests do not count.
    let tested = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", file(600), file(300));
    assert_eq!(found(tidy::sizes, SERVICE, &tested), 0);
    let function = |lines| {
        format!(
            "fn f(x: [u8; 2]) -> String {{\n{}}}\n",
            "    a();\n".repeat(lines)
        )
    };
    assert_eq!(found(tidy::sizes, SERVICE, &function(98)), 0);
    assert_eq!(found(tidy::sizes, SERVICE, &function(99)), 1);
    // A brace in a string or a comment closes nothing.
    let tricky = "fn f() {\n let x = \"}\"; // }\n let y = '}'; let z = r#\"}\"#;\n".to_owned()
        + &"    a();\n".repeat(100)
        + "}\n";
    assert_eq!(found(tidy::sizes, SERVICE, &tricky), 1);
}

#[test]
fn a_file_without_its_job_is_found() {
    assert_eq!(
        found(
            tidy::opens_with_its_job,
            SERVICE,
            "//! Queues and hands out messages.\n"
        ),
        0
    );
    assert_eq!(
        found(tidy::opens_with_its_job, SERVICE, "use std::fmt;\n"),
        1
    );
    assert_eq!(found(tidy::opens_with_its_job, SERVICE, "//! TODO\n"), 1);
}

#[test]
fn calls_that_are_not_allowed_are_found() {
    let cases: [(Rule, &str, usize); 12] = [
        (tidy::no_allow, "#[allow(dead_code)]\nfn f() {}", 1),
        (
            tidy::no_allow,
            "// #[allow(dead_code)]\n#[expect(dead_code, reason = \"x\")]\nfn f() {}",
            0,
        ),
        (
            tidy::no_unwrap,
            "fn f() { x().unwrap(); y().expect(\"z\"); }",
            2,
        ),
        (
            tidy::no_unwrap,
            "fn f() { x().unwrap_or(1); }\n#[cfg(test)]\nmod tests { fn g() { x().unwrap(); } }",
            0,
        ),
        (tidy::no_bare_spawn, "fn f() { tokio::spawn(async {}); }", 1),
        (
            tidy::no_bare_spawn,
            "fn f() { tasks.spawn(\"x\", async {}); tokio::task::spawn_blocking(g); }",
            0,
        ),
        (
            tidy::no_sleep_in_tests,
            "#[cfg(test)]\nmod tests { fn g() { tokio::time::sleep(D).await; } }",
            1,
        ),
        (
            tidy::no_sleep_in_tests,
            "async fn f() { tokio::time::sleep(D).await; }",
            0,
        ),
        (
            tidy::no_shell,
            "fn f() { Command::new(\"sh\").arg(\"-c\"); }",
            1,
        ),
        (
            tidy::no_shell,
            "fn f() { Command::new(\"git\").arg(\"sh\"); }",
            1,
        ),
        (
            tidy::no_shell,
            "fn f() { Command::new(\"git\").arg(\"log\"); }",
            0,
        ),
        (tidy::no_shell, "fn f() { println!(\"sh\"); }", 0),
    ];
    for (rule, text, expected) in cases {
        assert_eq!(found(rule, SERVICE, text), expected, "{text}");
    }
}

#[test]
fn layers_that_reach_past_each_other_are_found() {
    let cases: [(Rule, &str, &str, usize); 15] = [
        (
            tidy::no_sql_outside_store,
            SERVICE,
            "const Q: &str = \"SELECT 1 FROM x\";",
            1,
        ),
        (
            tidy::no_sql_outside_store,
            SERVICE,
            "const Q: &str = \"Select a file\";",
            0,
        ),
        (
            tidy::no_sql_outside_store,
            "broker/src/store/x.rs",
            "const Q: &str = \"SELECT 1\";",
            0,
        ),
        (
            tidy::foreign_crates,
            SERVICE,
            "use rusqlite::Connection;",
            1,
        ),
        (
            tidy::foreign_crates,
            "broker/src/store/x.rs",
            "use rusqlite::Connection;",
            0,
        ),
        (
            tidy::foreign_crates,
            SERVICE,
            "// tonic::Status\nfn f() -> tonic::Status {}",
            1,
        ),
        (
            tidy::foreign_crates,
            "harness/src/turn/x.rs",
            "use rmcp::model::Tool;",
            1,
        ),
        (
            tidy::foreign_crates,
            "broker/src/agents/x.rs",
            "use bollard::Docker;",
            1,
        ),
        (
            tidy::foreign_crates,
            "broker/src/rpc/x.rs",
            "use axum::Router;",
            1,
        ),
        (
            tidy::model_is_pure,
            "broker/src/model/x.rs",
            "use crate::store::Store;",
            1,
        ),
        (
            tidy::model_is_pure,
            "broker/src/model/x.rs",
            "use hive_proto::Refusal;",
            1,
        ),
        (
            tidy::model_is_pure,
            "broker/src/model/x.rs",
            "use hive_proto::ids::AgentId;\nuse crate::model::y;",
            0,
        ),
        (
            tidy::no_store_at_the_edges,
            "broker/src/rpc/x.rs",
            "use crate::store::messages;",
            1,
        ),
        (
            tidy::no_store_at_the_edges,
            "broker/src/web/x.rs",
            "fn f(h: Hive) { h.store.read(g); }",
            1,
        ),
        (
            tidy::no_store_at_the_edges,
            "broker/src/rpc/x.rs",
            "fn f() { S { store: None }; flag.store(true, O); }",
            0,
        ),
    ];
    for (rule, path, text, expected) in cases {
        assert_eq!(found(rule, path, text), expected, "{path}: {text}");
    }
}

#[test]
fn forgotten_files_and_second_binaries_are_found() {
    let source = |path: &str, text: &str| Source::new(path, text);
    let kept = [
        source("broker/src/lib.rs", "pub mod a;\nmod b;\nmod e;\n"),
        source("broker/src/a.rs", "mod c;\n"),
        source("broker/src/a/c.rs", ""),
        source("broker/src/b/mod.rs", ""),
        source("broker/src/main.rs", ""),
        source("broker/src/e.rs", "#[path = \"e_tests.rs\"]\nmod tests;\n"),
        source("broker/src/e_tests.rs", ""),
        source("broker/tests/it.rs", ""),
    ];
    assert_eq!(tidy::forgotten_modules(&kept), []);
    let mut lost = kept.to_vec();
    lost.push(source("broker/src/a/d.rs", ""));
    lost.push(source("tests/tests/it/gone.rs", ""));
    lost.push(source("broker/src/f_tests.rs", ""));
    assert_eq!(tidy::forgotten_modules(&lost).len(), 3);
    let paths = [
        "tests/tests/it/a.rs",
        "tests/tests/it/b.rs",
        "tests/src/a.rs",
        "tests/tests/other.rs",
        "broker/tests/x.rs",
    ];
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    assert_eq!(tidy::one_binary(&paths).len(), 1);
}

#[test]
fn words_of_one_machine_are_found() {
    let home = ["see /wo", "rk/x"].concat();
    let registry = ["https://registry.npm", "js.org/x"].concat();
    assert_eq!(tidy::foreign_words("docs/x.md", &home).len(), 1);
    assert_eq!(tidy::foreign_words("docs/x.md", &registry).len(), 1);
    assert_eq!(
        tidy::foreign_words("docs/x.md", &home.replace("see ", "/var")).len(),
        0
    );
}

#[test]
fn links_to_nowhere_are_found() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("docs")).unwrap();
    std::fs::write(root.path().join("docs/b.md"), "# Two words, here\n").unwrap();
    let check = |text: &str| tidy::links(root.path(), "docs/a.md", text).len();
    assert_eq!(
        check("[b](b.md) [b](b.md#two-words-here) [w](https://example.org/x)"),
        0
    );
    assert_eq!(check("[b](c.md)"), 1);
    assert_eq!(check("[b](b.md#three)"), 1);
    assert_eq!(check("# Here\n[x](#here) [y](#there)"), 1);
    assert_eq!(check("```\n[b](c.md)\n```"), 0);
}
