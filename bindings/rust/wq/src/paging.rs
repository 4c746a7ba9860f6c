//! Iterators over what the library tells page by page.

use crate::error::Result;

/// Items of pages. `next` moves the cursor on, and gives a page and whether there are more behind it.
/// An error is the last item.
pub(crate) fn pages<T, C>(
    cursor: C,
    next: impl FnMut(&mut C) -> Result<(Vec<T>, bool)>,
) -> impl Iterator<Item = Result<T>> {
    Pages { cursor, next, page: Vec::new().into_iter(), more: true }
}

struct Pages<T, C, F> {
    cursor: C,
    next: F,
    page: std::vec::IntoIter<T>,
    more: bool,
}

impl<T, C, F: FnMut(&mut C) -> Result<(Vec<T>, bool)>> Iterator for Pages<T, C, F> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        loop {
            if let Some(item) = self.page.next() {
                return Some(Ok(item));
            }
            if !self.more {
                return None;
            }
            match (self.next)(&mut self.cursor) {
                Ok((page, more)) => {
                    self.page = page.into_iter();
                    self.more = more;
                }
                Err(error) => {
                    self.more = false;
                    return Some(Err(error));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::ErrorCode;
    use crate::error::Error;

    #[test]
    fn empty_pages_are_no_end_and_an_error_is_one() {
        let told = pages(0, |cursor| {
            *cursor += 1;
            match *cursor {
                1 => Ok((vec![1, 2], true)),
                2 => Ok((vec![], true)),
                3 => Ok((vec![3], true)),
                _ => Err(Error::new(ErrorCode::Io, "gone")),
            }
        });
        let told: Vec<_> = told.map(|item| item.map_err(|error| error.code())).collect();
        assert_eq!(told, [Ok(1), Ok(2), Ok(3), Err(ErrorCode::Io)]);
    }
}
