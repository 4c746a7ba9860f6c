//! Memory for what a spec points to.

use wq_sys as sys;

/// Arrays that the structs of one call point to. They stay where they are until it is dropped.
#[derive(Default)]
pub(crate) struct Arena {
    pub(crate) headers: Vec<Vec<sys::wq_header>>,
    pub(crate) times: Vec<Vec<i64>>,
    next: Vec<Vec<sys::wq_next_job>>,
    specs: Vec<Vec<sys::wq_job_spec>>,
}

impl Arena {
    /// Keeps the array; an empty one is NULL.
    pub(crate) fn keep<T: Kept>(&mut self, items: impl Iterator<Item = T>) -> (*const T, usize) {
        let array: Vec<T> = items.collect();
        if array.is_empty() {
            return (std::ptr::null(), 0);
        }
        let place = (array.as_ptr(), array.len());
        T::arrays(self).push(array);
        place
    }
}

pub(crate) trait Kept: Sized {
    fn arrays(arena: &mut Arena) -> &mut Vec<Vec<Self>>;
}

macro_rules! kept {
    ($($type:ty, $field:ident;)*) => {
        $(impl Kept for $type {
            fn arrays(arena: &mut Arena) -> &mut Vec<Vec<Self>> {
                &mut arena.$field
            }
        })*
    };
}

kept! {
    sys::wq_header, headers;
    i64, times;
    sys::wq_next_job, next;
    sys::wq_job_spec, specs;
}
