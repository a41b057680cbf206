use super::recordings::{RecordedOutcome, Recordings};
use agentv_core::Response;
use std::path::Path;

fn open(text: &str) -> (tempfile::TempDir, Recordings) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("recordings.ndjson");
    std::fs::write(&path, text).unwrap();
    let recordings = Recordings::open(&path).unwrap();
    (dir, recordings)
}

/// The error without the file's directory.
#[track_caller]
fn check_error(text: &str, id: &str, expected: &str) {
    let (dir, recordings) = open(text);
    let error = recordings.find(id).unwrap_err();
    assert_eq!(error.replace(&format!("{}/", dir.path().display()), ""), expected);
}

#[test]
fn an_answer_is_found_by_its_id() {
    let (_dir, recordings) = open(
        "{\"id\": \"a\", \"response\": {\"text\": \"A\"}}\n\n{\"error\": \"no\", \"id\": \"b\\u00e9\"}",
    );
    assert_eq!(recordings.find("a"), Ok(RecordedOutcome::Response(Box::new(Response::text("A")))));
    assert_eq!(recordings.find("bé"), Ok(RecordedOutcome::Error("no".to_owned())));
}

#[test]
fn a_miss_says_what_there_is() {
    let text = "{\"id\": \"refund\", \"error\": \"x\"}\n{cut";
    let near = "`recordings.ndjson` has no recording of `refunt`; did you mean `refund`?; line 2 is not a recording";
    check_error(text, "refunt", near);
    let far =
        "`recordings.ndjson` has no recording of `other` among its 1; line 2 is not a recording";
    check_error(text, "other", far);
    check_error("", "a", "`recordings.ndjson` has no recording of `a` among its 0");
}

#[test]
fn two_of_one_id_are_not_chosen_between() {
    let text = "{\"id\": \"a\", \"error\": \"x\"}\n".repeat(3);
    check_error(&text, "a", "`a` is recorded twice in `recordings.ndjson`: see lines 1 and 2");
}

#[test]
fn a_recording_of_nothing_is_none() {
    let (_dir, recordings) = open(r#"{"id": "a", "answer": "A"}"#);
    let error = recordings.find("a").unwrap_err();
    assert!(error.contains("line 1 of") && error.contains("is not a recording"), "{error}");
}

#[test]
fn a_file_that_is_not_there_is_an_error() {
    assert!(Recordings::open(Path::new("/nowhere/recordings.ndjson")).is_err());
}
