//! What must not come out of a notification: a program that nobody ends, a secret that a receiver
//! says back.

use std::time::Duration;

use hived::model::concern::Concern;
use hived::model::event::Kind;
use hived::notify::{Address, Format, Notify, Source, Way, Webhook};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::kit::Core;
use crate::notify::{channel, file, happen, notify, program, rows, settle};
use crate::receiver::{Answer, Receiver};

/// Where a program calls when it runs; the connection lasts as long as any of its processes.
struct Line(TcpListener);

// === impl Line ===

impl Line {
    async fn open() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    /// A program that calls, says its id, and goes on so.
    fn script(&self, then: &str) -> String {
        let port = self.0.local_addr().unwrap().port();
        format!(
            "#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/{port}\n{then}\necho \"$HIVE_NOTIFY_ID\" >&3\n\
             read -r _ <&3\n"
        )
    }

    /// The next program's id and its connection.
    async fn call(&self) -> (String, BufReader<TcpStream>) {
        let (stream, _) = self.0.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        let mut id = String::new();
        stream.read_line(&mut id).await.unwrap();
        (id, stream)
    }
}

/// Waits until nothing of a program is left.
async fn is_gone(mut line: BufReader<TcpStream>) {
    let mut rest = Vec::new();
    let end = tokio::time::timeout(Duration::from_secs(20), line.read_to_end(&mut rest));
    // A broken connection is as much of an end.
    assert!(end.await.is_ok(), "something of the program lives on");
}

async fn fail(core: &Core) {
    happen(
        core,
        Kind::MessageDead,
        None,
        json!({"id": 1, "why": "crashed"}),
    )
    .await;
}

/// A child in a session of its own, which ends by itself after an hour.
const CHILD: &str = "setsid sleep 3600 &";

#[tokio::test(flavor = "multi_thread")]
async fn a_test_that_nobody_waits_for_any_more_leaves_nothing_behind() {
    let core = Core::new();
    let line = Line::open().await;
    let mut desk = channel("desk", program(&core, &line.script(CHILD)));
    desk.timeout = Duration::from_millis(1500);
    let told = notify(&core, vec![desk]).await;
    let mut testing = Box::pin(told.test(None));
    let (_, running) = tokio::select! {
        tried = &mut testing => panic!("{tried:?}"),
        running = line.call() => running,
    };
    drop(testing);
    is_gone(running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_hived_was_running_is_ended_by_the_next_one() {
    for is_kept in [true, false] {
        let core = Core::new();
        let line = Line::open().await;
        let desk = channel("desk", program(&core, &line.script(CHILD)));
        let told = notify(&core, vec![desk.clone()]).await;
        fail(&core).await;
        let mut trying = Box::pin(told.step("desk"));
        let (_, running) = tokio::select! {
            step = &mut trying => panic!("{step:?}"),
            running = line.call() => running,
        };
        drop(trying);
        let core = core.restart();
        // Also when hive.toml names the channel no more.
        let channels = match is_kept {
            true => vec![desk],
            false => Vec::new(),
        };
        let _next: Notify = notify(&core, channels).await;
        is_gone(running).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_programs_that_are_told_of_a_full_disk_do_not_end_each_other() {
    let core = Core::new();
    let line = Line::open().await;
    let way = program(&core, &line.script(""));
    let channels = vec![channel("desk", way.clone()), channel("wall", way)];
    let told = notify(&core, channels).await;
    let crying = told.cry(Concern::Disk, "the disk is full");
    let answering = async {
        let (one, mut first) = line.call().await;
        let (other, mut second) = line.call().await;
        assert_ne!(one, other);
        for line in [&mut first, &mut second] {
            line.get_mut().write_all(b"go on\n").await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(20), async {
        tokio::join!(crying, answering)
    })
    .await
    .expect("both are told");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_says_a_secret_url_back_does_not_make_it_known() {
    let core = Core::new();
    let secret = "T000/quite-secret-part";
    let said = format!("Cannot POST /hook/{secret}: no service quite-secret-part");
    let receiver = Receiver::start(vec![Answer::Saying(404, said)]).await;
    let url = format!("{}/{secret}", receiver.url);
    let webhook = Webhook {
        address: Address::Secret(Source::File(file(&core, "url", &url))),
        secret: None,
        token: None,
        format: Format::Slack,
        allow_http: false,
    };
    let told = notify(&core, vec![channel("slack", Way::Webhook(webhook))]).await;
    fail(&core).await;
    settle(&told, "slack").await;
    let why = rows(&told).await.remove(0).last_error;
    assert!(why.contains("404") && why.contains("no service"), "{why}");
    assert!(!why.contains("quite-secret"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_in_a_pipe_that_nobody_fills_holds_nothing_up() {
    let core = Core::new();
    let pipe = file(&core, "pipe", "");
    std::fs::remove_file(&pipe).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, mode, 0).unwrap();
    let webhook = Webhook {
        address: Address::Secret(Source::File(pipe.clone())),
        secret: None,
        token: None,
        format: Format::Slack,
        allow_http: false,
    };
    let told = notify(&core, vec![channel("slack", Way::Webhook(webhook))]).await;
    let tested = tokio::time::timeout(Duration::from_secs(20), told.test(None)).await;
    // Whoever waits in it is let go, so that a failure ends too.
    let _ = rustix::fs::open(
        &pipe,
        rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NONBLOCK,
        rustix::fs::Mode::empty(),
    );
    let why = tested.expect("an answer").unwrap().remove(0).error;
    assert_eq!(why.as_deref(), Some("the URL: what was read is empty"));
}
