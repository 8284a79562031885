//! Fits lists into what the caller wants to read. What was cut is said, with how to get it.

use std::future::Future;

use docket_core::{Error, Reason, limits};
use serde_json::Value;

use super::split::Split;
use crate::input::Fields;

/// How many bytes of JSON are taken for a token. An estimate on the safe side for English and identifiers.
const BYTES_PER_TOKEN: usize = 3;
/// How many tokens a list has where the caller says nothing.
const TOKENS: usize = 8000;
/// The least that may be asked for: a row and its surroundings.
const LEAST_TOKENS: i64 = 100;

/// How much of a list is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Budget {
    /// Rows at the most.
    pub(super) rows: usize,
    /// Tokens at the most, by estimate.
    pub(super) tokens: usize,
}

/// A row of a list: what it is called, and both its parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// What its untrusted part is filed under: the item's key.
    pub(super) name: String,
    /// What it says.
    pub(super) said: Split,
}

/// A page of a list.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) rows: Vec<Row>,
    /// Where the next page begins; none on the last.
    pub(super) next: Option<String>,
    /// How many there are in all, where that is known.
    pub(super) total: Option<u64>,
}

impl Budget {
    /// What the caller asks for.
    pub(super) fn read(fields: &mut Fields) -> Result<Self, Error> {
        let rows = match fields.whole("limit")? {
            None => limits::PAGE,
            Some(limit) => {
                usize::try_from(limit).ok().filter(|limit| (1..=limits::PAGE).contains(limit)).ok_or_else(|| {
                    Error::validation(Reason::BadValue, format!("limit must be from 1 to {}", limits::PAGE)).at("limit")
                })?
            }
        };
        let tokens = match fields.whole("maxTokens")? {
            None => TOKENS,
            Some(most) => usize::try_from(most).ok().filter(|_| most >= LEAST_TOKENS).ok_or_else(|| {
                Error::validation(Reason::BadValue, format!("maxTokens must be at least {LEAST_TOKENS}"))
                    .at("maxTokens")
            })?,
        };
        Ok(Self { rows, tokens })
    }

    /// About how many bytes that are.
    pub(super) fn bytes(self) -> usize {
        self.tokens.saturating_mul(BYTES_PER_TOKEN)
    }

    /// How many of these rows fit; one always does, so that every list comes to its end.
    fn fits(self, rows: &[Row]) -> usize {
        let mut left = self.bytes();
        let mut count = 0;
        for row in rows {
            let size = size(&row.said.trusted) + size(&row.said.untrusted) + 2 * row.name.len();
            if count > 0 && size > left {
                break;
            }
            left = left.saturating_sub(size);
            count += 1;
        }
        count
    }
}

fn size(map: &serde_json::Map<String, Value>) -> usize {
    map.iter().map(|(name, value)| name.len() + 6 + value.to_string().len()).sum()
}

/// A page that fits. `fetch` reads so many rows from where the caller stands. Where too many come, fewer are asked for again:
/// only the list itself knows where its next page begins.
pub(super) async fn fitted<F>(budget: Budget, fetch: impl Fn(usize) -> F) -> Result<Page, Error>
where
    F: Future<Output = Result<Page, Error>>,
{
    let mut page = fetch(budget.rows).await?;
    loop {
        let fits = budget.fits(&page.rows);
        if fits >= page.rows.len() {
            return Ok(page);
        }
        page = fetch(fits).await?;
    }
}

/// Writes a page into an answer: rows under `rows`, their texts under their names.
pub(super) fn write(split: &mut Split, page: Page) {
    let shown = page.rows.len();
    let mut rows = Vec::with_capacity(shown);
    for row in page.rows {
        split.quote(&row.name, row.said.untrusted);
        rows.push(Value::Object(row.said.trusted));
    }
    // A list without rows says so.
    split.trusted.insert("rows".to_owned(), Value::Array(rows));
    split.say("total", page.total);
    if let Some(next) = page.next {
        split.say("cut", "there is more: repeat the call with this cursor");
        split.say("cursor", next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rows(count: usize, length: usize) -> Vec<Row> {
        let row = |n: usize| {
            let mut said = Split::default();
            said.say("key", format!("K-{n}"));
            said.quote("title", "x".repeat(length));
            Row { name: format!("K-{n}"), said }
        };
        (0..count).map(row).collect()
    }

    #[tokio::test]
    async fn a_list_is_cut_to_what_fits_and_goes_on_where_it_was_cut() {
        let all = rows(50, 300);
        let list = |from: usize| {
            let all = all.clone();
            move |limit: usize| {
                let rows: Vec<Row> = all.iter().skip(from).take(limit).cloned().collect();
                let end = from + rows.len();
                let next = (end < all.len()).then(|| end.to_string());
                std::future::ready(Ok(Page { rows, next, total: None }))
            }
        };
        let (mut from, mut seen, mut pages) = (0, 0, 0);
        loop {
            let page = fitted(Budget { rows: 200, tokens: 500 }, list(from)).await.expect("a page");
            let bytes: usize = page.rows.iter().map(|row| json!(row.said.untrusted).to_string().len()).sum();
            assert!(bytes <= 1500 && !page.rows.is_empty(), "{bytes}");
            (seen, pages) = (seen + page.rows.len(), pages + 1);
            match page.next {
                Some(next) => from = next.parse().expect("a number"),
                None => break,
            }
        }
        assert!(seen == 50 && pages > 10, "{seen} in {pages}");
    }

    #[tokio::test]
    async fn a_row_that_is_too_large_comes_alone() {
        let all = rows(3, 9000);
        let fetch = |limit: usize| {
            std::future::ready(Ok(Page { rows: all.iter().take(limit).cloned().collect(), ..Page::default() }))
        };
        assert_eq!(fitted(Budget { rows: 200, tokens: 100 }, fetch).await.expect("a page").rows.len(), 1);
    }
}
