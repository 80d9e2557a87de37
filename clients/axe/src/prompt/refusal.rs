//! Whether a reply is a refusal, by its words.
//!
//! A model that says "I can't help with that" refuses; one that says "I can't find any bugs" reports. So a phrase counts
//! only in the reply's own prose (not in code or quotations), not inside a condition, and not before a verb of
//! finding or knowing. Providers that mark refusals themselves are believed besides.

/// Refusals whatever follows.
const PLAIN: &[&str] = &["i must decline", "i don't have the ability", "i do not have the ability"];
/// Refusals unless a harmless verb follows.
const UNABLE: &[&str] = &[
    "i cannot",
    "i can not",
    "i can't",
    "i'm unable to",
    "i am unable to",
    "i'm not able to",
    "i am not able to",
];
/// What is said of results and of knowledge, not of what one is willing or able to do.
const HARMLESS: &[&str] = &[
    "agree",
    "be certain",
    "be sure",
    "believe",
    "confirm",
    "determine",
    "detect",
    "discern",
    "emphasize",
    "find",
    "guarantee",
    "identify",
    "imagine",
    "infer",
    "know",
    "locate",
    "overstate",
    "pinpoint",
    "promise",
    "prove",
    "recall",
    "recommend",
    "reproduce",
    "rule out",
    "say",
    "see",
    "spot",
    "stress",
    "tell from",
    "tell if",
    "tell what",
    "tell whether",
    "tell which",
    "tell why",
    "think of",
    "verify",
    "wait",
];
/// Words between "I can't" and its verb.
const ADVERBS: &[&str] =
    &["actually", "currently", "really", "quite", "yet", "also", "even", "fully", "immediately"];
/// Before "I can't" these make it a part of something else that is said.
const SUBORDINATE: &[&str] = &[
    "if",
    "when",
    "whether",
    "what",
    "whatever",
    "which",
    "why",
    "where",
    "until",
    "unless",
    "things",
    "something",
    "anything",
    "everything",
];
/// What an AI says it does not do.
const LIMITS: &[&str] = &[
    "cannot",
    "can not",
    "can't",
    "unable",
    "not able",
    "don't",
    "do not",
    "won't",
    "not allowed",
    "decline",
];

/// Whether a reply's words are a refusal.
pub fn is_refusal(reply: &str) -> bool {
    let prose = prose(reply);
    sentences(&prose).any(|sentence| {
        PLAIN.iter().any(|phrase| positions(sentence, phrase).next().is_some())
            || UNABLE.iter().any(|phrase| refuses(sentence, phrase))
            || positions(sentence, "as an ai").any(|at| has_limit(&sentence[at..]))
    })
}

/// Whether the phrase occurs on its own account and before a verb that is not harmless.
fn refuses(sentence: &str, phrase: &str) -> bool {
    positions(sentence, phrase).any(|at| {
        let before = words(&sentence[..at]).last();
        let after: Vec<_> =
            words(&sentence[at + phrase.len()..]).skip_while(|word| ADVERBS.contains(word)).take(2).collect();
        let is_harmless = after.first().is_some_and(|verb| HARMLESS.contains(verb))
            || HARMLESS.contains(&after.join(" ").as_str());
        !before.is_some_and(|word| SUBORDINATE.contains(&word)) && !is_harmless
    })
}

fn has_limit(text: &str) -> bool {
    LIMITS.iter().any(|limit| positions(text, limit).next().is_some())
}

/// Where a phrase stands with no letter at either side.
fn positions<'a>(text: &'a str, phrase: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(phrase).map(|(at, _)| at).filter(move |at| {
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        !is_letter(text[..*at].chars().next_back()) && !is_letter(text[at + phrase.len()..].chars().next())
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty())
}

fn sentences(prose: &str) -> impl Iterator<Item = &str> {
    prose.split(['.', '!', '?', '\n', ';'])
}

/// The reply in lower case with straight apostrophes, without code blocks, block quotations, inline code and
/// quoted words.
fn prose(reply: &str) -> String {
    let reply = reply.to_lowercase().replace(['\u{2018}', '\u{2019}', '\u{02bc}'], "'");
    let mut prose = String::with_capacity(reply.len());
    let mut fence: Option<&str> = None;
    for line in reply.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, Some(mark)) => fence = Some(mark),
            (None, None) if !start.starts_with('>') => {
                push_unquoted(&mut prose, line);
                prose.push('\n');
            }
            _ => {}
        }
    }
    prose
}

/// The line without what stands between backticks or double quotation marks that are closed on it.
fn push_unquoted(prose: &mut String, line: &str) {
    const PAIRS: [(char, char); 4] = [('`', '`'), ('"', '"'), ('\u{201c}', '\u{201d}'), ('\u{ab}', '\u{bb}')];
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let closing = PAIRS.iter().find(|(open, _)| *open == c).map(|(_, close)| *close);
        rest = match closing.and_then(|close| after.split_once(close)) {
            Some((_, after)) => {
                prose.push(' ');
                after
            }
            None => {
                prose.push(c);
                after
            }
        };
    }
}
