use super::*;

fn exchange() -> Arc<Exchange> {
    Exchange::new(Arc::new(Log::new("p")))
}

fn hear(exchange: &Exchange, text: &str) -> (bool, Vec<String>) {
    let mut answers = Vec::new();
    let is_message = exchange.hear(text.as_bytes(), &mut |answer| answers.push(answer));
    (is_message, answers)
}

#[test]
fn answers_find_those_who_wait_in_any_order_and_only_once() {
    let exchange = exchange();
    let mut first = exchange.expect("m", None).unwrap();
    let mut second = exchange.expect("m", None).unwrap();
    let answer = |id: u64, value: u64| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{value}}}"#);
    assert_eq!(hear(&exchange, &answer(second.id, 2)), (true, vec![]));
    assert_eq!(hear(&exchange, &answer(second.id, 3)), (true, vec![]));
    assert_eq!(hear(&exchange, &answer(first.id, 1)), (true, vec![]));
    assert_eq!(hear(&exchange, &answer(99, 1)), (true, vec![]));
    assert_eq!(second.reply.try_recv().unwrap().unwrap().get(), "2");
    assert_eq!(first.reply.try_recv().unwrap().unwrap().get(), "1");
}

#[test]
fn a_batch_is_heard_whole_and_noise_is_told() {
    let exchange = exchange();
    let mut waiting = exchange.expect("m", None).unwrap();
    let text = format!(
        r#"[{{"jsonrpc":"2.0","id":{},"result":{{}}}},{{"jsonrpc":"2.0","id":1,"method":"ping"}}]"#,
        waiting.id
    );
    let (is_message, answers) = hear(&exchange, &text);
    assert!(is_message && answers.len() == 1);
    assert!(waiting.reply.try_recv().unwrap().is_ok());
    assert!(!hear(&exchange, "noise").0 && !hear(&exchange, "[1]").0);
}

#[test]
fn progress_reaches_its_call_and_a_full_queue_holds_nobody_up() {
    let exchange = exchange();
    let (sender, mut progress) = mpsc::channel(2);
    let waiting = exchange.expect("m", Some(sender)).unwrap();
    let told = |token: String, progress: f64| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress},"message":"m"}}}}"#
        )
    };
    hear(&exchange, &told("77".to_owned(), 9.0));
    hear(&exchange, &told("\"x\"".to_owned(), 9.0));
    for number in 0..10 {
        hear(&exchange, &told(format!("\"{}\"", waiting.id), f64::from(number)));
    }
    drop(waiting);
    hear(&exchange, &told("1".to_owned(), 9.0));
    let mut seen = Vec::new();
    while let Ok(EventBody::PluginProgress { progress, total: None, .. }) = progress.try_recv() {
        seen.push(progress);
    }
    assert_eq!(seen, [0.0, 1.0]);
}

#[test]
fn the_end_is_told_to_those_who_wait_and_to_those_who_come() {
    let exchange = exchange();
    let mut waiting = exchange.expect("m", None).unwrap();
    exchange.end(Trouble::broken("gone"));
    exchange.end(Trouble::broken("gone again"));
    assert_eq!(waiting.reply.try_recv().unwrap().unwrap_err().to_string(), "gone");
    assert_eq!(exchange.expect("m", None).err().unwrap().to_string(), "gone");
}

#[test]
fn changes_are_counted() {
    let exchange = exchange();
    hear(&exchange, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    hear(&exchange, r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#);
    assert_eq!(exchange.changes(), 1);
}
