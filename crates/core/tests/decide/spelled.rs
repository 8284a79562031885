//! How words of the knowledge are cut, so that what is asked for is found.

use docket_core::search::question_words;

#[test]
fn a_plural_asks_for_the_same_as_its_singular() {
    for (one, many) in [
        ("process", "processes"),
        ("index", "indexes"),
        ("crash", "crashes"),
        ("patch", "patches"),
        ("branch", "branches"),
        ("fix", "fixes"),
        ("cache", "caches"),
        ("case", "cases"),
        ("database", "databases"),
        ("size", "sizes"),
        ("release", "releases"),
        ("retry", "retries"),
        ("queue", "queues"),
    ] {
        assert_eq!(question_words(one), question_words(many), "{one}");
    }
}

#[test]
fn where_nothing_stands_between_words_two_letters_are_one() {
    assert_eq!(question_words("数据库"), ["数据", "据库"]);
    assert_eq!(question_words("redis数据库 v2"), ["redis", "数据", "据库", "v2"]);
    assert_eq!(question_words("データ"), question_words("テ\u{3099}ータ"));
    assert_eq!(question_words("データベース").len(), 5);
    assert_eq!(question_words("데이터베이스").len(), 1, "this script has spaces");
}
