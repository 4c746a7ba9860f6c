//! Operations on queues, and enqueues.

use wq::{
    Backoff, DeadReason, Enqueued, EnqueuedMany, ErrorCode, FullPolicy, JobSpec, KeepDone, NextJob,
    Outcome, Overlap, QueueConfig, QueueStatus, Rate, State, Throttle, Token, UniqueUntil,
};

use crate::runner::{causes_word, durability, error_word, if_some, word, Done, Fail, Op, Runner};
use crate::script::{quoted, Line};

pub fn find(op: &str) -> Option<Op> {
    Some(match op {
        "queue" => open_queue,
        "configure" => configure,
        "config" => config,
        "pause" => |r, line| status(r, r.queue_of(line)?.pause()),
        "resume" => |r, line| status(r, r.queue_of(line)?.resume()),
        "disable" => |r, line| status(r, r.queue_of(line)?.disable()),
        "enable" => |r, line| status(r, r.queue_of(line)?.enable()),
        "delete" => |r, line| status(r, r.queue_of(line)?.delete()),
        "queue_close" => close_queue,
        "clear" => clear,
        "stats" => stats,
        "queue_explain" => explain,
        "errors" => errors,
        "enqueue" => enqueue,
        "enqueue_many" => enqueue_many,
        _ => return None,
    })
}

fn status(r: &mut Runner, result: wq::Result<()>) -> Done {
    result?;
    r.print("ok");
    Ok(())
}

fn has_any(line: &Line, keys: &[&str]) -> bool {
    keys.iter().any(|key| line.has(key))
}

/// The policy, which says its delays by its kind. What belongs to another kind is refused, as the
/// library does.
fn backoff_of(line: &Line) -> Result<Backoff, Fail> {
    let base = line.duration("backoff_base_ms")?.unwrap_or_default();
    let max = line.duration("backoff_max_ms")?.unwrap_or_default();
    let mut list = Vec::new();
    for delay in line.list("backoff_list_ms")? {
        let ms = delay.parse::<u64>().map_err(|_| Fail::Refused(ErrorCode::Invalid))?;
        list.push(std::time::Duration::from_millis(ms));
    }
    let (has_base, has_max) = (line.has("backoff_base_ms"), line.has("backoff_max_ms"));
    let kind = line.text("backoff_kind")?;
    let fits = match kind {
        "fixed" => !has_max && list.is_empty(),
        "exponential" => list.is_empty(),
        "list" => !has_base && !has_max,
        _ => !has_base && !has_max && list.is_empty(),
    };
    if !fits {
        return Err(Fail::Refused(ErrorCode::Invalid));
    }
    let backoff = match kind {
        "fixed" => Backoff::fixed(base),
        "exponential" => Backoff::exponential(base, max),
        "list" => Backoff::list(list),
        _ => Backoff::none(),
    };
    Ok(backoff.jitter(line.narrow("backoff_jitter_permille")?.unwrap_or_default()))
}

const BACKOFF_KEYS: [&str; 5] = [
    "backoff_kind",
    "backoff_base_ms",
    "backoff_max_ms",
    "backoff_list_ms",
    "backoff_jitter_permille",
];

fn config_of(r: &Runner, line: &Line) -> Result<QueueConfig, Fail> {
    let mut config = QueueConfig::new();
    config.max_running = line.narrow("max_running")?;
    config.max_retries = line.narrow("max_retries")?;
    config.lease = line.duration("lease_ms")?;
    config.durability = durability(line)?;
    if has_any(line, &BACKOFF_KEYS) {
        config.backoff = Some(backoff_of(line)?);
    }
    config.job_ttl = line.duration("job_ttl_ms")?;
    config.max_depth = line.narrow("max_depth")?;
    config.max_bytes = line.narrow("max_bytes")?;
    if line.has("full_policy") {
        let policy = line.text("full_policy")?;
        config.full_policy = FullPolicy::ALL.iter().find(|p| p.name() == policy).copied();
    }
    config.dead_max_count = line.narrow("dead_max_count")?;
    config.dead_max_age = line.duration("dead_max_age_ms")?;
    if has_any(line, &["keep_done_count", "keep_done_age_ms"]) {
        config.keep_done = Some(KeepDone {
            count: line.narrow("keep_done_count")?.unwrap_or_default(),
            age: line.duration("keep_done_age_ms")?.unwrap_or_default(),
        });
    }
    if has_any(line, &["rate_count", "rate_burst", "rate_window_ms"]) {
        config.rate = Some(Rate {
            count: line.narrow("rate_count")?.unwrap_or_default(),
            burst: line.narrow("rate_burst")?.unwrap_or_default(),
            window: line.duration("rate_window_ms")?.unwrap_or_default(),
        });
    }
    if has_any(line, &["key_rate_count", "key_rate_burst", "key_rate_window_ms"]) {
        config.key_rate = Some(Rate {
            count: line.narrow("key_rate_count")?.unwrap_or_default(),
            burst: line.narrow("key_rate_burst")?.unwrap_or_default(),
            window: line.duration("key_rate_window_ms")?.unwrap_or_default(),
        });
    }
    if has_any(line, &["throttle_count", "throttle_window_ms", "throttle_cool_ms"]) {
        config.throttle = Some(Throttle {
            count: line.narrow("throttle_count")?.unwrap_or_default(),
            window: line.duration("throttle_window_ms")?.unwrap_or_default(),
            cool: line.duration("throttle_cool_ms")?.unwrap_or_default(),
        });
    }
    if line.has("encrypt") {
        config.encrypt = Some(line.text("encrypt")? == "1");
    }
    config.compress_min_bytes = line.narrow("compress_min_bytes")?;
    config.group_limit = line.narrow("group_limit")?;
    config.version = r.version(line)?;
    Ok(config)
}

fn open_queue(r: &mut Runner, line: &Line) -> Done {
    let mut plain = line.clone();
    plain.values.retain(|(key, _)| key != "durability");
    let store = r.store(&plain)?;
    let name = line.must_text("q")?;
    let queue = if line.flag("no_create") {
        store.existing_queue(name)?
    } else {
        store.queue_with(name, &config_of(r, line)?)?
    };
    let handle = line.get("as").map_or(Ok(name), |_| line.text("as"))?;
    r.bind_queue(handle, queue);
    r.print("ok");
    Ok(())
}

fn configure(r: &mut Runner, line: &Line) -> Done {
    let queue = r.queue(line.must_text("q")?)?;
    let outcome = queue.configure(&config_of(r, line)?)?;
    r.print(&word(outcome));
    Ok(())
}

fn ms(duration: Option<std::time::Duration>) -> u64 {
    duration.map_or(0, |duration| duration.as_millis() as u64)
}

fn backoff_text(backoff: &Backoff) -> String {
    let mut text = String::new();
    if backoff.kind() != "none" {
        text += &format!(" backoff_kind={}", backoff.kind());
        text += &if_some("backoff_base_ms", ms(Some(backoff.base())));
        text += &if_some("backoff_max_ms", ms(Some(backoff.max())));
        let list: Vec<_> = backoff.delays().iter().map(|d| d.as_millis().to_string()).collect();
        if !list.is_empty() {
            text += &format!(" backoff_list_ms={}", list.join(","));
        }
    }
    text + &if_some("backoff_jitter_permille", backoff.jitter_permille())
}

fn config(r: &mut Runner, line: &Line) -> Done {
    let c = r.queue_of(line)?.config()?;
    if line.has("as") {
        r.versions.insert(line.text("as")?.to_string(), c.version.unwrap_or_default());
    }
    let status = c.status.unwrap_or(QueueStatus::Active);
    let mut text = format!(
        "ok status={} max_running={} max_retries={} lease_ms={} durability={}",
        status,
        c.max_running.unwrap_or_default(),
        c.max_retries.unwrap_or_default(),
        ms(c.lease),
        c.durability.map_or("none", wq::Durability::name)
    );
    text += &c.backoff.as_ref().map(backoff_text).unwrap_or_default();
    text += &if_some("job_ttl_ms", ms(c.job_ttl));
    text += &if_some("max_depth", c.max_depth.unwrap_or_default());
    text += &if_some("max_bytes", c.max_bytes.unwrap_or_default());
    if c.full_policy == Some(FullPolicy::DropOldest) {
        text += " full_policy=drop_oldest";
    }
    text += &if_some("dead_max_count", c.dead_max_count.unwrap_or_default());
    text += &if_some("dead_max_age_ms", ms(c.dead_max_age));
    let keep = c.keep_done.unwrap_or_default();
    text += &if_some("keep_done_age_ms", ms(Some(keep.age)));
    text += &if_some("keep_done_count", keep.count);
    text += &if_some("group_limit", c.group_limit.unwrap_or_default());
    let rate = c.rate.unwrap_or_default();
    text += &if_some("rate_count", rate.count);
    text += &if_some("rate_burst", rate.burst);
    text += &if_some("rate_window_ms", ms(Some(rate.window)));
    text += &keys_text(&c);
    text += &if_some("consumers_paused", c.consumers_paused.unwrap_or_default());
    r.print(&text);
    Ok(())
}

/// What the configuration says of payloads and rate keys.
fn keys_text(c: &QueueConfig) -> String {
    let rate = c.key_rate.unwrap_or_default();
    let throttle = c.throttle.unwrap_or_default();
    if_some("encrypt", c.encrypt.unwrap_or_default())
        + &if_some("compress_min_bytes", c.compress_min_bytes.unwrap_or_default())
        + &if_some("key_rate_count", rate.count)
        + &if_some("key_rate_burst", rate.burst)
        + &if_some("key_rate_window_ms", ms(Some(rate.window)))
        + &if_some("throttle_count", throttle.count)
        + &if_some("throttle_window_ms", ms(Some(throttle.window)))
        + &if_some("throttle_cool_ms", ms(Some(throttle.cool)))
}

fn close_queue(r: &mut Runner, line: &Line) -> Done {
    r.queue_of(line)?.close();
    r.print("ok");
    Ok(())
}

fn clear(r: &mut Runner, line: &Line) -> Done {
    let mut states = Vec::new();
    for name in line.list("states")? {
        let state = State::ALL.iter().find(|state| state.name() == name).copied();
        states.push(state.ok_or_else(|| Fail::Script(format!("no state {}", name)))?);
    }
    let removed = r.queue_of(line)?.clear(&states)?;
    r.print(&format!("ok removed={}", removed));
    Ok(())
}

fn stats(r: &mut Runner, line: &Line) -> Done {
    let s = r.queue_of(line)?.stats()?;
    let mut text = format!(
        "ok status={} ready={} delayed={} leased={} running={} dead={}",
        s.status, s.ready, s.delayed, s.leased, s.running, s.dead
    );
    for (key, value) in [
        ("enqueued_total", s.enqueued_total),
        ("leased_total", s.leased_total),
        ("acked_total", s.acked_total),
        ("nacked_total", s.nacked_total),
        ("failed_total", s.failed_total),
        ("released_total", s.released_total),
        ("expired_total", s.expired_total),
        ("dead_total", s.dead_total),
        ("replayed_total", s.replayed_total),
        ("cancelled_total", s.cancelled_total),
        ("cleared_total", s.cleared_total),
        ("jobs_expired_total", s.jobs_expired_total),
        ("dropped_total", s.dropped_total),
        ("dead_dropped_total", s.dead_dropped_total),
        ("chain_cut_total", s.chain_cut_total),
        ("parked", s.parked),
        ("skipped_total", s.skipped_total),
    ] {
        text += &if_some(key, value);
    }
    r.print(&text);
    Ok(())
}

fn explain(r: &mut Runner, line: &Line) -> Done {
    let (e, _) = r.queue_of(line)?.explain()?;
    r.print(&format!(
        "ok status={} causes={} leasable={} slots_taken={} slots_max={} parked={}",
        e.status,
        causes_word(e.causes),
        e.leasable,
        e.slots_taken,
        e.slots_max,
        e.parked
    ));
    Ok(())
}

fn errors(r: &mut Runner, line: &Line) -> Done {
    let errors = r.queue_of(line)?.errors()?;
    r.print(if errors.is_empty() { "empty" } else { "ok" });
    for error in errors {
        let name = r.name_of(error.job_id);
        let text = quoted(&error.text);
        r.row(&format!("{} kind={} attempt={} text={}", name, error.kind, error.attempt, text));
    }
    Ok(())
}

// ---- enqueue

pub fn reason_of(line: &Line) -> Result<Option<DeadReason>, Fail> {
    if !line.has("reason") {
        return Ok(None);
    }
    let word = line.text("reason")?;
    let reason = DeadReason::ALL.iter().find(|reason| reason.name() == word).copied();
    reason.map(Some).ok_or_else(|| Fail::Script(format!("no reason {}", word)))
}

/// The spec of a line. It owns its bytes, as it may outlive the line.
pub fn spec_of(r: &Runner, line: &Line) -> Result<JobSpec<'static>, Fail> {
    let owned = |key: &str| line.bytes(key).to_vec();
    let mut spec = JobSpec::new(owned("payload"));
    for (_, value) in line.values.iter().filter(|(key, _)| key == "header") {
        let cut = value.iter().position(|byte| *byte == b'=').unwrap_or(value.len());
        let behind = value.get(cut + 1..).unwrap_or_default();
        spec = spec.header(value[..cut].to_vec(), behind.to_vec());
    }
    if let Some(delay) = line.duration("delay_ms")? {
        spec = spec.delay(delay);
    }
    if let Some(time) = line.time("run_at_ms")? {
        spec = spec.run_at(time);
    }
    if let Some(priority) = line.narrow("priority")? {
        spec = spec.priority(priority);
    }
    spec = spec.max_attempts(line.narrow("max_attempts")?.unwrap_or_default());
    if has_any(line, &BACKOFF_KEYS) {
        spec = spec.backoff(backoff_of(line)?);
    }
    if let Some(time) = line.time("expires_at_ms")? {
        spec = spec.expires_at(time);
    }
    if let Some(time) = line.time("retry_until_ms")? {
        spec = spec.retry_until(time);
    }
    if let Some(timeout) = line.duration("timeout_ms")? {
        spec = spec.timeout(timeout);
    }
    spec = spec.max_exceptions(line.narrow("max_exceptions")?.unwrap_or_default());
    if line.flag("fail_on_timeout") {
        spec = spec.fail_on_timeout();
    }
    if line.flag("dry_run") {
        spec = spec.dry_run();
    }
    keys_of(r, line, spec)
}

fn keys_of(r: &Runner, line: &Line, spec: JobSpec<'static>) -> Result<JobSpec<'static>, Fail> {
    let owned = |key: &str| line.bytes(key).to_vec();
    let mut spec = spec;
    if has_any(line, &["unique_key", "unique_ttl_ms"]) {
        spec = spec.unique(owned("unique_key"), line.duration("unique_ttl_ms")?);
    }
    if line.has("unique_until") {
        let word = line.text("unique_until")?;
        let until = UniqueUntil::ALL.iter().find(|until| until.name() == word).copied();
        spec = spec.unique_until(until.ok_or_else(|| Fail::Script("unique_until".to_string()))?);
    }
    if has_any(line, &["debounce_key", "debounce_ms", "debounce_max_ms"]) {
        let wait = line.duration("debounce_ms")?.unwrap_or_default();
        spec = spec.debounce(owned("debounce_key"), wait, line.duration("debounce_max_ms")?);
    }
    if has_any(line, &["idempotency_key", "idempotency_ms"]) {
        let window = line.duration("idempotency_ms")?.unwrap_or_default();
        spec = spec.idempotency(owned("idempotency_key"), window);
    }
    if line.has("flow") {
        spec = spec.flow(r.flow(line)?);
    }
    spec = spec.tenant(owned("tenant")).rate_key(owned("rate_key"));
    spec = spec.rate_cost(line.narrow("rate_cost")?.unwrap_or_default());
    if line.flag("encrypt") || line.flag("plain") {
        spec = spec.encrypt(line.flag("encrypt"));
    }
    spec = spec.overlap(overlap_of(line)?).group(owned("group"));
    Ok(spec.group_limit(line.narrow("group_limit")?.unwrap_or_default()))
}

/// What becomes of it when its group is full. A time without a release can not be said here.
fn overlap_of(line: &Line) -> Result<Overlap, Fail> {
    let delay = line.duration("overlap_ms")?;
    match (line.text("overlap")?, delay) {
        ("release", delay) => Ok(Overlap::Release(delay.unwrap_or_default())),
        (_, Some(_)) => Err(Fail::Refused(ErrorCode::Invalid)),
        ("skip", None) => Ok(Overlap::Skip),
        ("" | "park", None) => Ok(Overlap::Park),
        (word, None) => Err(Fail::Script(format!("no overlap {}", word))),
    }
}

pub fn next_job(r: &Runner, part: &Line) -> Result<NextJob<'static>, Fail> {
    Ok(NextJob::in_queue(part.bytes("q").to_vec(), spec_of(r, part)?))
}

fn tell_enqueued(r: &mut Runner, enqueued: &Enqueued, as_name: &str, queue: &str) -> String {
    if enqueued.outcome == Outcome::Duplicate {
        return format!("duplicate job={}", r.name_of(enqueued.id));
    }
    if enqueued.is_new() && !as_name.is_empty() {
        r.bind(as_name, queue, Token { id: enqueued.id, generation: 0 });
    }
    word(enqueued.outcome)
}

fn enqueue(r: &mut Runner, line: &Line) -> Done {
    let queue = r.queue_of(line)?;
    let spec: Result<JobSpec<'static>, Fail> = (|| {
        let mut spec = spec_of(r, line)?;
        for part in &line.parts {
            spec = spec.then(next_job(r, part)?);
        }
        Ok(spec)
    })();
    let (name, handle) = (line.text("as")?.to_string(), line.text("q")?.to_string());
    let tell = move |r: &mut Runner, enqueued: wq::Result<Enqueued>| {
        let text = tell_enqueued(r, &enqueued?, &name, &handle);
        r.print(&text);
        Ok(())
    };
    if !line.has("async") {
        let enqueued = queue.enqueue(spec?);
        return tell(r, enqueued);
    }
    let pending = spec.map(|spec| queue.enqueue_async(spec));
    begun(r, line, move |r| {
        let enqueued = pending?.wait();
        tell(r, enqueued)
    })
}

/// Prints that it was begun; the rest is told by the await.
pub fn begun(
    r: &mut Runner,
    line: &Line,
    rest: impl FnOnce(&mut Runner) -> Done + 'static,
) -> Done {
    r.under_way.insert(line.text("async")?.to_string(), Box::new(rest));
    r.print("begun");
    Ok(())
}

fn tell_many(r: &mut Runner, line: &Line, many: Result<EnqueuedMany, Fail>) -> Done {
    let many = match many {
        Ok(many) => many,
        Err(Fail::Refused(code)) => {
            r.print(&format!("{} accepted=0", error_word(code)));
            for _ in &line.parts {
                r.row(&error_word(code));
            }
            return Ok(());
        }
        Err(fail) => return Err(fail),
    };
    let told = many.refusal.as_ref().map_or(word(many.outcome), |error| error_word(error.code()));
    let mut rows = Vec::new();
    for (part, item) in line.parts.iter().zip(&many.items) {
        rows.push(match item {
            Ok(enqueued) => tell_enqueued(r, enqueued, part.text("as")?, line.text("q")?),
            Err(error) => error_word(error.code()),
        });
    }
    r.print(&format!("{} accepted={}", told, many.accepted));
    for row in rows {
        r.row(&row);
    }
    Ok(())
}

/// A spec among others. One that the types can not hold (a delay below zero) is made one that the
/// library refuses with the same code, so that it says what becomes of the others.
fn part_of(r: &Runner, part: &Line) -> Result<JobSpec<'static>, Fail> {
    match spec_of(r, part) {
        Err(Fail::Refused(ErrorCode::Invalid)) => {
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1);
            Ok(JobSpec::new("").delay(std::time::Duration::from_secs(1)).run_at(time))
        }
        told => told,
    }
}

fn enqueue_many(r: &mut Runner, line: &Line) -> Done {
    let queue = r.queue_of(line)?;
    let specs = (|| match line.narrow::<usize>("count")? {
        Some(count) => Ok(vec![spec_of(r, line)?; count]),
        None => line.parts.iter().map(|part| part_of(r, part)).collect::<Result<Vec<_>, Fail>>(),
    })();
    let partial = line.flag("partial");
    if !line.has("async") {
        let many = specs.and_then(|specs| {
            let many =
                if partial { queue.enqueue_partial(&specs) } else { queue.enqueue_many(&specs) };
            Ok(many?)
        });
        return tell_many(r, line, many);
    }
    let pending = specs.map(|specs| {
        if partial {
            queue.enqueue_partial_async(&specs)
        } else {
            queue.enqueue_many_async(&specs)
        }
    });
    let of_line = line.clone();
    begun(r, line, move |r| {
        let many = pending.and_then(|pending| Ok(pending.wait()?));
        tell_many(r, &of_line, many)
    })
}
