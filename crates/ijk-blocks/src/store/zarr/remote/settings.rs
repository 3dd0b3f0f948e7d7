//! From a URL, options and the environment to a client.

use super::super::error::ZarrError;
use super::super::place::StoreOptions;
use super::client::Client;
use super::error::{RemoteError, Server};
use super::profile::Profile;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, RetryConfig};
use std::sync::Arc;
use std::time::Duration;

/// A server that sends nothing for so long is asked again.
const SILENCE: Duration = Duration::from_secs(30);

/// Requests that failed for a passing reason are repeated, with longer and longer pauses: for about ten seconds where
/// nobody answers.
const RETRIES: usize = 6;
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
const RETRIED: Duration = Duration::from_secs(120);

fn client_options() -> ClientOptions {
    ClientOptions::new().with_timeout_disabled().with_read_timeout(SILENCE)
}

fn retry() -> RetryConfig {
    let (init_backoff, max_backoff) = PAUSES;
    let backoff = BackoffConfig { init_backoff, max_backoff, base: 2.0 };
    RetryConfig { backoff, max_retries: RETRIES, retry_timeout: RETRIED }
}

/// A client for a bucket of an object store that speaks S3.
pub(super) fn s3(bucket: &str, options: &StoreOptions) -> Result<Client, ZarrError> {
    let builder = AmazonS3Builder::new().with_client_options(client_options()).with_retry(retry());
    let builder = configured(builder, options)?.with_bucket_name(bucket);
    let endpoint = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint]
        .iter()
        .find_map(|key| builder.get_config_value(key));
    let is_plain = endpoint.is_some_and(|url| url.starts_with("http://"));
    let allow = AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp);
    // Whoever names such an endpoint wants it.
    let builder = if is_plain { builder.with_config(allow, "true") } else { builder };
    Client::new(Server::S3, move || Ok(Arc::new(builder.clone().build()?) as _))
}

/// The builder with what the profile, the environment and options say, each before the one before.
fn configured(
    mut builder: AmazonS3Builder,
    options: &StoreOptions,
) -> Result<AmazonS3Builder, ZarrError> {
    let own = |name: &str| options.entries().filter(|(n, _)| *n == name).last().map(|(_, v)| v);
    let environment: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with("AWS_"))
        .collect();
    let named = own("profile").or_else(|| own("aws_profile"));
    let profile = Profile::read(named)?;
    let is_given = |name: &str| {
        environment.iter().any(|(n, _)| n == name)
            || own(&name.to_ascii_lowercase()).is_some()
            || own(&name["AWS_".len()..].to_ascii_lowercase()).is_some()
    };
    // A profile that is named is meant; else keys of the environment are complete by themselves.
    let keys = named.is_some() || !is_given("AWS_ACCESS_KEY_ID");
    for (key, value) in profile.settings(keys) {
        builder = builder.with_config(key, value);
    }
    for (name, value) in environment {
        let is_key = name == "AWS_ACCESS_KEY_ID"
            || name == "AWS_SECRET_ACCESS_KEY"
            || name == "AWS_SESSION_TOKEN";
        match name.to_ascii_lowercase().parse() {
            Ok(key) if !(is_key && named.is_some()) => builder = builder.with_config(key, value),
            _ => {}
        }
    }
    for (name, value) in options.entries().filter(|(n, _)| !n.ends_with("profile")) {
        let key: AmazonS3ConfigKey = name.to_ascii_lowercase().parse().map_err(|_| {
            RemoteError::setting(format!(
                "there is no option `{name}` of object stores; those that are often set are access_key_id, \
                 secret_access_key, session_token, region, endpoint_url, profile, skip_signature"
            ))
        })?;
        builder = builder.with_config(key, value);
    }
    Ok(builder)
}

/// A client for a web server.
pub(super) fn web(address: &str, options: &StoreOptions) -> Result<Client, ZarrError> {
    let mut client = client_options().with_allow_http(true);
    for (name, value) in options.entries() {
        let key: ClientConfigKey = name.to_ascii_lowercase().parse().map_err(|_| {
            RemoteError::setting(format!("there is no option `{name}` of web servers"))
        })?;
        client = client.with_config(key, value);
    }
    let builder =
        HttpBuilder::new().with_url(address).with_client_options(client).with_retry(retry());
    Client::new(Server::Web, move || Ok(Arc::new(builder.clone().build()?) as _))
}
