//! Profiles in the files of AWS's tools: `~/.aws/credentials` and `~/.aws/config`.

use super::super::error::ZarrError;
use super::error::RemoteError;
use object_store::aws::AmazonS3ConfigKey;
use std::collections::HashMap;
use std::path::PathBuf;

/// Settings of a profile, by their names in the files.
#[derive(Debug, Default)]
pub(super) struct Profile(HashMap<String, String>);

/// Names in files, and of settings.
const SETTINGS: [(&str, AmazonS3ConfigKey); 5] = [
    ("aws_access_key_id", AmazonS3ConfigKey::AccessKeyId),
    ("aws_secret_access_key", AmazonS3ConfigKey::SecretAccessKey),
    ("aws_session_token", AmazonS3ConfigKey::Token),
    ("region", AmazonS3ConfigKey::Region),
    ("endpoint_url", AmazonS3ConfigKey::Endpoint),
];

impl Profile {
    /// The profile of a name, else that of `AWS_PROFILE`, else the default one, which need not exist.
    pub(super) fn read(name: Option<&str>) -> Result<Self, ZarrError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let name = name.map(str::to_owned).or_else(|| variable("AWS_PROFILE"));
        let file = |at: &str, default: &str| match variable(at) {
            Some(path) => Some(PathBuf::from(path)),
            None => Some(std::env::home_dir()?.join(".aws").join(default)),
        };
        let text = |path: Option<PathBuf>| {
            path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default()
        };
        let config = text(file("AWS_CONFIG_FILE", "config"));
        let credentials = text(file("AWS_SHARED_CREDENTIALS_FILE", "credentials"));
        let found = Self::parse(&config, &credentials, name.as_deref().unwrap_or("default"));
        match (found, name) {
            (Some(profile), _) => Ok(profile),
            (None, None) => Ok(Self::default()),
            (None, Some(name)) => Err(RemoteError::setting(format!(
                "there is no profile `{name}`, as AWS_PROFILE or an option names it, in ~/.aws/credentials or \
                 ~/.aws/config"
            ))
            .into()),
        }
    }

    fn parse(config: &str, credentials: &str, name: &str) -> Option<Self> {
        let mut all = section(config, &format!("profile {name}"));
        if name == "default" {
            all = all.or_else(|| section(config, name));
        }
        match (all, section(credentials, name)) {
            (None, None) => None,
            (all, own) => {
                let mut all = all.unwrap_or_default();
                all.extend(own.unwrap_or_default());
                Some(Self(all))
            }
        }
    }

    /// Settings for a client; with keys, if they are wanted.
    pub(super) fn settings(&self, keys: bool) -> impl Iterator<Item = (AmazonS3ConfigKey, &str)> {
        let wanted =
            SETTINGS.into_iter().filter(move |(name, _)| keys || !name.starts_with("aws_"));
        wanted.filter_map(|(name, key)| Some((key, &**self.0.get(name)?)))
    }
}

/// Names and values of a section, if it is there. Indented lines belong to nested settings.
fn section(text: &str, name: &str) -> Option<HashMap<String, String>> {
    let (mut found, mut is_in) = (None, false);
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(header) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_in = header.split_whitespace().collect::<Vec<_>>().join(" ") == name;
            if is_in {
                found.get_or_insert_with(HashMap::new);
            }
        } else if let (true, Some((name, value))) = (is_in, trimmed.split_once('='))
            && !line.starts_with([' ', '\t', '#', ';'])
        {
            let entry = (name.trim().to_ascii_lowercase(), value.trim().to_owned());
            found.get_or_insert_with(HashMap::new).extend([entry]);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "[default]\nregion = eu-west-1\n[profile  lab]\nregion=eu-north-1\ns3 =\n  endpoint_url = no\n\
        endpoint_url = http://lab\n# aws_session_token = no\n";
    const CREDENTIALS: &str = "[lab]\naws_access_key_id = A\naws_secret_access_key=B=C\n\n[other]\naws_access_key_id = D\n";

    #[test]
    fn profiles_are_in_two_files() {
        let of = |name: &str, keys| {
            let profile = Profile::parse(CONFIG, CREDENTIALS, name)?;
            let values: Vec<_> =
                profile.settings(keys).map(|(_, value)| value.to_owned()).collect();
            Some(values.join(" "))
        };
        assert_eq!(of("lab", true).as_deref(), Some("A B=C eu-north-1 http://lab"));
        assert_eq!(of("lab", false).as_deref(), Some("eu-north-1 http://lab"));
        assert_eq!(of("default", true).as_deref(), Some("eu-west-1"));
        assert_eq!(of("other", true).as_deref(), Some("D"));
        assert_eq!(of("none", true), None);
    }
}
