//! Leases, settles, single jobs and their keys.

use std::time::{Duration, Instant};

use wq::{Cancel, Items, KeyKind, LeaseOptions, Outcome, Settle, State, Token};

use crate::ops_queue::{begun, reason_of};
use crate::runner::{causes_word, result_word, word, Done, Fail, Op, Runner};
use crate::script::Line;

pub fn find(op: &str) -> Option<Op> {
    Some(match op {
        "get" => get,
        "until" => until,
        "cancel" => cancel,
        "reprioritise" => reprioritise,
        "progress" => progress,
        "explain" => explain,
        "lease" => lease,
        "confirm" => confirm,
        "extend" => extend,
        "ack" | "nack" | "release" | "fail" => settle,
        "settle_many" => settle_many,
        "keep" => keep,
        "forge" => forge,
        "await" => wait_for,
        "key_holder" => key_holder,
        "key_cancel" => key_cancel,
        "key_release" => key_release,
        _ => return None,
    })
}

fn tell(r: &mut Runner, outcome: wq::Result<Outcome>) -> Done {
    let outcome = outcome?;
    r.print(&word(outcome));
    Ok(())
}

fn get(r: &mut Runner, line: &Line) -> Done {
    let (queue, token) = r.target(line)?;
    let job = queue.get(token.id)?;
    r.learn(&job, &mut Vec::new().into_iter());
    r.print("ok");
    r.print_job(&job);
    Ok(())
}

fn until(r: &mut Runner, line: &Line) -> Done {
    let (queue, token) = r.target(line)?;
    let wanted = line.must_text("state")?;
    let state = State::ALL.iter().find(|state| state.name() == wanted).copied();
    let state = state.ok_or_else(|| Fail::Script(format!("no state {}", wanted)))?;
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        if queue.get(token.id).map_or(false, |job| job.state == state) {
            return get(r, line);
        }
        std::thread::yield_now();
    }
    Err(Fail::Script(format!("the job does not become {}", wanted)))
}

fn cancel(r: &mut Runner, line: &Line) -> Done {
    let (queue, token) = r.target(line)?;
    tell(r, queue.cancel(token.id))
}

fn reprioritise(r: &mut Runner, line: &Line) -> Done {
    let (queue, token) = r.target(line)?;
    let priority = line.narrow("priority")?.unwrap_or_default();
    tell(r, queue.reprioritise(token.id, priority))
}

fn progress(r: &mut Runner, line: &Line) -> Done {
    let (queue, token) = r.target(line)?;
    tell(r, queue.progress(token, line.bytes("note")))
}

fn explain(r: &mut Runner, line: &Line) -> Done {
    let (queue, token) = r.target(line)?;
    let (e, _) = queue.explain_job(token.id)?;
    r.print(&format!("ok state={} causes={} ahead={}", e.state, causes_word(e.causes), e.ahead));
    Ok(())
}

fn lease(r: &mut Runner, line: &Line) -> Done {
    let mut queues = Vec::new();
    for handle in line.list("q")? {
        queues.push(r.queue(handle)?);
    }
    let mut options = LeaseOptions::new();
    if let Some(count) = line.narrow("max_jobs")? {
        options = options.max_jobs(count);
    }
    options = match line.number("wait_ms")? {
        None => options,
        Some(-1) => options.wait_forever(),
        Some(_) => options.wait(line.duration("wait_ms")?.unwrap_or_default()),
    };
    if let Some(length) = line.duration("lease_ms")? {
        options = options.lease(length);
    }
    if line.has("cancelled") {
        let cancel = Cancel::new()?;
        cancel.fire();
        options = options.cancel(&cancel);
    }
    let handles: Vec<_> = queues.iter().collect();
    let lease = r.store(line)?.lease(&handles, &options)?;
    r.print(&word(lease.outcome()));
    let mut fresh = line.list("as")?.into_iter();
    for job in &lease {
        r.learn(job, &mut fresh);
        r.print_job(job);
    }
    Ok(())
}

fn confirm(r: &mut Runner, line: &Line) -> Done {
    let (queue, token) = r.target(line)?;
    let run = line.duration("run_ms")?.unwrap_or_default();
    tell(r, queue.confirm(token, run))
}

fn tell_items(r: &mut Runner, items: &Items, names: &[String]) -> Done {
    r.print(&result_word(items.first()));
    for (name, item) in names.iter().zip(items.as_slice()) {
        let name = r.name_of(r.named(name)?.token.id);
        r.row(&format!("{} {}", name, result_word(*item)));
    }
    Ok(())
}

fn extend(r: &mut Runner, line: &Line) -> Done {
    let names: Vec<String> = line.list("jobs")?.into_iter().map(String::from).collect();
    let jobs = names.iter().map(|name| r.named(name)).collect::<Result<Vec<_>, Fail>>()?;
    let first = jobs.first().ok_or_else(|| Fail::Script("no jobs".to_string()))?;
    let mut of_queue = line.clone();
    if !line.has("q") {
        of_queue.values.push(("q".to_string(), first.queue.clone().into_bytes()));
    }
    let queue = r.queue_of(&of_queue)?;
    let length = line.duration("lease_ms")?.unwrap_or_default();
    if jobs.len() == 1 {
        return tell(r, queue.extend(first.token, length));
    }
    let tokens: Vec<Token> = jobs.iter().map(|job| job.token).collect();
    let items = queue.extend_many(&tokens, length)?;
    tell_items(r, &items, &names)
}

/// How the line settles a job; it owns its bytes.
pub fn settle_of(line: &Line, kind: &str) -> Result<Settle<'static>, Fail> {
    let mut how = match kind {
        "ack" => Settle::ack(),
        "nack" => Settle::nack(),
        "release" => Settle::release(),
        "fail" => Settle::fail(),
        _ => return Err(Fail::Script(format!("no settle is called {}", kind))),
    };
    if line.has("result") {
        how = how.result(line.bytes("result").to_vec());
    }
    if let Some(delay) = line.duration("delay_ms")? {
        how = how.delay(delay);
    }
    if let Some(priority) = line.narrow("priority")? {
        how = how.priority(priority);
    }
    if line.flag("front") {
        how = how.front();
    }
    if line.flag("no_exception") {
        how = how.no_exception();
    }
    if let Some(reason) = reason_of(line)? {
        how = how.reason(reason);
    }
    Ok(how.error(line.bytes("error").to_vec()))
}

fn settle(r: &mut Runner, line: &Line) -> Done {
    let (queue, token) = r.target(line)?;
    let how = settle_of(line, &line.op);
    if !line.has("async") {
        return tell(r, queue.settle(token, &how?));
    }
    let pending = how.map(|how| queue.settle_async(token, &how));
    begun(r, line, move |r| {
        let outcome = pending?.wait();
        tell(r, outcome)
    })
}

fn settle_many(r: &mut Runner, line: &Line) -> Done {
    let queue = r.queue_of(line)?;
    let mut names = Vec::new();
    let mut items = Vec::new();
    for part in &line.parts {
        let name = part.must_text("job")?;
        items.push((r.named(name)?.token, settle_of(part, part.must_text("kind")?)?));
        names.push(name.to_string());
    }
    if !line.has("async") {
        let items = queue.settle_many(&items)?;
        return tell_items(r, &items, &names);
    }
    let pending = queue.settle_many_async(&items);
    begun(r, line, move |r| tell_items(r, &pending.wait()?, &names))
}

fn keep(r: &mut Runner, line: &Line) -> Done {
    let job = r.named(line.must_text("job")?)?;
    r.bind(line.must_text("as")?, &job.queue, job.token);
    r.print("ok");
    Ok(())
}

fn forge(r: &mut Runner, line: &Line) -> Done {
    let token = Token {
        id: line.narrow("id")?.unwrap_or_default(),
        generation: line.narrow("generation")?.unwrap_or_default(),
    };
    r.bind(line.must_text("as")?, line.must_text("q")?, token);
    r.print("ok");
    Ok(())
}

fn wait_for(r: &mut Runner, line: &Line) -> Done {
    let call = line.must_text("call")?;
    let rest = r.under_way.remove(call);
    rest.ok_or_else(|| Fail::Script(format!("no call {} is under way", call)))?(r)
}

fn key_kind(line: &Line) -> Result<KeyKind, Fail> {
    let word = line.must_text("kind")?;
    let kind = KeyKind::ALL.iter().find(|kind| kind.name() == word).copied();
    kind.ok_or_else(|| Fail::Script(format!("no kind {}", word)))
}

fn key_holder(r: &mut Runner, line: &Line) -> Done {
    let holder = r.queue_of(line)?.keys().holder(key_kind(line)?, line.must("key")?)?;
    let holder = holder.ok_or(Fail::Refused(wq::ErrorCode::NotFound))?;
    let name = r.name_of(holder);
    r.print(&format!("ok job={}", name));
    Ok(())
}

fn key_cancel(r: &mut Runner, line: &Line) -> Done {
    let (outcome, id) = r.queue_of(line)?.keys().cancel(key_kind(line)?, line.must("key")?)?;
    let name = if outcome.is_ok() { format!(" job={}", r.name_of(id)) } else { String::new() };
    r.print(&(word(outcome) + &name));
    Ok(())
}

fn key_release(r: &mut Runner, line: &Line) -> Done {
    let (queue, token) = r.target(line)?;
    tell(r, queue.keys().release(token))
}
