//! The region of the AWS tools' profile.

use super::Environment;

/// What the profile of `AWS_PROFILE`, or the default one, says in `AWS_CONFIG_FILE`, or `~/.aws/config`.
pub(super) fn profile_region(environment: &Environment) -> Option<String> {
    let path = match environment.get("AWS_CONFIG_FILE") {
        Some(path) => environment.current_dir().join(environment.expand(path)),
        None => environment.home()?.join(".aws").join("config"),
    };
    let text = std::fs::read_to_string(path).ok()?;
    let profile = environment.get("AWS_PROFILE").unwrap_or("default");
    let mut is_in_profile = false;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            let name = section.0.trim();
            is_in_profile = name.strip_prefix("profile ").unwrap_or(name).trim() == profile;
        } else if let Some((key, value)) = line.split_once('=')
            && is_in_profile
            && key.trim() == "region"
        {
            // A comment may follow a value after a blank.
            let value = value.split(" #").next().unwrap_or_default().split(" ;").next().unwrap_or_default();
            return Some(value.trim().to_owned()).filter(|region| !region.is_empty());
        }
    }
    None
}
