//! The names that `\p{…}` knows: general categories, their long names, scripts, and `Any`, `Assigned`, `ASCII`.
//!
//! A name is compared without regard to case, `_`, `-` and spaces. Scripts have no short names: `\p{Grek}` is refused.

use std::collections::HashMap;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

use super::{class, unicode17};

/// General categories by their short names, each with its long ones.
const CATEGORIES: [(&str, &[&str]); 38] = [
    ("C", &["Other"]),
    ("Cc", &["Control", "cntrl"]),
    ("Cf", &["Format"]),
    ("Cn", &["Unassigned"]),
    ("Co", &["Private_Use"]),
    ("Cs", &["Surrogate"]),
    ("L", &["Letter"]),
    ("LC", &["Cased_Letter"]),
    ("Ll", &["Lowercase_Letter"]),
    ("Lm", &["Modifier_Letter"]),
    ("Lo", &["Other_Letter"]),
    ("Lt", &["Titlecase_Letter"]),
    ("Lu", &["Uppercase_Letter"]),
    ("M", &["Mark", "Combining_Mark"]),
    ("Mc", &["Spacing_Mark"]),
    ("Me", &["Enclosing_Mark"]),
    ("Mn", &["Nonspacing_Mark"]),
    ("N", &["Number"]),
    ("Nd", &["Decimal_Number", "digit"]),
    ("Nl", &["Letter_Number"]),
    ("No", &["Other_Number"]),
    ("P", &["Punctuation", "punct"]),
    ("Pc", &["Connector_Punctuation"]),
    ("Pd", &["Dash_Punctuation"]),
    ("Pe", &["Close_Punctuation"]),
    ("Pf", &["Final_Punctuation"]),
    ("Pi", &["Initial_Punctuation"]),
    ("Po", &["Other_Punctuation"]),
    ("Ps", &["Open_Punctuation"]),
    ("S", &["Symbol"]),
    ("Sc", &["Currency_Symbol"]),
    ("Sk", &["Modifier_Symbol"]),
    ("Sm", &["Math_Symbol"]),
    ("So", &["Other_Symbol"]),
    ("Z", &["Separator"]),
    ("Zl", &["Line_Separator"]),
    ("Zp", &["Paragraph_Separator"]),
    ("Zs", &["Space_Separator"]),
];

/// Scripts of Unicode 17.
#[rustfmt::skip]
const SCRIPTS: [&str; 174] = [
    "Adlam", "Ahom", "Anatolian_Hieroglyphs", "Arabic", "Armenian", "Avestan", "Balinese", "Bamum",
    "Bassa_Vah", "Batak", "Bengali", "Beria_Erfe", "Bhaiksuki", "Bopomofo", "Brahmi", "Braille", "Buginese",
    "Buhid", "Canadian_Aboriginal", "Carian", "Caucasian_Albanian", "Chakma", "Cham", "Cherokee",
    "Chorasmian", "Common", "Coptic", "Cuneiform", "Cypriot", "Cypro_Minoan", "Cyrillic", "Deseret",
    "Devanagari", "Dives_Akuru", "Dogra", "Duployan", "Egyptian_Hieroglyphs", "Elbasan", "Elymaic",
    "Ethiopic", "Garay", "Georgian", "Glagolitic", "Gothic", "Grantha", "Greek", "Gujarati",
    "Gunjala_Gondi", "Gurmukhi", "Gurung_Khema", "Han", "Hangul", "Hanifi_Rohingya", "Hanunoo", "Hatran",
    "Hebrew", "Hiragana", "Imperial_Aramaic", "Inherited", "Inscriptional_Pahlavi",
    "Inscriptional_Parthian", "Javanese", "Kaithi", "Kannada", "Katakana", "Kawi", "Kayah_Li", "Kharoshthi",
    "Khitan_Small_Script", "Khmer", "Khojki", "Khudawadi", "Kirat_Rai", "Lao", "Latin", "Lepcha", "Limbu",
    "Linear_A", "Linear_B", "Lisu", "Lycian", "Lydian", "Mahajani", "Makasar", "Malayalam", "Mandaic",
    "Manichaean", "Marchen", "Masaram_Gondi", "Medefaidrin", "Meetei_Mayek", "Mende_Kikakui",
    "Meroitic_Cursive", "Meroitic_Hieroglyphs", "Miao", "Modi", "Mongolian", "Mro", "Multani", "Myanmar",
    "Nabataean", "Nag_Mundari", "Nandinagari", "New_Tai_Lue", "Newa", "Nko", "Nushu",
    "Nyiakeng_Puachue_Hmong", "Ogham", "Ol_Chiki", "Ol_Onal", "Old_Hungarian", "Old_Italic",
    "Old_North_Arabian", "Old_Permic", "Old_Persian", "Old_Sogdian", "Old_South_Arabian", "Old_Turkic",
    "Old_Uyghur", "Oriya", "Osage", "Osmanya", "Pahawh_Hmong", "Palmyrene", "Pau_Cin_Hau", "Phags_Pa",
    "Phoenician", "Psalter_Pahlavi", "Rejang", "Runic", "Samaritan", "Saurashtra", "Sharada", "Shavian",
    "Siddham", "Sidetic", "SignWriting", "Sinhala", "Sogdian", "Sora_Sompeng", "Soyombo", "Sundanese",
    "Sunuwar", "Syloti_Nagri", "Syriac", "Tagalog", "Tagbanwa", "Tai_Le", "Tai_Tham", "Tai_Viet", "Tai_Yo",
    "Takri", "Tamil", "Tangsa", "Tangut", "Telugu", "Thaana", "Thai", "Tibetan", "Tifinagh", "Tirhuta",
    "Todhri", "Tolong_Siki", "Toto", "Tulu_Tigalari", "Ugaritic", "Vai", "Vithkuqi", "Wancho",
    "Warang_Citi", "Yezidi", "Yi", "Zanabazar_Square",
];

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Table {
    Any,
    Ascii,
    Assigned,
    Category(&'static str),
    Script(&'static str),
}

/// Looks names up and keeps what it found: a pattern may name one table a thousand times.
#[derive(Debug, Default)]
pub(super) struct Names {
    found: HashMap<(Table, bool), ClassUnicode>,
}

impl Names {
    /// The characters that a name stands for, with their other cases when `fold`; None for a name that nothing has.
    pub(super) fn class(&mut self, name: &str, fold: bool) -> Option<ClassUnicode> {
        let table = Table::find(name)?;
        if let Some(class) = self.found.get(&(table, fold)) {
            return Some(class.clone());
        }
        let mut class = table.class();
        if fold {
            class::fold_class(&mut class);
        }
        self.found.insert((table, fold), class.clone());
        Some(class)
    }
}

impl Table {
    fn find(name: &str) -> Option<Self> {
        let is_named = |known: &&str| is_same_name(known, name);
        match name {
            _ if is_named(&"Any") => return Some(Self::Any),
            _ if is_named(&"ASCII") => return Some(Self::Ascii),
            _ if is_named(&"Assigned") => return Some(Self::Assigned),
            _ => {}
        }
        let category = CATEGORIES.iter().find(|(short, long)| is_named(short) || long.iter().any(is_named));
        match category {
            Some((short, _)) => Some(Self::Category(short)),
            None => SCRIPTS.iter().copied().find(is_named).map(Self::Script),
        }
    }

    fn class(self) -> ClassUnicode {
        match self {
            Self::Any => class::any(),
            Self::Ascii => ClassUnicode::new([ClassUnicodeRange::new('\0', '\x7F')]),
            Self::Assigned => {
                let mut class = Self::Category("Cn").class();
                class.negate();
                class
            }
            Self::Category(short) => {
                let mut class = engine_class(&format!(r"\p{{gc={short}}}"));
                unicode17::amend_category(&mut class, short);
                class
            }
            Self::Script(name) => {
                let mut class = engine_class(&format!(r"\p{{sc={name}}}"));
                unicode17::amend_script(&mut class, name);
                class
            }
        }
    }
}

/// The engine's own table. Empty for `Cs`, as a text holds no surrogates, and for a script newer than the engine.
pub(super) fn engine_class(property: &str) -> ClassUnicode {
    match regex_syntax::parse(property).map(Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        _ => ClassUnicode::empty(),
    }
}

/// Whether two names are the same but for case, `_`, `-` and spaces.
fn is_same_name(known: &str, name: &str) -> bool {
    let letters = |name: &str| {
        name.bytes()
            .filter(|byte| !matches!(byte, b'_' | b'-' | b' '))
            .map(|byte| byte.to_ascii_lowercase())
            .collect::<Vec<u8>>()
    };
    letters(known) == letters(name)
}
