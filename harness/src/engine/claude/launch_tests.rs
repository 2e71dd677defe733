//! Tests of `launch.rs`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn env(root: &Path) -> EngineEnv {
    let dir = |name: &str| {
        let dir = root.join(name);
        fs::create_dir_all(&dir).unwrap();
        dir
    };
    EngineEnv {
        state: dir("state"),
        home: dir("home"),
        harness: dir("harness"),
        run: dir("run"),
        engines: dir("engines"),
        gateway_url: "http://127.0.0.1:4000".to_owned(),
        mcp_url: "http://127.0.0.1:4001/mcp".to_owned(),
        mcp_token: "secret-token".to_owned(),
        system_prompt: "You are alpha.".to_owned(),
        config: hive_proto::v1::EngineConfig::default(),
        children: crate::proc::Children::default(),
        tools: hive_proto::v1::ToolRule::default(),
    }
}

fn install(env: &EngineEnv) {
    let dir = env.engines.join("claude/2.1.332");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("claude"), b"x").unwrap();
    fs::set_permissions(dir.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
}

fn inherited(vars: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    vars.iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

#[test]
fn without_an_engine_the_error_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let error = Launch::new(&env(dir.path()), &Rule::default(), []).unwrap_err();
    assert!(error.to_string().contains("hive engine install claude"));
}

#[test]
fn the_environment_is_clean_and_the_key_is_a_word() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(dir.path());
    install(&env);
    let vars = inherited(&[
        ("PATH", "/bin"),
        ("HIVE_AGENT", "alpha"),
        ("ANTHROPIC_API_KEY", "sk-real"),
        ("ANTHROPIC_AUTH_TOKEN", "real"),
        ("AWS_SECRET_ACCESS_KEY", "real"),
        ("https_proxy", "http://elsewhere"),
        ("HOME", "/root"),
    ]);
    let launch = Launch::new(&env, &Rule::default(), vars).unwrap();
    let get = |name: &str| {
        let all: Vec<_> = launch.env.iter().filter(|(key, _)| key == name).collect();
        assert!(all.len() <= 1, "{name} is set twice");
        all.first()
            .map(|(_, value)| value.to_string_lossy().into_owned())
    };
    assert_eq!(get("HIVE_AGENT").as_deref(), Some("alpha"));
    assert_eq!(get("ANTHROPIC_API_KEY").as_deref(), Some("hive"));
    assert_eq!(
        get("ANTHROPIC_BASE_URL").as_deref(),
        Some("http://127.0.0.1:4000")
    );
    assert_eq!(get("https_proxy").as_deref(), Some("http://127.0.0.1:4000"));
    assert_eq!(get("HOME"), Some(env.home.display().to_string()));
    assert_eq!(
        get("CLAUDE_CONFIG_DIR"),
        Some(env.home.join(".claude").display().to_string())
    );
    assert_eq!(
        (get("ANTHROPIC_AUTH_TOKEN"), get("AWS_SECRET_ACCESS_KEY")),
        (None, None)
    );
}

#[test]
fn the_files_are_private_and_the_token_is_in_no_argument() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(dir.path());
    install(&env);
    let vars = inherited(&[("TMPDIR", &dir.path().display().to_string())]);
    let launch = Launch::new(&env, &Rule::default(), vars).unwrap();
    launch.prepare().unwrap();
    launch.prepare().unwrap();
    let mut seen = 0;
    for entry in fs::read_dir(&env.run).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        seen += 1;
    }
    assert_eq!(seen, 3);
    assert_eq!(
        fs::metadata(&launch.tmp).unwrap().permissions().mode() & 0o777,
        0o700
    );
    let told = format!("{:?} {:?}", launch.args, launch.env);
    assert!(!told.contains("secret-token"));
    let config = fs::read_to_string(env.run.join("claude-mcp-config.json")).unwrap();
    assert!(config.contains("Bearer secret-token"));
}

#[test]
fn a_directory_for_temporary_files_that_is_a_link_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(dir.path());
    install(&env);
    let vars = inherited(&[("TMPDIR", &dir.path().display().to_string())]);
    let launch = Launch::new(&env, &Rule::default(), vars).unwrap();
    std::os::unix::fs::symlink(dir.path(), &launch.tmp).unwrap();
    assert!(matches!(launch.prepare(), Err(LaunchError::ForeignTmp(_))));
}

#[test]
fn a_changed_prompt_model_server_or_rule_makes_another_launch() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(dir.path());
    install(&env);
    let launch = |env: &EngineEnv| {
        let rule = Rule::new(&env.config.allowed_bash_patterns);
        Launch::new(env, &rule, []).unwrap()
    };
    let first = launch(&env);
    assert_eq!(first, launch(&env));
    let changes: [fn(&mut EngineEnv); 5] = [
        |env| env.tools.all = true,
        |env| env.system_prompt.push('!'),
        |env| env.config.model = "opus".to_owned(),
        |env| env.mcp_url.push('x'),
        |env| env.config.allowed_bash_patterns.push("git *".to_owned()),
    ];
    for change in changes {
        let mut other = env.clone();
        change(&mut other);
        assert_ne!(launch(&other), first);
    }
}

#[test]
fn a_known_conversation_is_resumed_and_a_new_one_begun() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(dir.path());
    install(&env);
    let launch = Launch::new(&env, &Rule::default(), []).unwrap();
    let session = crate::engine::claude::session::SessionFile::in_dir(&env.harness)
        .load()
        .unwrap();
    let id = session.id.to_string();
    let tail = |launch: &Launch| {
        let args = launch.args_for(&session);
        args[args.len() - 2..].to_vec()
    };
    assert_eq!(tail(&launch), ["--session-id", &id]);
    let project = env.home.join(".claude/projects/-x");
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join(format!("{id}.jsonl")), b"").unwrap();
    assert_eq!(tail(&launch), ["--resume", &id]);
    assert!(!launch.args.contains(&"--continue".into()));
}
