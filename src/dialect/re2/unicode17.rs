//! What Unicode 17 added to the tables of Unicode 16, which the engine has. Go's tables are those of Unicode 17.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// Characters that are new, and U+0295, whose category changed; with category and script.
const CHANGED: [(char, char, &str, &str); 68] = [
    ('\u{295}', '\u{295}', "Lo", "Latin"),
    ('\u{88F}', '\u{88F}', "Lo", "Arabic"),
    ('\u{C5C}', '\u{C5C}', "Lo", "Telugu"),
    ('\u{CDC}', '\u{CDC}', "Lo", "Kannada"),
    ('\u{1ACF}', '\u{1ADD}', "Mn", "Inherited"),
    ('\u{1AE0}', '\u{1AEB}', "Mn", "Inherited"),
    ('\u{20C1}', '\u{20C1}', "Sc", "Common"),
    ('\u{2B96}', '\u{2B96}', "So", "Common"),
    ('\u{A7CE}', '\u{A7CE}', "Lu", "Latin"),
    ('\u{A7CF}', '\u{A7CF}', "Ll", "Latin"),
    ('\u{A7D2}', '\u{A7D2}', "Lu", "Latin"),
    ('\u{A7D4}', '\u{A7D4}', "Lu", "Latin"),
    ('\u{A7F1}', '\u{A7F1}', "Lm", "Latin"),
    ('\u{FBC3}', '\u{FBD2}', "So", "Arabic"),
    ('\u{FD90}', '\u{FD91}', "So", "Arabic"),
    ('\u{FDC8}', '\u{FDCE}', "So", "Arabic"),
    ('\u{10940}', '\u{10959}', "Lo", "Sidetic"),
    ('\u{10EC5}', '\u{10EC5}', "Lm", "Arabic"),
    ('\u{10EC6}', '\u{10EC7}', "Lo", "Arabic"),
    ('\u{10ED0}', '\u{10ED0}', "Po", "Arabic"),
    ('\u{10ED1}', '\u{10ED8}', "So", "Arabic"),
    ('\u{10EFA}', '\u{10EFB}', "Mn", "Arabic"),
    ('\u{11B60}', '\u{11B60}', "Mn", "Sharada"),
    ('\u{11B61}', '\u{11B61}', "Mc", "Sharada"),
    ('\u{11B62}', '\u{11B64}', "Mn", "Sharada"),
    ('\u{11B65}', '\u{11B65}', "Mc", "Sharada"),
    ('\u{11B66}', '\u{11B66}', "Mn", "Sharada"),
    ('\u{11B67}', '\u{11B67}', "Mc", "Sharada"),
    ('\u{11DB0}', '\u{11DD8}', "Lo", "Tolong_Siki"),
    ('\u{11DD9}', '\u{11DD9}', "Lm", "Tolong_Siki"),
    ('\u{11DDA}', '\u{11DDB}', "Lo", "Tolong_Siki"),
    ('\u{11DE0}', '\u{11DE9}', "Nd", "Tolong_Siki"),
    ('\u{16EA0}', '\u{16EB8}', "Lu", "Beria_Erfe"),
    ('\u{16EBB}', '\u{16ED3}', "Ll", "Beria_Erfe"),
    ('\u{16FF2}', '\u{16FF3}', "Lm", "Han"),
    ('\u{16FF4}', '\u{16FF6}', "Nl", "Han"),
    ('\u{187F8}', '\u{187FF}', "Lo", "Tangut"),
    ('\u{18D09}', '\u{18D1E}', "Lo", "Tangut"),
    ('\u{18D80}', '\u{18DF2}', "Lo", "Tangut"),
    ('\u{1CCFA}', '\u{1CCFC}', "So", "Common"),
    ('\u{1CEBA}', '\u{1CED0}', "So", "Common"),
    ('\u{1CEE0}', '\u{1CEEF}', "So", "Common"),
    ('\u{1CEF0}', '\u{1CEF0}', "Sm", "Common"),
    ('\u{1E6C0}', '\u{1E6DE}', "Lo", "Tai_Yo"),
    ('\u{1E6E0}', '\u{1E6E2}', "Lo", "Tai_Yo"),
    ('\u{1E6E3}', '\u{1E6E3}', "Mn", "Tai_Yo"),
    ('\u{1E6E4}', '\u{1E6E5}', "Lo", "Tai_Yo"),
    ('\u{1E6E6}', '\u{1E6E6}', "Mn", "Tai_Yo"),
    ('\u{1E6E7}', '\u{1E6ED}', "Lo", "Tai_Yo"),
    ('\u{1E6EE}', '\u{1E6EF}', "Mn", "Tai_Yo"),
    ('\u{1E6F0}', '\u{1E6F4}', "Lo", "Tai_Yo"),
    ('\u{1E6F5}', '\u{1E6F5}', "Mn", "Tai_Yo"),
    ('\u{1E6FE}', '\u{1E6FE}', "Lo", "Tai_Yo"),
    ('\u{1E6FF}', '\u{1E6FF}', "Lm", "Tai_Yo"),
    ('\u{1F6D8}', '\u{1F6D8}', "So", "Common"),
    ('\u{1F777}', '\u{1F77A}', "So", "Common"),
    ('\u{1F8D0}', '\u{1F8D8}', "Sm", "Common"),
    ('\u{1FA54}', '\u{1FA57}', "So", "Common"),
    ('\u{1FA8A}', '\u{1FA8A}', "So", "Common"),
    ('\u{1FA8E}', '\u{1FA8E}', "So", "Common"),
    ('\u{1FAC8}', '\u{1FAC8}', "So", "Common"),
    ('\u{1FACD}', '\u{1FACD}', "So", "Common"),
    ('\u{1FAEA}', '\u{1FAEA}', "So", "Common"),
    ('\u{1FAEF}', '\u{1FAEF}', "So", "Common"),
    ('\u{1FBFA}', '\u{1FBFA}', "So", "Common"),
    ('\u{2B73A}', '\u{2B73F}', "Lo", "Han"),
    ('\u{2CEA2}', '\u{2CEAD}', "Lo", "Han"),
    ('\u{323B0}', '\u{33479}', "Lo", "Han"),
];

/// New pairs of cases: the first and last capital, and the first small letter.
const CASES: [(char, char, char); 4] = [
    ('\u{A7CE}', '\u{A7CE}', '\u{A7CF}'),
    ('\u{A7D2}', '\u{A7D2}', '\u{A7D3}'),
    ('\u{A7D4}', '\u{A7D4}', '\u{A7D5}'),
    ('\u{16EA0}', '\u{16EB8}', '\u{16EBB}'),
];

/// Makes a general category, by its short name, that of Unicode 17.
pub(super) fn amend_category(class: &mut ClassUnicode, short: &str) {
    class.difference(&changed(|_, _| true));
    class.union(&changed(|category, _| match short {
        "LC" => matches!(category, "Ll" | "Lt" | "Lu"),
        _ => category.starts_with(short),
    }));
}

/// Makes a script that of Unicode 17.
pub(super) fn amend_script(class: &mut ClassUnicode, name: &str) {
    class.union(&changed(|_, script| script == name));
}

/// Adds the new cases of what a class has.
pub(super) fn fold(class: &mut ClassUnicode) {
    for (capital, last_capital, small) in CASES {
        for (index, capital) in (capital..=last_capital).enumerate() {
            let Some(small) = (small..).nth(index) else { continue };
            let has = |wanted: char| {
                class.ranges().iter().any(|range| range.start() <= wanted && wanted <= range.end())
            };
            if has(capital) != has(small) {
                class.push(ClassUnicodeRange::new(capital, capital));
                class.push(ClassUnicodeRange::new(small, small));
            }
        }
    }
}

fn changed(is_wanted: impl Fn(&str, &str) -> bool) -> ClassUnicode {
    let wanted = CHANGED.iter().filter(|(_, _, category, script)| is_wanted(category, script));
    ClassUnicode::new(wanted.map(|&(first, last, _, _)| ClassUnicodeRange::new(first, last)))
}
