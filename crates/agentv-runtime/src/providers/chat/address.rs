//! Where an API is: an address that a person wrote, checked once.

use crate::config::Fields;
use crate::http::Url;

/// An address that may be `${{ NAME }}`; absent if the key, or its variable, is.
pub(in crate::providers) fn take(
    fields: &mut Fields<'_, '_>,
    keys: &[&'static str],
) -> Option<Url> {
    let text = fields.env_text(keys)?;
    parse(fields, keys[0], &text)
}

/// The address that was given, else the vendor's own.
pub(in crate::providers) fn or_default(given: Option<&Url>, own: &'static str) -> Url {
    #[expect(clippy::expect_used, reason = "a constant, used by every test without `base_url`")]
    given.cloned().unwrap_or_else(|| own.parse().expect("a valid address"))
}

/// The address in a text; if it is none, that is noted.
pub(in crate::providers) fn parse(
    fields: &mut Fields<'_, '_>,
    key: &str,
    text: &str,
) -> Option<Url> {
    let url = Url::parse(text).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https") && url.has_host() && url.username().is_empty()
    });
    if url.is_none() {
        let message = format!(
            "`{key}` of {} must be an address that begins with `http://` or `https://`",
            fields.owner()
        );
        fields.error("config::url", key, message).help("write it like `https://example.com/v1`");
    }
    url
}

/// The address with these segments after its path, each escaped as needed. Its query is dropped.
pub(in crate::providers) fn join(base: &Url, segments: &[&str]) -> Url {
    let mut url = base.clone();
    url.set_query(None);
    url.set_fragment(None);
    // Only addresses without a host have no path; `parse` lets none of them through.
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}

/// The last segment of the path.
pub(in crate::providers) fn last_segment(url: &Url) -> &str {
    url.path().trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(base: &str, segments: &[&str], expected: &str) {
        assert_eq!(join(&base.parse().unwrap(), segments).as_str(), expected);
    }

    #[test]
    fn segments_come_after_the_path() {
        check("https://a.example", &["x", "y"], "https://a.example/x/y");
        check("https://a.example/v1/", &["x"], "https://a.example/v1/x");
        check("https://a.example/v1?key=1#z", &["x"], "https://a.example/v1/x");
        check("https://a.example", &["a/b c:d"], "https://a.example/a%2Fb%20c:d");
    }
}
