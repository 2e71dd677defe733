//! The broker is killed at every fsync of a request, its approval, its effect and its firing: each is
//! there once, and nothing is stuck.

use std::time::{Duration, Instant};

use hive_proto::v1::{DecideApprovalRequest, Decision, GetScheduleRequest, Reason};
use hive_tests::TestHive;
use hive_tests::client::{Code, Status, refusal};
use hive_tests::strace::{Fault, When, inject};
use hive_tests::wait::{SOON, pass, until};

use crate::approvals::{crew, now_ms, request};
use crate::crash::{SYNC, amount, end_traced, is_gone};

/// One request from its beginning to its message; every step may be made again.
async fn play(hive: &TestHive, key: &str, at_ms: i64) -> Result<i64, Status> {
    let mut lead = hive.manager("lead");
    let asked = lead.request_schedule_prompt(request(key, at_ms, key));
    let id = asked.await?.into_inner().approval_id;
    let decision = DecideApprovalRequest {
        id,
        decision: Decision::Approve.into(),
        ..DecideApprovalRequest::default()
    };
    match hive.operator().decide_approval(decision).await {
        Err(status) if refusal(&status).reason != Reason::AlreadyDecided => Err(status),
        Ok(_) | Err(_) => Ok(id),
    }
}

/// How often each thing is there that must be there once.
async fn counted(hive: &TestHive, key: &str, approval: i64) -> (usize, usize, usize, usize) {
    let all = hive_proto::v1::ListSchedulesRequest { all: true };
    let schedules = hive
        .operator()
        .list_schedules(all)
        .await
        .unwrap()
        .into_inner();
    let mine: Vec<_> = schedules
        .schedules
        .iter()
        .filter(|schedule| schedule.body == key)
        .collect();
    let mut slots = 0;
    for schedule in &mine {
        let get = GetScheduleRequest {
            id: schedule.id,
            limit: 0,
        };
        let detail = hive
            .operator()
            .get_schedule(get)
            .await
            .unwrap()
            .into_inner();
        slots += detail.occurrences.len();
    }
    let messages = hive.mailbox("ant").await;
    let messages = messages.iter().filter(|message| message.body == key);
    let told = hive.mailbox("lead").await;
    let mark = format!("\"id\":{approval},");
    let told = told.iter().filter(|message| message.body.contains(&mark));
    (mine.len(), slots, messages.count(), told.count())
}

#[tokio::test]
async fn crash_at_every_fsync_of_a_decision_and_its_firing() {
    let mut hive = TestHive::builder().by_hand().start().await;
    crew(&mut hive).await;
    hive.terminate().await;
    let points = amount(8, 40);
    let mut killed = 0;
    for point in 1..=points {
        let key = format!("point {point}");
        let at_ms = now_ms();
        let wrapper = inject(SYNC, Fault::Kill, When::Nth(point));
        let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
        hive.spawn(hive.wrapped_command(&wrapper));
        let (mut seen, start, mut played) = (None, Instant::now(), false);
        loop {
            let playing = play(&hive, &key, at_ms);
            let round = tokio::time::timeout(Duration::from_millis(500), playing).await;
            played |= matches!(round, Ok(Ok(_)));
            if is_gone(&mut hive, &mut seen) {
                killed += 1;
                break;
            }
            if played && start.elapsed() > Duration::from_secs(3) {
                break;
            }
            pass(Duration::from_millis(20)).await;
        }
        end_traced(&mut hive).await;
        hive.start().await;
        // The operator's socket is served before the last of the agents' ones.
        let played = until("it is served", SOON, || async {
            match play(&hive, &key, at_ms).await {
                Err(status) if status.code() == Code::Unavailable => None,
                played => Some(played.unwrap()),
            }
        });
        let approval = played.await;
        let counts = until("everything is there", SOON, || async {
            let counts = counted(&hive, &key, approval).await;
            let all = [counts.0, counts.1, counts.2, counts.3];
            all.iter().all(|count| *count > 0).then_some(counts)
        });
        assert_eq!(counts.await, (1, 1, 1, 1), "killed at fsync {point}");
        hive.terminate().await;
    }
    assert!(
        killed * 2 >= points,
        "only {killed} of {points} points were reached"
    );
}
