//! Who is whose, and who may write to whom: through removed agents too.

use hive_proto::ids::AgentId;
use hive_proto::v1::Role;
use hived::inbox::{Delivered, InboxError, Outgoing, Sender, Sent};
use hived::model::rights::{Listed, Recipients, Rights, Tools};
use hived::store::agents::{self, Removal};
use hived::store::{Recipient, StoreError, rights, roster};
use hived::topology;

use crate::kit::{Core, outgoing};

async fn is_in_subtree(core: &Core, caller: AgentId, agent: AgentId) -> bool {
    core.store
        .read(move |conn| topology::is_in_subtree(conn, caller, agent))
        .await
        .unwrap()
}

async fn below(core: &Core, agent: AgentId) -> Vec<AgentId> {
    core.store
        .read(move |conn| topology::below(conn, agent))
        .await
        .unwrap()
}

async fn remove(core: &Core, agent: AgentId, removal: Removal) {
    core.store
        .write(move |tx| agents::set_removed(tx, agent, removal))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_has_what_is_below_it_and_an_agent_only_itself() {
    let core = Core::new();
    let boss = core.agent_under("boss", Role::Manager, None).await;
    let mid = core.agent_under("mid", Role::Manager, Some(boss)).await;
    let leaf = core.agent_under("leaf", Role::Agent, Some(mid)).await;
    let twig = core.agent_under("twig", Role::Agent, Some(leaf)).await;
    let other = core.agent_under("other", Role::Manager, None).await;
    let all = [boss, mid, leaf, twig, other];
    for (caller, has) in [
        (boss, vec![boss, mid, leaf, twig]),
        (mid, vec![mid, leaf, twig]),
        // It has a child, and no authority over it: it is no manager.
        (leaf, vec![leaf]),
        (twig, vec![twig]),
        (other, vec![other]),
        (AgentId(99), vec![]),
    ] {
        for agent in all {
            let found = is_in_subtree(&core, caller, agent).await;
            assert_eq!(found, has.contains(&agent), "{agent} of {caller}");
        }
        assert!(!is_in_subtree(&core, caller, AgentId(99)).await);
    }
    assert_eq!(below(&core, boss).await, [mid, leaf, twig]);
    assert_eq!(below(&core, leaf).await, [twig]);
    assert_eq!(below(&core, other).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_below_a_removed_agent_belongs_to_the_one_above_it() {
    for removal in [Removal::Kept, Removal::Purged] {
        let core = Core::new();
        let boss = core.agent_under("boss", Role::Manager, None).await;
        let mid = core.agent_under("mid", Role::Manager, Some(boss)).await;
        let leaf = core.agent_under("leaf", Role::Agent, Some(mid)).await;
        remove(&core, mid, removal).await;
        assert!(is_in_subtree(&core, boss, leaf).await);
        assert!(!is_in_subtree(&core, boss, mid).await, "it is nobody's");
        assert!(!is_in_subtree(&core, mid, leaf).await, "it is gone");
        assert!(!is_in_subtree(&core, mid, mid).await);
        assert_eq!(below(&core, boss).await, [leaf]);
    }
}

async fn allow(core: &Core, agent: AgentId, listed: &[Listed]) {
    let rights = Rights {
        recipients: Recipients::Only(listed.iter().copied().collect()),
        tools: Tools::All,
    };
    core.store
        .write(move |tx| rights::set(tx, agent, &rights))
        .await
        .unwrap();
}

fn is_refused(result: Result<Sent, InboxError>) -> bool {
    match result {
        Ok(_) => false,
        Err(InboxError::NotAllowed { .. }) => true,
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_writes_only_to_those_that_are_listed_by_whatever_way() {
    let core = Core::new();
    let boss = core.agent_under("boss", Role::Manager, None).await;
    let mid = core.agent_under("mid", Role::Agent, Some(boss)).await;
    let bee = core.agent_under("bee", Role::Agent, Some(mid)).await;
    let wasp = core.agent("wasp").await;
    let from = Sender::Agent(bee);
    allow(&core, bee, &[Listed::Parent]).await;
    for (to, refused) in [
        ("mid", false),
        ("<parent>", false),
        ("manager", true),
        ("boss", true),
        ("wasp", true),
        ("operator", true),
        ("bee", true),
    ] {
        assert_eq!(
            is_refused(core.try_send(from, to, "x").await),
            refused,
            "{to}"
        );
    }
    // A reply is a message like any other.
    let asked = core.send(Sender::Agent(wasp), "bee", "?").await;
    let reply = Outgoing {
        in_reply_to: Some(asked.0),
        ..outgoing("!")
    };
    assert!(is_refused(core.send_with(from, "wasp", reply).await));
    // Each entry of a batch, each recipient of a broadcast stands alone.
    let entry = |to: &str| (to.to_owned(), outgoing("batch"));
    let each = core
        .inbox
        .send_batch(from, vec![entry("wasp"), entry("mid")])
        .await
        .unwrap();
    assert!(matches!(each[0], Err(InboxError::NotAllowed { .. })));
    assert!(each[1].is_ok());
    let all = core.inbox.send(from, "*", outgoing("all")).await.unwrap();
    let Delivered::All(all) = all else {
        panic!("not a broadcast")
    };
    let accepted: Vec<_> = all
        .iter()
        .filter(|(_, result)| result.is_ok())
        .map(|(to, _)| to.as_str())
        .collect();
    assert_eq!((all.len(), accepted), (3, vec!["mid"]));
    // Its own inbox is always open to it.
    core.inbox
        .wake(bee, "cron", outgoing("tick"))
        .await
        .unwrap();
    // None of what was refused is anywhere.
    for (of, count) in [(boss, 0), (wasp, 0), (mid, 4)] {
        let mail = core.mail(Recipient::Agent(of)).await;
        assert_eq!(mail.len(), count, "{mail:?}");
    }
    // The list goes by who is above now.
    core.store
        .write(move |tx| roster::set_parent(tx, bee, Some(mid), Some(boss)))
        .await
        .unwrap();
    assert!(is_refused(core.try_send(from, "mid", "x").await));
    assert!(!is_refused(core.try_send(from, "boss", "x").await));
    // Nobody else's list is touched.
    assert!(!is_refused(
        core.try_send(Sender::Agent(mid), "wasp", "x").await
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn a6_a_list_names_agents_and_not_their_names() {
    let core = Core::new();
    let bee = core.agent("bee").await;
    let wasp = core.agent("wasp").await;
    allow(&core, bee, &[Listed::Agent(wasp), Listed::Operator]).await;
    assert!(!is_refused(
        core.try_send(Sender::Agent(bee), "wasp", "x").await
    ));
    remove(&core, wasp, Removal::Purged).await;
    core.agent("wasp").await;
    assert!(is_refused(
        core.try_send(Sender::Agent(bee), "wasp", "x").await
    ));
    let shown = core
        .store
        .read(move |conn| match rights::get(conn, bee)?.recipients {
            Recipients::Anyone => panic!("the list is gone"),
            Recipients::Only(listed) => rights::names(conn, &listed),
        })
        .await
        .unwrap();
    assert_eq!(shown, ["operator"], "one that is gone is not shown");
    // And the other way round: who is made anew under a limited agent's name is not limited.
    remove(&core, bee, Removal::Purged).await;
    let new = core.agent("bee").await;
    assert!(!is_refused(
        core.try_send(Sender::Agent(new), "wasp", "x").await
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_are_recorded_once_and_for_the_living() {
    let core = Core::new();
    let bee = core.agent("bee").await;
    let count = async || {
        let kinds = core.kinds().await;
        kinds.iter().filter(|kind| *kind == "agent.rights").count()
    };
    allow(&core, bee, &[Listed::Operator]).await;
    allow(&core, bee, &[Listed::Operator]).await;
    assert_eq!(count().await, 1, "what is so already is no event");
    allow(&core, bee, &[]).await;
    assert_eq!(count().await, 2);
    assert!(is_refused(
        core.try_send(Sender::Agent(bee), "operator", "x").await
    ));
    remove(&core, bee, Removal::Kept).await;
    let rights = Rights::default();
    let set = core.store.write(move |tx| rights::set(tx, bee, &rights));
    assert!(matches!(set.await, Err(StoreError::Conflict { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_names_the_parent_that_there_is() {
    let core = Core::new();
    let boss = core.agent_under("boss", Role::Manager, None).await;
    let mid = core.agent_under("mid", Role::Manager, Some(boss)).await;
    let bee = core.agent_under("bee", Role::Agent, Some(mid)).await;
    let set = async |from, to| {
        core.store
            .write(move |tx| roster::set_parent(tx, bee, from, to))
            .await
    };
    assert!(matches!(
        set(Some(boss), None).await,
        Err(StoreError::Conflict { .. })
    ));
    set(Some(mid), None).await.unwrap();
    set(None, Some(boss)).await.unwrap();
    remove(&core, bee, Removal::Kept).await;
    assert!(matches!(
        set(Some(boss), None).await,
        Err(StoreError::Conflict { .. })
    ));
    // A circle is one through removed agents, too: they may come back.
    remove(&core, mid, Removal::Kept).await;
    let is_below = core
        .store
        .read(move |conn| {
            Ok([
                topology::is_below(conn, mid, boss)?,
                topology::is_below(conn, bee, boss)?,
                topology::is_below(conn, boss, bee)?,
                topology::is_below(conn, boss, boss)?,
            ])
        })
        .await
        .unwrap();
    assert_eq!(is_below, [true, true, false, false]);
}
