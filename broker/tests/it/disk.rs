//! The room on the hive's disk: told when it gets low, again when it is nearly gone, and in status.

use std::sync::atomic::{AtomicU64, Ordering};

use hived::model::disk::{Level, Thresholds};
use hived::reconcile::Disk;

use crate::kit::{Core, run};
use crate::notify::{notify, settle};

const AT: Thresholds = Thresholds {
    low_bytes: 1 << 30,
    full_bytes: 1 << 28,
};

/// What the disk of these tests has; one test, so nobody else sets it.
static FREE: AtomicU64 = AtomicU64::new(0);

fn disk(core: &Core, told: &hived::notify::Notify) -> Disk {
    let (store, clock) = (core.store.clone(), core.time.clock());
    let path = core.dir.path().to_owned();
    Disk::new(store, clock, told.clone(), path, AT).asking(|_| Ok(FREE.load(Ordering::SeqCst)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_up_is_told_once_a_level_also_over_restarts() {
    let core = Core::new();
    let receiver = crate::receiver::Receiver::start(Vec::new()).await;
    let url = hived::notify::Url::parse(&receiver.url).unwrap();
    let webhook = hived::notify::Webhook {
        address: hived::notify::Address::Plain(url),
        secret: None,
        token: None,
        format: hived::notify::Format::Ntfy,
        allow_http: false,
    };
    let way = hived::notify::Way::Webhook(webhook);
    let mut channel = crate::notify::channel("phone", way);
    channel.fold_ms = 0;
    let told = notify(&core, vec![channel]).await;
    let mut reconciler = disk(&core, &told);
    let steps = [
        (5 << 30, Level::Ok, 0),
        (1 << 29, Level::Low, 1),
        (1 << 29, Level::Low, 1),
        (1 << 27, Level::Full, 2),
        (1 << 29, Level::Low, 2),
        (5 << 30, Level::Ok, 2),
        (1 << 29, Level::Low, 3),
    ];
    for (free, level, posts) in steps {
        FREE.store(free, Ordering::SeqCst);
        run(&reconciler).await;
        let room = reconciler.room().get().unwrap();
        assert_eq!((room.level, room.free_bytes), (level, free));
        settle(&told, "phone").await;
        assert_eq!(receiver.posts().len(), posts, "{free} bytes");
        // The next hived knows what was told.
        let since = room.since;
        core.time.advance(crate::kit::secs(60));
        reconciler = disk(&core, &told);
        run(&reconciler).await;
        if level != Level::Ok {
            assert_eq!(reconciler.room().get().unwrap().since, since);
        }
    }
    let post = &receiver.posts()[1];
    assert_eq!(post.header("title"), "hive: the disk is filling up");
    assert_eq!(post.header("priority"), "high");
    let text = String::from_utf8_lossy(&post.body).into_owned();
    assert!(
        text.contains("128 MiB") && text.contains("soon nothing"),
        "{text}"
    );
}
