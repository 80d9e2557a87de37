use std::time::Duration;

use ractor::rpc::CallResult;

use super::*;

struct Pool {
    actor: ActorRef<ExecPoolMsg>,
    children: Arc<AtomicUsize>,
}

impl Pool {
    async fn new(places: usize, line: usize) -> Self {
        let children = Arc::new(AtomicUsize::new(0));
        let arguments = ExecPoolArguments { places, line, children: children.clone() };
        Self { actor: Actor::spawn(None, ExecPool, arguments).await.unwrap().0, children }
    }

    fn enter(&self, session: u64) -> tokio::task::JoinHandle<Result<ChildPlace, LineFull>> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.actor.cast(ExecPoolMsg::Enter { session, reply: sender.into() }).unwrap();
        tokio::spawn(async move { receiver.await.unwrap() })
    }

    async fn place(&self, session: u64) -> ChildPlace {
        self.enter(session).await.unwrap().unwrap()
    }
}

#[tokio::test]
async fn those_who_wait_are_served_by_connection_in_turn() {
    let pool = Pool::new(1, 4).await;
    let first = pool.place(0).await;
    // Connection 1 asks three times before connection 2 asks once.
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for (session, name) in [(1, "1a"), (1, "1b"), (1, "1c"), (2, "2a")] {
        let (granted, order) = (pool.enter(session), order.clone());
        tasks.push(tokio::spawn(async move {
            let place = granted.await.unwrap().unwrap();
            order.lock().unwrap().push(name);
            drop(place);
        }));
    }
    // A fifth is refused, which tells that the four stand in line.
    assert!(matches!(pool.enter(3).await.unwrap(), Err(LineFull)));
    drop(first);
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), ["1a", "2a", "1b", "1c"]);
    assert_eq!(pool.children.load(Ordering::Acquire), 0);
}

#[tokio::test]
async fn a_full_line_refuses_at_once_and_those_who_left_do_not_count() {
    let pool = Pool::new(1, 2).await;
    let held = pool.place(0).await;
    let (left, stays) = (pool.enter(1), pool.enter(1));
    assert!(matches!(pool.enter(2).await.unwrap(), Err(LineFull)));
    left.abort();
    let _ = left.await;
    let entered = pool.enter(2);
    drop(held);
    drop(stays.await.unwrap().unwrap());
    assert!(entered.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_pool_that_is_started_anew_goes_on_counting() {
    let pool = Pool::new(1, 2).await;
    let held = pool.place(0).await;
    let arguments = ExecPoolArguments { places: 1, line: 2, children: pool.children.clone() };
    let successor = Actor::spawn(None, ExecPool, arguments).await.unwrap().0;
    let enter = |reply| ExecPoolMsg::Enter { session: 1, reply };
    let early = successor.call(enter, Some(Duration::from_millis(50))).await.unwrap();
    assert!(matches!(early, CallResult::Timeout));
    drop(held);
    // The place went back to the pool that gave it; the next one to enter is served.
    let late = successor.call(enter, Some(Duration::from_secs(5))).await.unwrap();
    assert!(matches!(late, CallResult::Success(Ok(_))));
}
