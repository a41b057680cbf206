use super::*;
use base64::Engine as _;
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

fn redactor(secrets: &[&str], patterns: &[&str]) -> Redactor {
    let secrets: Vec<Secret> = secrets.iter().map(|secret| Secret::new(*secret)).collect();
    Redactor::new(&secrets, patterns.iter().copied())
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let redactor = redactor(&["canary/1+2 \"x\"", "canary/1+2 \"x\" and more"], &["emp-[0-9]{4}"]);
    assert_eq!(redactor.text(text), expected);
    // It is the same the second time.
    assert_eq!(redactor.text(&redactor.text(text)), expected);
}

#[test]
fn values_are_masked_in_every_form() {
    check("a canary/1+2 \"x\" b", "a [redacted] b");
    check("canary/1+2 \"x\" and more!", "[redacted]!");
    check(r#"{"a":"canary/1+2 \"x\""}"#, r#"{"a":"[redacted]"}"#);
    check("?key=canary%2F1%2B2%20%22x%22&b=1", "?key=[redacted]&b=1");
    let basic = base64::engine::general_purpose::STANDARD.encode("user:canary/1+2 \"x\"");
    assert!(redactor(&["canary/1+2 \"x\""], &[]).text(&basic).contains(MASK), "{basic}");
    check("canary/1+2 \"x", "canary/1+2 \"x");
}

#[test]
fn patterns_of_the_user_are_masked() {
    check("see emp-1234, emp-12", "see [redacted], emp-12");
    check("emp-1234canary/1+2 \"x\"", "[redacted][redacted]");
}

#[test]
fn patterns_that_mask_everything_are_refused() {
    let refused = |pattern: &str| check_pattern(pattern).unwrap_err().to_string();
    assert_eq!(refused("a*"), "`a*` matches the empty text, so it would mask everything");
    assert_eq!(refused("(a"), "`(a` is not a regular expression: error: unclosed group");
    assert_eq!(check_pattern("a+"), Ok(()));
}

#[test]
fn well_known_keys_are_masked() {
    let digits = "0123456789abcdefghijABCDEFGHIJ0123456789";
    for (before, key) in [
        ("", format!("sk-{digits}")),
        ("key=", format!("sk-ant-api03-{digits}")),
        ("\\n", format!("ghp_{}", &digits[..36])),
        ("\"", format!("AIza{}", &digits[..35])),
        ("", "AKIA0123456789ABCDEF".to_owned()),
        ("Bearer ", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLWZvci1tZQ".to_owned()),
        (
            "",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE+/=\nabc\n-----END RSA PRIVATE KEY-----"
                .to_owned(),
        ),
        ("", "-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----".to_owned()),
    ] {
        let found = redactor(&[], &[]).text(&format!("{before}{key} rest")).into_owned();
        assert_eq!(found, format!("{before}[redacted] rest"), "{key}");
    }
}

#[test]
fn ordinary_words_are_not_keys() {
    for text in [
        "task-0123456789abcdefghijklmn",
        "sk-folding-cube-animation-name",
        "sk-short1",
        "AKIA0123456789ABCDEFG",
        "eyJhbGciOiJIUzI1NiJ9.short.x",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----",
    ] {
        assert_eq!(redactor(&[], &[]).text(text), text);
    }
}

#[test]
fn a_key_that_is_cut_off_is_masked_as_far_as_it_goes() {
    let text = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC";
    assert_eq!(redactor(&[], &[]).text(text), MASK);
}

#[test]
fn every_text_of_a_value_is_masked() {
    let value = json!({
        "a": ["x canary-12345", 1.5, null, {"canary-12345": "line\ncanary-12345\t\u{1}é"}],
        "b": u64::MAX,
    });
    let masked = redactor(&["canary-12345"], &["ne\\n"]).masked(&value).unwrap().unwrap();
    assert_eq!(
        masked,
        json!({
            "a": ["x [redacted]", 1.5, null, {"[redacted]": "li[redacted][redacted]\t\u{1}é"}],
            "b": u64::MAX,
        })
    );
}

#[test]
fn nothing_is_masked_where_it_is_off() {
    let text = "sk-0123456789abcdefghijABCDEFGHIJ";
    assert_eq!(Redactor::off().text(text), text);
    assert_eq!(Redactor::off().masked(&json!(text)).unwrap(), None);
    assert!(redactor(&[], &[]).text(text).contains(MASK));
}

#[test]
fn a_stream_passes_whole_lines_on_at_once() {
    let mut stream =
        RedactedStream::new(Arc::new(redactor(&["canary-12345", "two\nlines-here"], &[])));
    let mut out = Vec::new();
    stream.push(b"{\"a\": 1}\n", &mut out);
    assert_eq!(out, b"{\"a\": 1}\n");
    stream.push(b"x cana", &mut out);
    assert_eq!(out, b"{\"a\": 1}\nx ");
    stream.push(b"ry-12345", &mut out);
    assert_eq!(out, b"{\"a\": 1}\nx [redacted]");
    stream.push(b" two", &mut out);
    stream.push(b"\nlines", &mut out);
    stream.finish(&mut out);
    assert_eq!(out, b"{\"a\": 1}\nx [redacted] two\nlines");
}

#[test]
fn a_stream_without_end_is_not_held() {
    let mut stream = RedactedStream::new(Arc::new(redactor(&["canary-12345"], &["x{3}y"])));
    let mut out = Vec::new();
    let piece = format!("sk-{}", "1".repeat(1 << 20));
    stream.push(piece.as_bytes(), &mut out);
    let held = piece.len() - out.len();
    assert!(held <= 64 << 10, "{held} bytes are held");
}

proptest! {
    #[test]
    fn pieces_are_masked_like_the_whole(
        words in prop::collection::vec(prop::sample::select(vec![
            "canary-12345", "canary-", "12345", "sk-", "0123456789abcdefghij", "\n", " ", "\\n",
            "eyJhbGciOiJIUzI1NiJ9", ".", "-----BEGIN ", "PRIVATE KEY-----", "-----END ", "MIIE",
            "AKIA", "0123456789ABCDEF", "é", "emp-1234", "emp-", "Y2FuYXJ5LTEyMzQ1", "canary-1234567",
        ]), 0..20),
        cuts in prop::collection::vec(0_usize..400, 0..12),
        has_patterns in any::<bool>(),
    ) {
        let patterns: &[&str] = if has_patterns { &["emp-[0-9]{4}"] } else { &[] };
        let redactor = Arc::new(redactor(&["canary-12345", "canary-1234567", "line\nbreaks"], patterns));
        let text = words.concat();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut stream = RedactedStream::new(Arc::clone(&redactor));
        let mut out = Vec::new();
        for cut in cuts.windows(2) {
            stream.push(&text.as_bytes()[cut[0]..cut[1]], &mut out);
        }
        stream.finish(&mut out);
        prop_assert_eq!(String::from_utf8(out).unwrap(), redactor.text(&text).into_owned());
    }
}
