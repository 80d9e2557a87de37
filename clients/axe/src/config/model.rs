//! Model strings: `provider/model-name`.

use std::fmt;
use std::str::FromStr;

use super::Error;

/// A provider and one of its models. The model's part may hold further `/` and `:`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelName {
    /// What stands before the first `/`.
    pub provider: String,
    /// What stands after it.
    pub model: String,
}

impl FromStr for ModelName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let fault = |rule| Error::Model { value: text.to_owned(), rule };
        let (provider, model) = text.split_once('/').ok_or(fault("expected provider/model-name"))?;
        if provider.is_empty() {
            return Err(fault("empty provider"));
        }
        if model.is_empty() {
            return Err(fault("empty model name"));
        }
        Ok(Self { provider: provider.to_owned(), model: model.to_owned() })
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}
