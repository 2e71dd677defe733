//! `hived` is killed at every step of a notification: from the event to the receiver's word.
//!
//! In CI a short form runs; `HIVE_CRASH=all` (`make crash`) takes every kill point.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use hive_proto::v1::{ListDeadRequest, RemoveAgentRequest};
use hive_tests::TestHive;
use hive_tests::receiver::{Post, Receiver};
use hive_tests::strace::{Fault, When, inject};
use hive_tests::wait::{pass, until};

use crate::crash::{amount, end_traced, is_gone};
use crate::notify::{SECRET, setup, until_all, webhook};

/// Sends to an agent and purges it, as far as the broker lives: its mail is dead then.
async fn purge_with_mail(hive: &TestHive, name: &str) -> bool {
    if hive.try_send(name, "for nobody", "once").await.is_err() {
        return false;
    }
    let request = RemoveAgentRequest {
        name: name.to_owned(),
        purge: true,
    };
    hive.operator().remove_agent(request).await.is_ok()
}

/// The dead letters' ids.
async fn dead(hive: &TestHive) -> BTreeSet<i64> {
    let list = hive.operator().list_dead(ListDeadRequest {}).await;
    let list = list.unwrap().into_inner().messages;
    list.iter().map(|message| message.id).collect()
}

/// What the receiver knows: each notification's things, whatever it was sent how often.
fn told(posts: &[Post]) -> BTreeMap<String, Vec<i64>> {
    let mut bodies: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for post in posts {
        assert!(post.is_signed_with(SECRET));
        let id = post.header("webhook-id").to_owned();
        let body = bodies.entry(id).or_insert_with(|| post.body.clone());
        assert_eq!(*body, post.body, "one id, two bodies");
    }
    let things = |body: &[u8]| -> Vec<i64> {
        let body: serde_json::Value = serde_json::from_slice(body).unwrap();
        let items = body["data"]["items"].as_array().unwrap();
        items
            .iter()
            .map(|one| one["id"].as_i64().unwrap())
            .collect()
    };
    bodies
        .iter()
        .map(|(id, body)| (id.clone(), things(body)))
        .collect()
}

async fn killed_at(calls: &str, points: impl Iterator<Item = u32>, least: u32) {
    let receiver = Receiver::start(Vec::new()).await;
    let mut hive = setup(vec![webhook(&receiver.url)]).start().await;
    let points: Vec<u32> = points.collect();
    for point in &points {
        hive.create(&format!("bee-{point}"), "").await;
    }
    hive.terminate().await;
    let mut killed = 0;
    for point in points {
        let name = format!("bee-{point}");
        let wrapper = inject(calls, Fault::Kill, When::Nth(point));
        let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
        let before = receiver.posts().len();
        hive.spawn(hive.wrapped_command(&wrapper));
        let (mut seen, mut purged) = (None, false);
        let start = Instant::now();
        loop {
            if is_gone(&mut hive, &mut seen) {
                killed += 1;
                break;
            }
            purged = purged || purge_with_mail(&hive, &name).await;
            // Where the kill comes after all of it, it does not come at all.
            if receiver.posts().len() > before && start.elapsed() > Duration::from_secs(4) {
                break;
            }
            pass(Duration::from_millis(10)).await;
        }
        end_traced(&mut hive).await;
        hive.start().await;
        // What came to nothing is done now; what is done already is refused.
        purge_with_mail(&hive, &name).await;
        let told_all = || async {
            let dead: Vec<i64> = dead(&hive).await.into_iter().collect();
            let mut things: Vec<i64> = told(&receiver.posts()).into_values().flatten().collect();
            things.sort_unstable();
            // More than there is, or one of them twice, never comes right.
            (things == dead).then_some(())
        };
        let what = format!("all is told that {calls} {point} came between");
        until(&what, Duration::from_secs(30), told_all).await;
        let sent = until_all(&hive, "sent", Duration::from_secs(30)).await;
        let rows: BTreeSet<_> = sent.iter().map(|row| row.webhook_id.clone()).collect();
        assert_eq!(rows.len(), sent.len());
        let told: BTreeSet<_> = told(&receiver.posts()).into_keys().collect();
        assert_eq!(told, rows, "killed at {calls} {point}");
        hive.terminate().await;
    }
    assert!(killed >= least, "only {killed} kills");
}

#[tokio::test]
async fn crash_at_every_fsync_of_a_notification() {
    // The last of a start, the send, the purge, the outbox, the try, its end.
    let points = amount(12, 40);
    killed_at("fsync,fdatasync", 3..3 + points, points / 2).await;
}

#[tokio::test]
async fn crash_as_the_receiver_is_called() {
    // Nobody else is connected to by such a hive.
    killed_at("connect", 1..=amount(1, 2), 1).await;
}
