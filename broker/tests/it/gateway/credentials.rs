//! Where the key comes from, and that it goes nowhere but up.

use std::io::Write;
use std::sync::{Arc, Mutex};

use hived::gateway::Credential;
use tracing_subscriber::fmt::MakeWriter;

use crate::gateway::kit::{Door, FAKE, KEY, Upstream};

/// Everything that was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

fn command(argv: &[&str]) -> Option<Credential> {
    let argv = argv.iter().map(|word| (*word).to_owned());
    Some(Credential::Command(argv.collect()))
}

#[tokio::test]
async fn a_command_prints_the_key() {
    let upstream = Upstream::open().await;
    let door = Door::with_credential(&upstream.url, command(&["echo", KEY]));
    let _client = door.send("POST /v1/messages HTTP/1.1", "{}").await;
    let (_wire, head) = upstream.take().await;
    assert!(head.contains(&format!("x-api-key: {KEY}\r\n")), "{head}");
}

#[tokio::test]
async fn without_a_key_the_answer_says_what_to_set() {
    let upstream = Upstream::open().await;
    let unset = Credential::Env("HIVE_TEST_NO_SUCH_VARIABLE".to_owned());
    for credential in [None, Some(unset)] {
        let answer = Door::with_credential(&upstream.url, credential)
            .post("{}")
            .await;
        assert_eq!(
            (answer.status, answer.error().as_str()),
            (401, "authentication_error")
        );
        assert!(answer.body.contains("hive.toml"), "{answer:?}");
        assert!(answer.body.contains("key_file"), "{answer:?}");
    }
    assert!(upstream.untouched().await);
}

#[tokio::test]
async fn nothing_secret_is_logged() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    // The test's runtime has one thread, so this sees every task.
    let guard = tracing::subscriber::set_default(subscriber);

    let upstream = Upstream::open().await;
    let door = Door::to(&upstream.url);
    let head = format!("POST /v1/messages HTTP/1.1\nx-api-key: {FAKE}");
    let mut client = door.send(&head, r#"{"prompt":"a private matter"}"#).await;
    let (mut wire, _) = upstream.take().await;
    wire.write("HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\na private answer")
        .await;
    assert_eq!(client.answer().await.status, 200);

    let gone = upstream.url.clone();
    drop((upstream, wire));
    assert_eq!(Door::to(&gone).post("{}").await.status, 502);

    // A command that fails after it printed something, one that prints no key, and none at all.
    let two_lines = door.dir().join("two-lines");
    std::fs::write(&two_lines, format!("{KEY}\n{KEY}\n")).unwrap();
    for credential in [
        command(&["sh", "-c", &format!("echo {KEY}; echo {KEY} >&2; exit 3")]),
        command(&["hive-test-no-such-program", KEY]),
        Some(Credential::File(two_lines)),
        Some(Credential::File(door.dir().join("none"))),
    ] {
        let answer = Door::with_credential(&gone, credential).post("{}").await;
        assert_eq!(answer.status, 401);
        assert!(!answer.body.contains(KEY), "{answer:?}");
    }
    drop(guard);

    let text = log.text();
    assert!(text.contains("the model key cannot be read"), "{text}");
    assert!(text.contains("a model call could not be made"), "{text}");
    for secret in [KEY, FAKE, "private"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}
