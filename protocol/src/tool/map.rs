//! Objects whose names are not ours: none repeats, and none has a meaning here.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Number, Value};

/// An object whose values are strings. A repeated name is refused when it is decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct StringMap(pub BTreeMap<String, String>);

impl<'de> Deserialize<'de> for StringMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = StringMap;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object of strings")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<StringMap, A::Error> {
                let mut map = BTreeMap::new();
                while let Some((name, value)) = access.next_entry::<String, String>()? {
                    if map.contains_key(&name) {
                        return Err(A::Error::custom(format_args!("repeated member {name:?}")));
                    }
                    map.insert(name, value);
                }
                Ok(StringMap(map))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// Reads an object of any JSON. For `deserialize_with`.
pub(crate) fn object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Map<String, Value>;
        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<Self::Value, A::Error> {
            members(access)
        }
    }
    deserializer.deserialize_map(Members)
}

fn members<'de, A: MapAccess<'de>>(mut access: A) -> Result<Map<String, Value>, A::Error> {
    let mut map = Map::new();
    while let Some((name, Plain(value))) = access.next_entry::<String, Plain>()? {
        map.insert(name, value);
    }
    Ok(map)
}

/// Any JSON of a stranger. The `Deserialize` of `Value` itself gives objects with a member of a certain name another
/// meaning (the raw values of serde_json), which what a stranger sends must not reach. Of a repeated name the last holds;
/// an integer beyond 64 bits is the nearest double.
#[derive(Debug, Clone, PartialEq)]
pub struct Plain(pub Value);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Plain, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Plain;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_unit<E>(self) -> Result<Plain, E> {
                Ok(Plain(Value::Null))
            }
            fn visit_bool<E>(self, value: bool) -> Result<Plain, E> {
                Ok(Plain(Value::Bool(value)))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Plain, E> {
                Ok(Plain(Value::from(value)))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Plain, E> {
                Ok(Plain(Value::from(value)))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Plain, E> {
                let number = Number::from_f64(value).ok_or_else(|| E::custom("the number is not finite"))?;
                Ok(Plain(Value::Number(number)))
            }
            fn visit_str<E>(self, value: &str) -> Result<Plain, E> {
                Ok(Plain(Value::from(value)))
            }
            fn visit_string<E>(self, value: String) -> Result<Plain, E> {
                Ok(Plain(Value::String(value)))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Plain, A::Error> {
                let mut items = Vec::new();
                while let Some(Plain(item)) = access.next_element()? {
                    items.push(item);
                }
                Ok(Plain(Value::Array(items)))
            }
            fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<Plain, A::Error> {
                members(access).map(|map| Plain(Value::Object(map)))
            }
        }
        deserializer.deserialize_any(Any)
    }
}
