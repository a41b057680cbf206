//! What well-known keys look like: how they begin, and which characters follow.

/// A kind of key.
pub(super) struct KeyShape {
    /// What it begins with.
    pub(super) prefix: &'static str,
    /// How many characters follow at least.
    least: usize,
    body: Body,
}

/// What follows the prefix.
#[derive(Clone, Copy)]
enum Body {
    /// Letters, digits, `_` and `-`, with a digit among them: words with hyphens have none.
    Token,
    /// Capital letters and digits, and no more of them than the least.
    Capitals,
    /// Two more parts of base64, each after a dot.
    Parts,
    /// Lines, up to `-----END … PRIVATE KEY-----`.
    PrivateKey,
}

/// How far a key reaches.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// It is not one.
    NotAKey,
    Ends(usize),
    /// The text ends where it may go on. So far it is a key up to here, or not yet one.
    Open(Option<usize>),
}

const fn token(prefix: &'static str, least: usize) -> KeyShape {
    KeyShape { prefix, least, body: Body::Token }
}

/// None may be the beginning of another.
pub(super) const SHAPES: &[KeyShape] = &[
    // OpenAI, Anthropic, OpenRouter, DeepSeek, LiteLLM.
    token("sk-", 20),
    // Groq, xAI, Perplexity, Replicate, Hugging Face, NVIDIA.
    token("gsk_", 32),
    token("xai-", 40),
    token("pplx-", 32),
    token("r8_", 32),
    token("hf_", 30),
    token("nvapi-", 40),
    // Google.
    token("AIza", 35),
    // AWS.
    KeyShape { prefix: "AKIA", least: 16, body: Body::Capitals },
    KeyShape { prefix: "ASIA", least: 16, body: Body::Capitals },
    // GitHub and GitLab.
    token("ghp_", 36),
    token("gho_", 36),
    token("ghu_", 36),
    token("ghs_", 36),
    token("ghr_", 36),
    token("github_pat_", 22),
    token("glpat-", 20),
    // npm, PyPI.
    token("npm_", 36),
    token("pypi-", 50),
    // Slack and Stripe.
    token("xoxb-", 20),
    token("xoxp-", 20),
    token("xoxa-", 20),
    token("xapp-", 20),
    token("sk_live_", 16),
    token("rk_live_", 16),
    // JSON web tokens: a mapping, which begins with `{"`.
    KeyShape { prefix: "eyJ", least: 17, body: Body::Parts },
    KeyShape { prefix: "-----BEGIN ", least: 0, body: Body::PrivateKey },
];

/// More of a key is not looked at: a text that never ends must not be held.
const LONGEST_KEY: usize = 16 << 10;
/// What a part of a web token has at least, after the first.
const LEAST_PART: usize = 10;

impl KeyShape {
    /// How far a key that begins here reaches.
    pub(super) fn extent(&self, text: &[u8], start: usize) -> Extent {
        let most = text.len().min(start + LONGEST_KEY);
        let (before, key) = (&text[..start], &text[start..most]);
        let extent = match self.body {
            Body::PrivateKey => private_key(key),
            _ if !is_boundary(before) => Extent::NotAKey,
            Body::Parts => web_token(key, self.prefix.len() + self.least),
            Body::Token | Body::Capitals => self.word(key),
        };
        match extent {
            Extent::Ends(length) => Extent::Ends(start + length),
            Extent::Open(length) if most == text.len() => {
                Extent::Open(length.map(|length| start + length))
            }
            // It is longer than any key.
            Extent::Open(length) => {
                length.map_or(Extent::NotAKey, |length| Extent::Ends(start + length))
            }
            Extent::NotAKey => Extent::NotAKey,
        }
    }

    fn word(&self, key: &[u8]) -> Extent {
        let body = &key[self.prefix.len()..];
        let is_capitals = matches!(self.body, Body::Capitals);
        let length = run(body, |byte| match self.body {
            Body::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            _ => is_word(byte),
        });
        let is_key = if is_capitals {
            length == self.least
        } else {
            length >= self.least && body[..length].iter().any(u8::is_ascii_digit)
        };
        let end = is_key.then_some(self.prefix.len() + length);
        if length == body.len() {
            return Extent::Open(end);
        }
        end.map_or(Extent::NotAKey, Extent::Ends)
    }
}

/// How many bytes from the beginning are like this.
fn run(text: &[u8], is: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|byte| !is(*byte)).unwrap_or(text.len())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-".contains(&byte)
}

/// Whether a word can begin after this text. `task-…` has no key in it.
fn is_boundary(before: &[u8]) -> bool {
    match before {
        // A line break and its kind in a string of JSON.
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., last] => !is_word(*last),
        [] => true,
    }
}

/// Three parts with dots between them.
fn web_token(key: &[u8], least: usize) -> Extent {
    let mut end = 0;
    for (at, least) in [least, LEAST_PART, LEAST_PART].into_iter().enumerate() {
        let part = run(&key[end..], is_word);
        end += part;
        let is_last = at == 2;
        if end == key.len() {
            return Extent::Open((is_last && part >= least).then_some(end));
        }
        if part < least || (!is_last && key[end] != b'.') {
            return Extent::NotAKey;
        }
        end += usize::from(!is_last);
    }
    Extent::Ends(end)
}

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const PRIVATE: &[u8] = b"PRIVATE KEY-----";

/// From `-----BEGIN … PRIVATE KEY-----` to the end of `-----END … PRIVATE KEY-----`; of a key that is cut off, all that
/// looks like it.
fn private_key(key: &[u8]) -> Extent {
    let head = match line(key, BEGIN) {
        Extent::Ends(head) => head,
        Extent::NotAKey => return Extent::NotAKey,
        Extent::Open(_) => return Extent::Open(None),
    };
    // Base64 with its line breaks, which may be those of a string of JSON.
    let body =
        run(&key[head..], |byte| byte.is_ascii_alphanumeric() || b"+/=\\:,\r\n ".contains(&byte));
    let body = head + body;
    match line(&key[body..], END) {
        Extent::Ends(last) => Extent::Ends(body + last),
        Extent::Open(_) => Extent::Open(Some(body)),
        Extent::NotAKey => Extent::Ends(body),
    }
}

/// A line that begins so, names a kind of private key in capital letters, and ends with dashes.
fn line(text: &[u8], start: &[u8]) -> Extent {
    let known = text.len().min(start.len());
    if text[..known] != start[..known] {
        return Extent::NotAKey;
    }
    let is_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ';
    let name = run(&text[known..], is_name);
    let dashes = known + name;
    let end = dashes + 5;
    let seen = &text[dashes..text.len().min(end)];
    if !seen.iter().all(|byte| *byte == b'-') {
        return Extent::NotAKey;
    }
    if text.len() < end {
        return Extent::Open(None);
    }
    if text[..end].ends_with(PRIVATE) { Extent::Ends(end) } else { Extent::NotAKey }
}
