//! Ending a lease, or prolonging it: of one job, or of many in one change.

use std::time::Duration;

use wq_sys as sys;

use crate::call::Ctx;
use crate::code::{ErrorCode, Outcome};
use crate::driver::Pending;
use crate::error::Result;
use crate::handle::view;
use crate::job::Token;
use crate::queue::Queue;
use crate::spec::Bytes;
use crate::time::{opt_ms, to_ms};
use crate::words::DeadReason;

/// How a lease ends. What does not belong to the kind is refused by the library.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "this is how to settle; Job::settle does it"]
pub struct Settle<'a> {
    kind: u32,
    delay: Option<Duration>,
    flags: u32,
    priority: u32,
    error: Bytes<'a>,
    reason: u32,
    result: Option<Bytes<'a>>,
}

impl<'a> Settle<'a> {
    fn of_kind(kind: u32) -> Settle<'a> {
        Settle {
            kind,
            delay: None,
            flags: 0,
            priority: 0,
            error: Bytes::default(),
            reason: 0,
            result: None,
        }
    }

    /// The job is done and goes.
    pub fn ack() -> Settle<'a> {
        Settle::of_kind(sys::WQ_SETTLE_ACK)
    }

    /// The attempt failed: tried again if attempts are left, else dead.
    pub fn nack() -> Settle<'a> {
        Settle::of_kind(sys::WQ_SETTLE_NACK)
    }

    /// The job failed for good and is dead.
    pub fn fail() -> Settle<'a> {
        Settle::of_kind(sys::WQ_SETTLE_FAIL)
    }

    /// The job is given back before it was begun, uncounted.
    pub fn release() -> Settle<'a> {
        Settle::of_kind(sys::WQ_SETTLE_RELEASE)
    }

    /// Ready again after this time. Of a nack: instead of the backoff policy.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// Without a delay: to the head of its priority. Of a nack or release.
    pub fn front(mut self) -> Self {
        // The two flags of the header are the same bit.
        self.flags |= sys::WQ_NACK_FRONT;
        self
    }

    /// Do not count the nack in `exceptions`.
    pub fn no_exception(mut self) -> Self {
        self.flags |= sys::WQ_NACK_NO_EXCEPTION;
        self
    }

    /// The priority of the job from then on. Of a nack.
    pub fn priority(mut self, priority: u8) -> Self {
        self.flags |= sys::WQ_NACK_PRIORITY;
        self.priority = u32::from(priority);
        self
    }

    /// Why it failed: any bytes, kept up to 4 KiB. Of a nack or fail.
    pub fn error(mut self, error: impl Into<Bytes<'a>>) -> Self {
        self.error = error.into();
        self
    }

    /// Why the job is dead if no attempt is left. Of a nack or fail.
    pub fn reason(mut self, reason: DeadReason) -> Self {
        self.reason = reason.raw();
        self
    }

    /// Kept in the history of the queue, if it has one; up to 1 MiB. Of an ack.
    pub fn result(mut self, result: impl Into<Bytes<'a>>) -> Self {
        self.result = Some(result.into());
        self
    }

    /// The item of the library; its bytes are those of self.
    pub(crate) fn lower(&self, token: Token) -> sys::wq_settle_item {
        let mut raw = sys::wq_settle_item::init();
        raw.kind = self.kind;
        raw.id = token.id;
        raw.generation = token.generation;
        raw.delay_ms = opt_ms(self.delay);
        raw.flags = self.flags;
        if self.kind == sys::WQ_SETTLE_NACK && self.delay.is_some() {
            raw.flags |= sys::WQ_NACK_DELAY;
        }
        raw.priority = self.priority;
        raw.error = self.error.view();
        raw.reason = self.reason;
        if let Some(result) = &self.result {
            raw.result = result.view();
        }
        raw
    }

    /// Whether the call for a single job of this kind has a place for all that was said.
    fn is_plain(&self) -> bool {
        let bare = self.delay.is_none() && self.flags == 0 && self.reason == 0;
        let no_text = self.error == Bytes::default();
        match self.kind {
            sys::WQ_SETTLE_ACK => bare && no_text,
            sys::WQ_SETTLE_FAIL => bare && self.result.is_none(),
            sys::WQ_SETTLE_RELEASE => self.reason == 0 && no_text && self.result.is_none(),
            _ => self.result.is_none(),
        }
    }
}

/// What became of one of several: an outcome, or the error of this one alone (`NotFound`).
pub type ItemOutcome = std::result::Result<Outcome, ErrorCode>;

/// What became of each of several tokens. One that was refused did not stop the others.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "single jobs may have been refused"]
pub struct Items(Vec<ItemOutcome>);

impl Items {
    /// One for each token, in their order.
    pub fn as_slice(&self) -> &[ItemOutcome] {
        &self.0
    }

    /// Whether all were done.
    pub fn all_ok(&self) -> bool {
        self.first() == Ok(Outcome::Ok)
    }

    /// What became of the first one that was not done; `Ok(Ok)` if all were.
    pub fn first(&self) -> ItemOutcome {
        let refused = self.0.iter().find(|item| **item != Ok(Outcome::Ok));
        refused.copied().unwrap_or(Ok(Outcome::Ok))
    }
}

/// A value that no code has: the library did not get as far as this item.
const UNTOLD: i32 = i32::MIN;

fn items_of(ctx: &Ctx, code: i32, codes: &[i32]) -> Result<Items> {
    if codes.contains(&UNTOLD) || (code < 0 && code != sys::WQ_E_NOT_FOUND) {
        let _ = ctx.outcome(code)?;
    }
    let told = |code: &i32| Outcome::from_code(*code).ok_or_else(|| ErrorCode::from_code(*code));
    Ok(Items(codes.iter().map(told).collect()))
}

impl Queue {
    /// Settle the job that this token is of; [`Outcome::Stale`] if the lease was lost.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`] (no such job in this queue, or queue deleted),
    /// [`ErrorCode::Invalid`], [`ErrorCode::TooLarge`], and those of storage.
    pub fn settle(&self, token: Token, how: &Settle<'_>) -> Result<Outcome> {
        self.run(|ctx| self.settle_call(token, how, ctx))
    }

    /// The same, without waiting for durability.
    pub fn settle_async(&self, token: Token, how: &Settle<'_>) -> Pending<Outcome> {
        self.begin(|ctx| self.settle_call(token, how, ctx))
    }

    fn settle_call(&self, token: Token, how: &Settle<'_>, ctx: &mut Ctx) -> Result<Outcome> {
        if !how.is_plain() {
            let items = self.settle_many_call(&[(token, how)], ctx)?;
            return items.first().or_else(|code| ctx.outcome(code.code()));
        }
        let queue = self.raw()?;
        let raw = how.lower(token);
        let (id, generation) = (token.id, token.generation);
        let (call, err): (*mut _, *mut _) = (&mut ctx.call, &mut ctx.err);
        // SAFETY: a queue of ours; the bytes are those of `how`, and both structs have their size.
        let code = unsafe {
            match how.kind {
                sys::WQ_SETTLE_ACK if how.result.is_some() => {
                    let result = raw.result;
                    sys::wq_ack_result(queue, id, generation, result.data, result.len, call, err)
                }
                sys::WQ_SETTLE_ACK => sys::wq_ack(queue, id, generation, call, err),
                sys::WQ_SETTLE_FAIL => {
                    let text = raw.error;
                    sys::wq_fail(queue, id, generation, text.data, text.len, call, err)
                }
                sys::WQ_SETTLE_RELEASE => {
                    sys::wq_release(queue, id, generation, raw.delay_ms, raw.flags, call, err)
                }
                _ => {
                    let mut options = sys::wq_nack_options::init();
                    options.flags = raw.flags;
                    options.delay_ms = raw.delay_ms;
                    options.priority = raw.priority;
                    options.error = raw.error;
                    options.reason = raw.reason;
                    sys::wq_nack(queue, id, generation, &options, call, err)
                }
            }
        };
        ctx.outcome(code)
    }

    /// Settle up to 10,000 jobs of this queue in one change.
    ///
    /// # Errors
    /// An invalid item refuses the whole call; also [`ErrorCode::Invalid`] for none at all,
    /// [`ErrorCode::TooLarge`] for too many, and those of storage.
    pub fn settle_many(&self, items: &[(Token, Settle<'_>)]) -> Result<Items> {
        let items: Vec<_> = items.iter().map(|(token, how)| (*token, how)).collect();
        self.run(|ctx| self.settle_many_call(&items, ctx))
    }

    /// The same, without waiting for durability.
    pub fn settle_many_async(&self, items: &[(Token, Settle<'_>)]) -> Pending<Items> {
        let items: Vec<_> = items.iter().map(|(token, how)| (*token, how)).collect();
        self.begin(|ctx| self.settle_many_call(&items, ctx))
    }

    /// Ack up to 10,000 jobs of this queue in one change.
    ///
    /// # Errors
    /// As [`settle_many`](Queue::settle_many).
    pub fn ack_many(&self, tokens: &[Token]) -> Result<Items> {
        self.run(|ctx| self.settle_raw(&acks_of(tokens), ctx))
    }

    /// The same, without waiting for durability.
    pub fn ack_many_async(&self, tokens: &[Token]) -> Pending<Items> {
        self.begin(|ctx| self.settle_raw(&acks_of(tokens), ctx))
    }

    fn settle_many_call(&self, items: &[(Token, &Settle<'_>)], ctx: &mut Ctx) -> Result<Items> {
        let raw: Vec<_> = items.iter().map(|(token, how)| how.lower(*token)).collect();
        self.settle_raw(&raw, ctx)
    }

    /// What these items point at lives until this returns.
    fn settle_raw(&self, raw: &[sys::wq_settle_item], ctx: &mut Ctx) -> Result<Items> {
        let queue = self.raw()?;
        let mut codes = vec![UNTOLD; raw.len()];
        // SAFETY: a queue of ours, arrays of the length that is told, bytes that live as long.
        let code = unsafe {
            let size = std::mem::size_of::<sys::wq_settle_item>();
            let codes = codes.as_mut_ptr();
            sys::wq_settle_many(
                queue,
                raw.as_ptr(),
                raw.len(),
                size,
                codes,
                &mut ctx.call,
                &mut ctx.err,
            )
        };
        items_of(ctx, code, &codes)
    }

    /// Set the deadline of one lease to this time from now; zero: the `lease` of the queue.
    /// [`Outcome::Cancelled`]: the flow of the job was cancelled, it should stop.
    ///
    /// # Errors
    /// As [`settle`](Queue::settle).
    pub fn extend(&self, token: Token, lease: Duration) -> Result<Outcome> {
        self.run(|ctx| {
            let (code, _) = self.extend_call(&[token], lease, ctx)?;
            ctx.outcome(code)
        })
    }

    /// The same for up to 10,000 jobs, in one change.
    ///
    /// # Errors
    /// [`ErrorCode::Invalid`] for none at all, [`ErrorCode::TooLarge`] for too many, and those of
    /// storage.
    pub fn extend_many(&self, tokens: &[Token], lease: Duration) -> Result<Items> {
        self.run(|ctx| {
            let (code, codes) = self.extend_call(tokens, lease, ctx)?;
            items_of(ctx, code, &codes)
        })
    }

    fn extend_call(
        &self,
        tokens: &[Token],
        lease: Duration,
        ctx: &mut Ctx,
    ) -> Result<(i32, Vec<i32>)> {
        let queue = self.raw()?;
        let raw: Vec<_> = tokens.iter().map(|token| raw_token(*token)).collect();
        let mut codes = vec![UNTOLD; raw.len()];
        // SAFETY: a queue of ours, and arrays of the length that is told.
        let code = unsafe {
            let codes = codes.as_mut_ptr();
            sys::wq_extend(
                queue,
                raw.as_ptr(),
                raw.len(),
                to_ms(lease),
                codes,
                &mut ctx.call,
                &mut ctx.err,
            )
        };
        Ok((code, codes))
    }

    /// Say that a leased job was delivered and is being worked on; see [`Job::confirm`](crate::Job::confirm).
    ///
    /// # Errors
    /// As [`settle`](Queue::settle).
    pub fn confirm(&self, token: Token, run: Duration) -> Result<Outcome> {
        self.run(|ctx| {
            let queue = self.raw()?;
            let (id, generation) = (token.id, token.generation);
            // SAFETY: a queue of ours, and structs with their size.
            let code = unsafe {
                sys::wq_confirm(queue, id, generation, to_ms(run), &mut ctx.call, &mut ctx.err)
            };
            ctx.outcome(code)
        })
    }

    /// Leave a note with a job that is held; see [`Job::progress`](crate::Job::progress).
    ///
    /// # Errors
    /// As [`settle`](Queue::settle).
    pub fn progress(&self, token: Token, note: impl AsRef<[u8]>) -> Result<Outcome> {
        let note = view(note.as_ref());
        self.run(|ctx| {
            let queue = self.raw()?;
            let (id, generation) = (token.id, token.generation);
            let (call, err) = (&mut ctx.call, &mut ctx.err);
            // SAFETY: a queue of ours, bytes that live until the end of this method.
            let code = unsafe {
                sys::wq_job_progress(queue, id, generation, note.data, note.len, call, err)
            };
            ctx.outcome(code)
        })
    }
}

fn acks_of(tokens: &[Token]) -> Vec<sys::wq_settle_item> {
    let ack = Settle::ack();
    tokens.iter().map(|token| ack.lower(*token)).collect()
}

pub(crate) fn raw_token(token: Token) -> sys::wq_token {
    sys::wq_token { id: token.id, generation: token.generation }
}
