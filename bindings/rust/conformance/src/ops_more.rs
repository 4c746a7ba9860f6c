//! Dead letters, history, rows, locks, transactions, flows and schedules.

use wq::{
    CronSpec, DeadFilter, DeadQuery, DeadReport, DoneJob, FlowOptions, KvOptions, Token,
    Transaction,
};

use crate::ops_job::settle_of;
use crate::ops_queue::{next_job, reason_of, spec_of};
use crate::runner::{error_word, flag_words, if_some, key_text, word, Done, Fail, Op, Runner};
use crate::script::{queue_word, quoted, Line};

pub fn find(op: &str) -> Option<Op> {
    Some(match op {
        "dead_list" => dead_list,
        "dead_get" => dead_get,
        "dead_replay" => dead_replay,
        "dead_remove" => dead_remove,
        "dead_replay_many" => dead_replay_many,
        "dead_remove_many" => dead_remove_many,
        "dead_purge" => dead_purge,
        "history_get" => history_get,
        "history_list" => history_list,
        "kv_get" => kv_get,
        "kv_put" => kv_put,
        "kv_add" => kv_add,
        "kv_erase" => kv_erase,
        "kv_list" => kv_list,
        "lock_take" | "lock_extend" | "lock_release" => lock,
        "transact" => transact,
        "flow_create" => flow_create,
        "flow_seal" => flow_seal,
        "flow_cancel" => flow_cancel,
        "flow_status" => flow_status,
        "flow_list" => flow_list,
        "cron_put" => cron_put,
        "cron_get" => cron_get,
        "cron_list" => cron_list,
        "cron_remove" | "cron_pause" | "cron_resume" => cron_change,
        "cron_next" => cron_next,
        _ => return None,
    })
}

// ---- dead letters and history

fn dead_list(r: &mut Runner, line: &Line) -> Done {
    let mut query = DeadQuery::new().error_part(line.bytes("error_part"));
    query = query.limit(line.narrow("limit")?.unwrap_or_default());
    if line.flag("oldest_first") {
        query = query.oldest_first();
    }
    if let Some(reason) = reason_of(line)? {
        query = query.reason(reason);
    }
    if let Some(time) = line.time("from_ms")? {
        query = query.from(time);
    }
    if let Some(time) = line.time("until_ms")? {
        query = query.until(time);
    }
    let queue = r.queue_of(line)?;
    let (mut letters, mut pages, mut cursor) = (Vec::new(), 0, 0);
    loop {
        let page = queue.dead().page(&query, cursor)?;
        pages += usize::from(!page.letters.is_empty());
        letters.extend(page.letters);
        cursor = page.next_cursor;
        if cursor == 0 {
            break;
        }
    }
    r.print(&if pages == 0 { "empty".to_string() } else { format!("ok pages={}", pages) });
    for letter in &letters {
        r.learn(letter, &mut Vec::new().into_iter());
        r.print_job(letter);
    }
    Ok(())
}

fn dead_get(r: &mut Runner, line: &Line) -> Done {
    let (queue, token) = r.target(line)?;
    match queue.dead().get(token)? {
        None => r.print("stale"),
        Some(job) => {
            r.learn(&job, &mut Vec::new().into_iter());
            r.print("ok");
            r.print_job(&job);
        }
    }
    Ok(())
}

fn dead_replay(r: &mut Runner, line: &Line) -> Done {
    let (queue, token) = r.target(line)?;
    let outcome = queue.dead().replay(token)?;
    r.print(&word(outcome));
    Ok(())
}

fn dead_remove(r: &mut Runner, line: &Line) -> Done {
    let (queue, token) = r.target(line)?;
    let outcome = queue.dead().remove(token)?;
    r.print(&word(outcome));
    Ok(())
}

fn filter_of<'a>(r: &Runner, line: &'a Line) -> Result<DeadFilter<'a>, Fail> {
    let mut entries: Vec<Token> = Vec::new();
    for name in line.list("jobs")? {
        entries.push(r.named(name)?.token);
    }
    let mut filter = match (line.flag("all"), entries.is_empty()) {
        (true, true) => DeadFilter::all(),
        // The type has no such filter; the library refuses it.
        (true, false) => return Err(Fail::Refused(wq::ErrorCode::Invalid)),
        (false, _) => DeadFilter::entries(&entries),
    };
    filter = filter.error_part(line.bytes("error_part"));
    filter = filter.limit(line.narrow("limit")?.unwrap_or_default());
    if let Some(reason) = reason_of(line)? {
        filter = filter.reason(reason);
    }
    if let Some(time) = line.time("from_ms")? {
        filter = filter.from(time);
    }
    if let Some(time) = line.time("until_ms")? {
        filter = filter.until(time);
    }
    Ok(if line.flag("dry_run") { filter.dry_run() } else { filter })
}

fn tell_report(r: &mut Runner, report: &DeadReport) {
    let changed = format!(" changed={}", report.changed);
    let changed = if report.outcome.is_ok() { changed } else { String::new() };
    r.print(&(word(report.outcome) + &changed));
}

fn dead_replay_many(r: &mut Runner, line: &Line) -> Done {
    let report = r.queue_of(line)?.dead().replay_many(filter_of(r, line)?)?;
    tell_report(r, &report);
    Ok(())
}

fn dead_remove_many(r: &mut Runner, line: &Line) -> Done {
    let report = r.queue_of(line)?.dead().remove_many(filter_of(r, line)?)?;
    tell_report(r, &report);
    Ok(())
}

fn dead_purge(r: &mut Runner, line: &Line) -> Done {
    let removed = r.queue_of(line)?.dead().purge()?;
    r.print(&format!("ok removed={}", removed));
    Ok(())
}

fn print_done(r: &mut Runner, job: &DoneJob) {
    let mut text =
        format!("{} attempts={} priority={}", r.name_of(job.id), job.attempts, job.priority);
    text += &if_some("exceptions", job.exceptions);
    text += &if_some("replays", job.replays);
    if let Some(flow) = job.flow {
        text += &format!(" flow={}", r.flow_name(flow));
    }
    if !job.result.is_empty() {
        text += &format!(" result={}", quoted(&job.result));
    }
    text += &key_text(job.key_id, "result_code", job.result_error);
    r.row(&text);
}

fn history_get(r: &mut Runner, line: &Line) -> Done {
    let (queue, token) = r.target(line)?;
    let job = queue.history().get(token.id)?;
    r.print("ok");
    print_done(r, &job);
    Ok(())
}

fn history_list(r: &mut Runner, line: &Line) -> Done {
    let queue = r.queue_of(line)?;
    let limit = line.narrow("limit")?.unwrap_or(100);
    let (mut jobs, mut cursor) = (Vec::new(), 0);
    loop {
        jobs.extend(queue.history().page(&mut cursor, limit)?);
        if cursor == 0 {
            break;
        }
    }
    r.print("ok");
    for job in &jobs {
        print_done(r, job);
    }
    Ok(())
}

// ---- rows, locks, transactions

fn kv_options(r: &Runner, line: &Line) -> Result<KvOptions<'static>, Fail> {
    let mut options = KvOptions::new();
    if let Some(ttl) = line.duration("ttl_ms")? {
        options = options.ttl(ttl);
    }
    if line.flag("if_absent") {
        options = options.if_absent();
    }
    if let Some(version) = r.version(line)? {
        options = options.if_version(version);
    }
    if line.has("if_value") {
        options = options.if_value(line.bytes("if_value").to_vec());
    }
    Ok(options)
}

fn kv_get(r: &mut Runner, line: &Line) -> Done {
    let row = match r.store(line)?.kv().get(line.must("key")?)? {
        None => {
            r.print("empty");
            return Ok(());
        }
        Some(row) => row,
    };
    if line.has("as") {
        r.versions.insert(line.text("as")?.to_string(), row.version);
    }
    let expires = if row.expires.is_some() { " expires_ms=set" } else { "" };
    r.print(&format!("ok value={}{}", quoted(&row.value), expires));
    Ok(())
}

fn kv_put(r: &mut Runner, line: &Line) -> Done {
    let options = kv_options(r, line)?;
    let change = r.store(line)?.kv().put(line.must("key")?, line.bytes("value"), &options)?;
    if let (Some(version), true) = (change.version(), line.has("as")) {
        r.versions.insert(line.text("as")?.to_string(), version);
    }
    r.print(&word(change.outcome()));
    Ok(())
}

fn kv_add(r: &mut Runner, line: &Line) -> Done {
    let options = kv_options(r, line)?;
    let delta = line.number("delta")?.unwrap_or_default();
    let change = r.store(line)?.kv().add(line.must("key")?, delta, &options)?;
    let sum = change.sum().map_or(String::new(), |sum| format!(" sum={}", sum));
    r.print(&(word(change.outcome()) + &sum));
    Ok(())
}

fn kv_erase(r: &mut Runner, line: &Line) -> Done {
    let options = kv_options(r, line)?;
    let outcome = r.store(line)?.kv().erase(line.must("key")?, &options)?;
    r.print(&word(outcome));
    Ok(())
}

fn kv_list(r: &mut Runner, line: &Line) -> Done {
    let store = r.store(line)?;
    let limit = line.narrow("limit")?.unwrap_or(100);
    let (mut rows, mut pages, mut after) = (Vec::new(), 0, line.bytes("after").to_vec());
    loop {
        let (page, more) = store.kv().page(line.bytes("prefix"), &after, limit)?;
        let last = page.last().map(|row| row.key.clone());
        pages += usize::from(last.is_some());
        rows.extend(page);
        match last {
            Some(last) if more => after = last,
            _ => break,
        }
    }
    r.print(&if pages == 0 { "empty".to_string() } else { format!("ok pages={}", pages) });
    for row in rows {
        r.row(&format!("{} value={}", quoted(row.key), quoted(row.value)));
    }
    Ok(())
}

fn lock(r: &mut Runner, line: &Line) -> Done {
    let store = r.store(line)?;
    let (key, owner) = (line.must("key")?, line.must("owner")?);
    let ttl = line.duration("ttl_ms")?.unwrap_or_default();
    let outcome = match &*line.op {
        "lock_take" => store.locks().take(key, owner, ttl)?,
        "lock_extend" => store.locks().extend(key, owner, ttl)?,
        _ => store.locks().release(key, owner)?,
    };
    r.print(&word(outcome));
    Ok(())
}

fn add_part(
    r: &Runner,
    all: Transaction<'static>,
    part: &Line,
) -> Result<Transaction<'static>, Fail> {
    let key = || part.must("key").map(<[u8]>::to_vec);
    Ok(match part.must_text("kind")? {
        "enqueue" => all.enqueue(&r.queue_of(part)?, spec_of(r, part)?),
        "settle" => {
            let (queue, token) = r.target(part)?;
            all.settle(&queue, token, settle_of(part, part.must_text("settle")?)?)
        }
        "kv_put" => all.kv_put(key()?, part.bytes("value").to_vec(), kv_options(r, part)?),
        "kv_add" => {
            all.kv_add(key()?, part.number("delta")?.unwrap_or_default(), kv_options(r, part)?)
        }
        "kv_erase" => all.kv_erase(key()?, kv_options(r, part)?),
        "kv_check" => all.kv_check(key()?, kv_options(r, part)?),
        kind => return Err(Fail::Script(format!("no operation is called {}", kind))),
    })
}

fn transact(r: &mut Runner, line: &Line) -> Done {
    let mut transaction = Transaction::new();
    for part in &line.parts {
        transaction = add_part(r, transaction, part)?;
    }
    let failed = |index: Option<usize>| index.map_or(String::new(), |i| format!(" failed={}", i));
    let committed = match transaction.commit(&r.store(line)?) {
        Ok(committed) => committed,
        Err(error) => {
            r.print(&(error_word(error.code()) + &failed(error.failed_index())));
            return Ok(());
        }
    };
    r.print(&(word(committed.outcome) + &failed(committed.failed)));
    if !committed.is_ok() {
        return Ok(());
    }
    for (i, part) in line.parts.iter().enumerate() {
        if let (Some(id), true) = (committed.job_id(i), part.has("as")) {
            r.bind(part.text("as")?, part.must_text("q")?, Token { id, generation: 0 });
        }
        if let ("kv_add", Some(sum)) = (part.must_text("kind")?, committed.sum(i)) {
            r.row(&format!("sum={}", sum));
        }
    }
    Ok(())
}

// ---- flows and schedules

fn flow_create(r: &mut Runner, line: &Line) -> Done {
    let mut options = FlowOptions::new();
    if line.flag("allow_failures") {
        options = options.allow_failures();
    }
    for part in &line.parts {
        let job = next_job(r, part)?;
        options = match part.must_text("when")? {
            "complete" => options.on_complete(job),
            _ => options.on_failure(job),
        };
    }
    let flow = r.store(line)?.flows().create(&options)?;
    if line.has("as") {
        r.bind_flow(line.text("as")?, flow);
    }
    r.print("ok");
    Ok(())
}

fn flow_seal(r: &mut Runner, line: &Line) -> Done {
    r.store(line)?.flows().seal(r.flow(line)?)?;
    r.print("ok");
    Ok(())
}

fn flow_cancel(r: &mut Runner, line: &Line) -> Done {
    let outcome = r.store(line)?.flows().cancel(r.flow(line)?)?;
    r.print(&word(outcome));
    Ok(())
}

fn flow_status(r: &mut Runner, line: &Line) -> Done {
    let s = r.store(line)?.flows().status(r.flow(line)?)?;
    let flags: Vec<&str> =
        [(s.is_sealed, "sealed"), (s.is_cancelled, "cancelled"), (s.is_finished, "finished")]
            .iter()
            .filter(|(set, _)| *set)
            .map(|(_, name)| *name)
            .collect();
    let mut text = format!(
        "ok total={} pending={} done={} failed={} cancelled={}",
        s.total, s.pending, s.done, s.failed, s.cancelled
    );
    if !flags.is_empty() {
        text += &format!(" flags={}", flags.join(","));
    }
    if s.follow_up.is_some() {
        text += " follow_up=yes";
    }
    r.print(&text);
    Ok(())
}

fn flow_list(r: &mut Runner, line: &Line) -> Done {
    let store = r.store(line)?;
    let limit = line.narrow("limit")?.unwrap_or(100);
    let (mut flows, mut cursor) = (Vec::new(), 0);
    loop {
        flows.extend(store.flows().page(&mut cursor, limit)?);
        if cursor == 0 {
            break;
        }
    }
    r.print("ok");
    for flow in flows {
        let name = r.flow_name(flow.flow);
        r.row(&format!("{} total={} pending={}", name, flow.total, flow.pending));
    }
    Ok(())
}

fn cron_put(r: &mut Runner, line: &Line) -> Done {
    let mut spec = CronSpec::new(line.text("expression")?).zone(line.text("zone")?);
    spec = spec.job(spec_of(r, line)?);
    if let Some(slots) = line.narrow("catch_up")? {
        spec = spec.catch_up(slots);
    }
    r.store(line)?.crons().put(&r.queue_of(line)?, line.must_text("name")?, &spec)?;
    r.print("ok");
    Ok(())
}

fn print_cron(r: &mut Runner, cron: &wq::Cron) {
    let mut text = format!(
        "{} queue={} expression={}",
        quoted(&cron.name),
        queue_word(&cron.queue_name),
        quoted(&cron.expression)
    );
    if !cron.zone.is_empty() {
        text += &format!(" zone={}", quoted(&cron.zone));
    }
    text += &flag_words(&[(cron.paused, "paused"), (cron.key_id.is_some(), "encrypt")]);
    text += &if_some("catch_up", cron.catch_up);
    if cron.priority != 100 {
        text += &format!(" priority={}", cron.priority);
    }
    text += &if_some("max_attempts", cron.max_attempts);
    if !cron.payload.is_empty() {
        text += &format!(" payload={}", quoted(&cron.payload));
    }
    for header in &cron.headers {
        text += &format!(" header={}", quoted([&header.name[..], b"=", &header.value].concat()));
    }
    text += &key_text(cron.key_id, "payload_code", cron.payload_error);
    r.row(&text);
}

fn cron_get(r: &mut Runner, line: &Line) -> Done {
    let cron = r.store(line)?.crons().get(line.must_text("name")?)?;
    r.print("ok");
    print_cron(r, &cron);
    Ok(())
}

fn cron_list(r: &mut Runner, line: &Line) -> Done {
    let store = r.store(line)?;
    let queue = if line.has("q") { Some(r.queue_of(line)?) } else { None };
    let limit = line.narrow("limit")?.unwrap_or(100);
    let (mut crons, mut after) = (Vec::new(), String::new());
    loop {
        let page = store.crons().page(queue.as_ref(), &after, limit)?;
        let full = page.len() == limit;
        if let Some(last) = page.last() {
            after = last.name.clone();
        }
        crons.extend(page);
        if !full {
            break;
        }
    }
    r.print("ok");
    for cron in &crons {
        print_cron(r, cron);
    }
    Ok(())
}

fn cron_change(r: &mut Runner, line: &Line) -> Done {
    let store = r.store(line)?;
    let name = line.must_text("name")?;
    match &*line.op {
        "cron_remove" => store.crons().remove(name)?,
        "cron_pause" => store.crons().pause(name)?,
        _ => store.crons().resume(name)?,
    }
    r.print("ok");
    Ok(())
}

fn cron_next(r: &mut Runner, line: &Line) -> Done {
    let from = line.time("from_ms")?.unwrap_or(std::time::UNIX_EPOCH);
    let count = line.narrow("count")?.unwrap_or_default();
    let times = wq::Crons::next(line.must_text("expression")?, line.text("zone")?, from, count)?;
    let ms = |time: &std::time::SystemTime| {
        time.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_millis()).to_string()
    };
    let times: Vec<String> = times.iter().map(ms).collect();
    r.print(&if times.is_empty() {
        "ok times=none".to_string()
    } else {
        format!("ok times={}", times.join(","))
    });
    Ok(())
}
