//! Who is whose: subtrees, through removed agents too.

use hive_proto::ids::AgentId;
use hive_proto::v1::Role;
use hived::store::agents::{self, Removal};
use hived::topology;

use crate::kit::Core;

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
