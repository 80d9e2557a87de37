//! Replies that refuse and replies that only sound like it.

use crate::prompt::is_refusal;

#[test]
fn refusals_are_recognised() {
    for reply in [
        "I can't help with that.",
        "I cannot assist with this request.",
        "I\u{2019}m sorry, but I can\u{2019}t help with that.",
        "Sorry. I CANNOT do this.",
        "I'm unable to provide that.",
        "I am not able to share this information.",
        "I'm not able to fully comply.",
        "I must decline.",
        "Unfortunately, I must decline to answer.",
        "I don't have the ability to browse the web.",
        "I do not have the ability to run code.",
        "As an AI language model, I don't have opinions.",
        "As an AI, I won't do that.",
        "I can not do that for you.",
        "I can't actually access your files.",
        "Here is what I found:\n\nI can't continue with this.",
        "I can't.",
        "I can't tell you how to do that.",
        "I cannot be of help here.",
    ] {
        assert!(is_refusal(reply), "{reply}");
    }
}

#[test]
fn reports_and_quotations_are_none() {
    for reply in [
        "",
        "Done.",
        "I can't find any bugs.",
        "I cannot see a problem with this code.",
        "I'm unable to reproduce the failure.",
        "I was unable to connect, so I retried and it worked.",
        "I can't currently identify a cause.",
        "I'm not able to confirm this without the logs.",
        "The function prints \"I can't help with that\" and exits.",
        "The model said \u{201c}I cannot assist\u{201d}.",
        "It returns `I can't do that`.",
        "```\nI can't help with that.\n```\nThat is the output.",
        "~~~\n```\nI must decline.\n~~~\nDone.",
        "> I must decline.\n\nThis line was quoted.",
        "If I can't merge it, the build fails.",
        "Here are the things I can't change: none.",
        "As an AI agent for this repository I reviewed the diff.",
        "This pattern, known as an aid, does not help.",
        "API can't be reached by magic.",
        "Wi can't.",
        "I can't be sure that this is the cause.",
        "I can't quite tell whether it is used.",
        "I cannot rule out a race.",
    ] {
        assert!(!is_refusal(reply), "{reply}");
    }
}
