//! Where in a reported line the match is.
//!
//! The daemon tells where it begins; how far it goes is found by matching again, here. The daemon's pattern language
//! differs from this one in rare corners, where nothing stands out, or a little too much.

use std::ops::Range;

use axlr_client::tool::{Match, SearchArguments};
use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};

/// Marks a cut end of a line. SPEC §3.5.
const CUT: &str = "…";

/// The pattern of a search.
pub(super) struct Highlight(Option<Regex>);

impl Highlight {
    pub(super) fn of(arguments: &SearchArguments) -> Highlight {
        let pattern = match arguments.literal {
            Some(true) => regex_syntax::escape(&arguments.pattern),
            _ => arguments.pattern.clone(),
        };
        let syntax = syntax::Config::new().case_insensitive(arguments.ignore_case == Some(true));
        Highlight(Regex::builder().syntax(syntax).build(&pattern).ok())
    }

    /// The bytes of the match's text that matched.
    pub(super) fn find(&self, found: &Match) -> Option<Range<usize>> {
        let regex = self.0.as_ref()?;
        let text = found.text.as_str();
        let begins = usize::try_from(found.column).ok()?.checked_sub(1)?;
        let is_cut = found.truncated && text.starts_with(CUT);
        let found = if is_cut {
            regex.find(Input::new(text).range(CUT.len()..))
        } else if text.is_char_boundary(begins) {
            regex.find(Input::new(text).range(begins..).anchored(Anchored::Yes))
        } else {
            None
        };
        found.map(|found| found.range()).filter(|range| !range.is_empty())
    }
}
