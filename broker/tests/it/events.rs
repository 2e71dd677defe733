//! Watching: no gap, no matter when it begins.

use futures::StreamExt;
use hive_proto::ids::EventSeq;
use hived::events::Since;
use hived::inbox::Sender;

use crate::kit::Core;

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_resumes_without_a_gap_and_goes_on_live() {
    let core = Core::new();
    core.agent("scout").await;
    core.agent("coder").await;
    core.send(Sender::Operator, "scout", "1").await;
    let since = Since::After(EventSeq(0));
    let mut watch = core.events.watch(since, String::new()).await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(watch.next().await.unwrap().unwrap());
    }
    let middle = seen[1].seq;
    // The first watch waits by now; a second one resumes in the middle.
    core.send(Sender::Operator, "scout", "2").await;
    let mut resumed = core
        .events
        .watch(Since::After(middle), String::new())
        .await
        .unwrap();
    let mut second = Vec::new();
    for _ in 0..2 {
        second.push(resumed.next().await.unwrap().unwrap());
    }
    let live = watch.next().await.unwrap().unwrap();
    assert_eq!(second, [seen[2].clone(), live]);
    let kinds: Vec<_> = seen.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["agent.created", "agent.created", "message.queued"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_of_one_agent_skips_the_others_and_ends_with_the_daemon() {
    let core = Core::new();
    core.agent("scout").await;
    core.agent("coder").await;
    let mut watch = core.events.watch(Since::Now, "coder".into()).await.unwrap();
    for _ in 0..600 {
        core.send(Sender::Operator, "scout", "x").await;
    }
    core.send(Sender::Operator, "coder", "quartz").await;
    let event = watch.next().await.unwrap().unwrap();
    assert_eq!(
        (event.agent.as_str(), event.kind.as_str()),
        ("coder", "message.queued")
    );
    assert!(!event.data.contains("quartz"), "{}", event.data);
    core.tasks.stop();
    assert!(watch.next().await.is_none());
}
