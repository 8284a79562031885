//! Tests of redaction. Tokens are put together here, so that no scanner takes this file for a leak.

use super::*;

fn redacted_in(values: &[&str], size: usize, text: &str) -> String {
    let secrets = Arc::new(Secrets::new(values.iter().map(|value| (*value).to_owned())));
    let mut redactor = Redactor::new(secrets);
    let mut out = String::new();
    let chars: Vec<char> = text.chars().collect();
    for piece in chars.chunks(size) {
        redactor.push(&piece.iter().collect::<String>(), &mut out);
    }
    redactor.finish(&mut out);
    out
}

fn redacted(values: &[&str], text: &str) -> String {
    let whole = redacted_in(values, text.len().max(1), text);
    for size in [1, 2, 3, 5, 17] {
        assert_eq!(redacted_in(values, size, text), whole, "in pieces of {size}");
    }
    whole
}

fn body(length: usize) -> String {
    "aB3dE5gH7j".repeat(length.div_ceil(10))[..length].to_owned()
}

#[test]
fn known_values_are_blotted_out() {
    let values = ["correct horse", "short", "s3cr3t/value", "line one\nline two"];
    assert_eq!(redacted(&values, "a correct horse b\n"), "a [redacted] b\n");
    assert_eq!(redacted(&values, "s3cr3t/values3cr3t/value"), "[redacted][redacted]");
    assert_eq!(redacted(&values, "key:\nline one\nline two\n"), "key:\n[redacted]\n[redacted]\n");
    // Too short to be taken for a secret.
    assert_eq!(redacted(&values, "short"), "short");
}

#[test]
fn the_longest_of_two_values_is_taken() {
    assert_eq!(redacted(&["abcdef", "abcdefghij"], "x abcdefghij y abcdefg"), "x [redacted] y [redacted]g");
}

#[test]
fn well_known_shapes_are_blotted_out() {
    for shape in &SHAPES {
        let token = format!("{}{}", shape.start, body(shape.least));
        let told = if shape.tell_start { shape.start } else { "" };
        assert_eq!(redacted(&[], &format!("x {token} y\n")), format!("x {told}[redacted] y\n"), "{}", shape.start);
        let less = format!("x {}{} y\n", shape.start, body(shape.least - 1));
        assert_eq!(redacted(&[], &less), less, "{}", shape.start);
    }
    let header = format!("Authorization: bearer {}", body(20));
    assert_eq!(redacted(&[], &header), "Authorization: bearer [redacted]");
}

#[test]
fn words_that_only_look_alike_are_left() {
    for text in [
        "task-force-of-many-people-in-one-room",
        "the bearer of bad news",
        "sk-small",
        "BASIC training",
        "https://example.org/a@b",
        "ssh://git@example.org/x",
        "-----BEGIN CERTIFICATE-----",
        "AKIAabc",
    ] {
        assert_eq!(redacted(&[], text), text);
    }
}

#[test]
fn our_own_keys_are_blotted_out() {
    let key = format!("dkt_{}_{}", "0a1b2c3d", "f".repeat(64));
    assert_eq!(redacted(&[], &format!("key {key}.\n")), "key [redacted]\n");
    assert_eq!(
        redacted(&[], &format!("curl -H 'Authorization: Bearer {key}'")),
        "curl -H 'Authorization: Bearer [redacted]'"
    );
}

#[test]
fn what_is_assigned_to_a_secrets_name_is_blotted_out() {
    for (text, told) in [
        ("PASSWORD=hunter2", "PASSWORD=[redacted]"),
        ("db_password=correcthorse port=5", "db_password=[redacted] port=5"),
        ("export DB_PASSWORD='correct horse'", "export DB_PASSWORD='[redacted]'"),
        ("{\"password\": \"hunter2\", \"n\": 1}", "{\"password\": \"[redacted]\", \"n\": 1}"),
        ("api_key = \"a1b2c3d4\"", "api_key = \"[redacted]\""),
        ("token = 'a1b2c3d4'", "token = '[redacted]'"),
        ("GET /x?access_token=a1b2c3d4&page=2", "GET /x?access_token=[redacted]&page=2"),
        ("Config(secret=s3cr3t0, n=1)", "Config(secret=[redacted], n=1)"),
        ("clientSecret: \"s3cr3t0\"", "clientSecret: \"[redacted]\""),
    ] {
        assert_eq!(redacted(&[], text), told);
    }
}

#[test]
fn ordinary_output_with_such_names_is_left() {
    for text in [
        "unexpected token: found `}`",
        "error: expected token=Identifier, got token=LeftBrace",
        "password: required",
        "password=None token=null secret=true",
        "max_tokens=4096 token=123456",
        "assert token == expected_token_1",
        "let secret = load_secret1();",
        "secret=get_secret1(\"x\")",
        "token=tokens1[0]",
        "PASSWORD=$DB_PASSWORD1",
        "test password::tests::hash_v2 ... ok",
        "the password was changed 2 times",
        "match token { Token1 => 1 }",
        "password=***",
        "forgot your password? See page1",
        "token => value1x",
    ] {
        assert_eq!(redacted(&[], text), text);
    }
}

#[test]
fn passwords_in_addresses_are_blotted_out() {
    assert_eq!(
        redacted(&[], "postgres://docket:hunter2@db/x and https://u:p@h\n"),
        "postgres://docket:[redacted]@db/x and https://u:[redacted]@h\n"
    );
    let token = body(30);
    assert_eq!(redacted(&[], &format!("https://{token}@host/x")), "https://[redacted]@host/x");
}

#[test]
fn private_keys_are_blotted_out_to_their_end() {
    let begin = format!("{KEY_BEGIN}RSA PRIVATE KEY-----");
    let end = format!("{KEY_END}RSA PRIVATE KEY-----");
    let key = format!("before\n{begin}\nProc-Type: 4,ENCRYPTED\n\n{}\n{}\n{end}\nafter\n", body(64), body(30));
    assert_eq!(redacted(&[], &key), "before\n[redacted]\nafter\n");
    let line = format!("{{\"key\":\"{begin}\\n{}\\n{end}\\n\"}} rest\n", body(64));
    assert_eq!(redacted(&[], &line), "{\"key\":\"[redacted]\\n\"} rest\n");
    // One without an end does not swallow what is no key.
    let open = format!("{begin}\n{}\nand then the log went on\n", body(64));
    assert_eq!(redacted(&[], &open), "[redacted]\nand then the log went on\n");
}

#[test]
fn a_line_without_end_is_told_in_pieces_and_no_secret_is_cut() {
    let value = "hunter2 and more";
    for before in (0..200).map(|step| LINE_BYTES - HOLD - 100 + step) {
        let text = format!("{}{value}{}", "x ".repeat(before / 2), " y".repeat(HOLD));
        assert_eq!(redacted_in(&[value], 1 << 20, &text).matches(MARK).count(), 1, "{before}");
        assert!(!redacted_in(&[value], 1000, &text).contains("hunter2"), "{before}");
    }
    let endless = format!("ghp_{} end", body(5 * LINE_BYTES));
    assert_eq!(redacted_in(&[], 1000, &endless), "[redacted] end");
}
