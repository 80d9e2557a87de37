use std::sync::atomic::AtomicUsize;

use super::*;
use crate::process::Containment;

async fn supervisor() -> (ActorRef<SupervisorMsg>, SupervisorState) {
    let arguments = || SupervisorArguments {
        capacity: Capacity::default(),
        containment: Arc::new(Containment::group()),
        durability: Durability::Atomic,
        children: Arc::new(AtomicUsize::new(0)),
        detached: Arc::new(AtomicUsize::new(0)),
        sessions: Running::default(),
    };
    let (me, _) = Actor::spawn(None, Supervisor, arguments()).await.unwrap();
    let state = Supervisor.pre_start(me.clone(), arguments()).await.unwrap();
    (me, state)
}

#[tokio::test]
async fn a_root_that_is_opened_again_waits_for_the_last_commit_of_its_closed_writer() {
    let (me, mut state) = supervisor().await;
    let folder = tempfile::tempdir().unwrap();
    let root = Arc::new(Root::open(folder.path()).unwrap());
    let settings = Settings { env: BTreeMap::new(), plugins: Vec::new() };
    let lease = |state: &SupervisorState| state.roots[&root.identity()].lease.clone();

    let first = state.open(&me, root.clone(), "/".to_owned(), None, settings.clone()).await.unwrap();
    let held_by_a_commit = lease(&state);
    assert!(state.close(&first.id));
    let again = state.open(&me, root.clone(), "/".to_owned(), None, settings.clone()).await.unwrap();
    assert!(Arc::ptr_eq(&lease(&state), &held_by_a_commit));

    // Nothing is kept of a lease that nobody holds, once the writer is gone too.
    drop(held_by_a_commit);
    assert!(state.close(&again.id));
    assert_eq!(state.leases.len(), 1);
    let is_held = |state: &SupervisorState| state.leases.values().any(|lease| lease.strong_count() > 0);
    while is_held(&state) {
        tokio::task::yield_now().await;
    }
}
