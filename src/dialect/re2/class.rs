//! Classes: `[…]`, `\d` and its kin, `[:alpha:]` and its kin, `\p{…}`.
//!
//! Case is folded part by part, before anything is negated: `(?i)[^k]` refuses `K` and the Kelvin sign too.

use std::sync::LazyLock;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::error::{PatternError, SyntaxFault};
use super::escape::{self, until};
use super::names::{self, Names};
use super::unicode17;

/// Every character that has another case. The engine folds a range one character after the other, so a wide range is
/// narrowed to these first: there are some three thousand of a million.
static CASED: LazyLock<ClassUnicode> = LazyLock::new(|| names::engine_class(r"\p{Changes_When_Casemapped}"));
/// A range of at most so many characters is folded as it is.
const NARROW_MAX: u32 = 128;

type Ranges = [(char, char)];

const DIGIT: &Ranges = &[('0', '9')];
/// Without U+000B, which `[[:space:]]` has.
const PERL_SPACE: &Ranges = &[('\t', '\n'), ('\x0C', '\r'), (' ', ' ')];
const WORD: &Ranges = &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];

/// What `[:name:]` can name.
const POSIX: [(&str, &Ranges); 14] = [
    ("alnum", &[('0', '9'), ('A', 'Z'), ('a', 'z')]),
    ("alpha", &[('A', 'Z'), ('a', 'z')]),
    ("ascii", &[('\0', '\x7F')]),
    ("blank", &[('\t', '\t'), (' ', ' ')]),
    ("cntrl", &[('\0', '\x1F'), ('\x7F', '\x7F')]),
    ("digit", DIGIT),
    ("graph", &[('!', '~')]),
    ("lower", &[('a', 'z')]),
    ("print", &[(' ', '~')]),
    ("punct", &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')]),
    ("space", &[('\t', '\r'), (' ', ' ')]),
    ("upper", &[('A', 'Z')]),
    ("word", WORD),
    ("xdigit", &[('0', '9'), ('A', 'F'), ('a', 'f')]),
];

/// Every character.
pub(super) fn any() -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)])
}

/// One code point, in all its cases when `fold`. Empty for a surrogate, which no text holds.
pub(super) fn of_code_point(code_point: u32, fold: bool) -> ClassUnicode {
    of_range(code_point, code_point, fold)
}

/// The class of a `[` at the start of `rest`, up to its `]`.
pub(super) fn parse_bracket<'a>(
    rest: &'a str,
    fold: bool,
    names: &mut Names,
) -> Result<(ClassUnicode, &'a str), PatternError> {
    let inside = &rest[1..];
    let positive = inside.strip_prefix('^');
    let mut todo = positive.unwrap_or(inside);
    // A class of the whole pattern's length is made clean once, not after each part.
    let mut ranges: Vec<ClassUnicodeRange> = Vec::new();
    let mut is_first = true;
    while is_first || !todo.starts_with(']') {
        is_first = false;
        let (part, after) = match parse_posix(todo, fold)? {
            Some(posix) => posix,
            None => match parse_escaped(todo, fold, names)? {
                Some(escaped) => escaped,
                None => parse_range(todo, rest, fold)?,
            },
        };
        ranges.extend_from_slice(part.ranges());
        todo = after;
    }
    let mut class = ClassUnicode::new(ranges);
    if positive.is_some() {
        class.negate();
    }
    Ok((class, &todo[1..]))
}

/// `\d`, `\pN` and their kin at the start of `rest`; None for anything else.
pub(super) fn parse_escaped<'a>(
    rest: &'a str,
    fold: bool,
    names: &mut Names,
) -> Result<Option<(ClassUnicode, &'a str)>, PatternError> {
    let Some(escaped) = rest.strip_prefix('\\') else { return Ok(None) };
    let mut characters = escaped.chars();
    let (ranges, negated) = match characters.next() {
        Some('d') => (DIGIT, false),
        Some('D') => (DIGIT, true),
        Some('s') => (PERL_SPACE, false),
        Some('S') => (PERL_SPACE, true),
        Some('w') => (WORD, false),
        Some('W') => (WORD, true),
        Some('p') => return parse_unicode(rest, false, fold, names).map(Some),
        Some('P') => return parse_unicode(rest, true, fold, names).map(Some),
        _ => return Ok(None),
    };
    Ok(Some((of_ranges(ranges, negated, fold), characters.as_str())))
}

/// `\p{Greek}`, `\p{^Greek}`, `\pN`; `rest` begins with the `\`.
fn parse_unicode<'a>(
    rest: &'a str,
    mut negated: bool,
    fold: bool,
    names: &mut Names,
) -> Result<(ClassUnicode, &'a str), PatternError> {
    let named = &rest[2..];
    let (mut name, after) = match named.strip_prefix('{') {
        Some(braced) => braced.split_once('}').ok_or_else(|| SyntaxFault::InvalidCharRange.at(rest))?,
        None => named.split_at(named.chars().next().map_or(0, char::len_utf8)),
    };
    if let Some(inner) = name.strip_prefix('^') {
        negated = !negated;
        name = inner;
    }
    let mut class =
        names.class(name, fold).ok_or_else(|| SyntaxFault::InvalidCharRange.at(until(rest, after)))?;
    if negated {
        class.negate();
    }
    Ok((class, after))
}

/// `[:alpha:]` and `[:^alpha:]` within a class; None for anything else, an open `[:` included.
fn parse_posix(rest: &str, fold: bool) -> Result<Option<(ClassUnicode, &str)>, PatternError> {
    let Some((name, after)) = rest.strip_prefix("[:").and_then(|named| named.split_once(":]")) else {
        return Ok(None);
    };
    let positive = name.strip_prefix('^');
    let wanted = positive.unwrap_or(name);
    let Some((_, ranges)) = POSIX.iter().find(|(name, _)| *name == wanted) else {
        return Err(SyntaxFault::InvalidCharRange.at(until(rest, after)));
    };
    Ok(Some((of_ranges(ranges, positive.is_some(), fold), after)))
}

/// One character or a range within the class `whole`.
fn parse_range<'a>(rest: &'a str, whole: &str, fold: bool) -> Result<(ClassUnicode, &'a str), PatternError> {
    let (low, after) = parse_code_point(rest, whole)?;
    // The last `-` of a class is itself.
    let Some(ranged) =
        after.strip_prefix('-').filter(|ranged| !ranged.is_empty() && !ranged.starts_with(']'))
    else {
        return Ok((of_range(low, low, fold), after));
    };
    let (high, after) = parse_code_point(ranged, whole)?;
    if high < low {
        return Err(SyntaxFault::InvalidCharRange.at(until(rest, after)));
    }
    Ok((of_range(low, high, fold), after))
}

fn parse_code_point<'a>(rest: &'a str, whole: &str) -> Result<(u32, &'a str), PatternError> {
    let mut characters = rest.chars();
    match characters.next() {
        None => Err(SyntaxFault::MissingBracket.at(whole)),
        Some('\\') => escape::parse(rest),
        Some(character) => Ok((u32::from(character), characters.as_str())),
    }
}

fn of_ranges(ranges: &Ranges, negated: bool, fold: bool) -> ClassUnicode {
    let mut class = ClassUnicode::new(ranges.iter().map(|&(low, high)| ClassUnicodeRange::new(low, high)));
    if fold {
        fold_class(&mut class);
    }
    if negated {
        class.negate();
    }
    class
}

/// The characters from `low` to `high`; surrogates are none.
fn of_range(low: u32, high: u32, fold: bool) -> ClassUnicode {
    let mut class = ClassUnicode::new(scalar_range(low, high));
    if fold && high - low < NARROW_MAX {
        fold_class(&mut class);
    } else if fold {
        let mut cased = class.clone();
        cased.intersect(&CASED);
        fold_class(&mut cased);
        unicode17::fold(&mut class);
        class.union(&cased);
    }
    class
}

fn scalar_range(low: u32, high: u32) -> Option<ClassUnicodeRange> {
    let low = char::from_u32(low).unwrap_or('\u{E000}');
    let high = char::from_u32(high).unwrap_or('\u{D7FF}');
    (low <= high).then(|| ClassUnicodeRange::new(low, high))
}

/// Adds the other cases of every character.
pub(super) fn fold_class(class: &mut ClassUnicode) {
    class.case_fold_simple();
    unicode17::fold(class);
}
