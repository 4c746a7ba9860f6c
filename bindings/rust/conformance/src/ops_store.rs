//! Operations on the store and its backups.

use wq::{BackupOptions, BackupResult, OpenOptions, Store, Wait};

use crate::runner::{if_some, word, Done, Fail, Op, Runner};
use crate::script::{queue_word, Line};

pub fn find(op: &str) -> Option<Op> {
    Some(match op {
        "open" => open,
        "open_again" => open_again,
        "close" => close,
        "shutdown" => shutdown,
        "sync" => sync,
        "checkpoint" => checkpoint,
        "tick" => tick,
        "recovery" => recovery,
        "queues" => queues,
        "store_stats" => store_stats,
        "store_keys" => store_keys,
        "metrics" => metrics,
        "verify" => verify,
        "backup" => backup,
        "backup_verify" => backup_verify,
        "restore" => restore,
        "events" => events,
        _ => return None,
    })
}

fn try_open(r: &Runner, line: &Line) -> Result<Store, Fail> {
    let mut options = OpenOptions::new();
    if line.flag("no_create") {
        options = options.no_create();
    }
    if line.flag("expire_leases") {
        options = options.expire_leases();
    }
    if let Some(max) = line.narrow("events_max")? {
        options = options.events(max);
    }
    if let Some(bytes) = line.narrow("payload_bytes_max")? {
        options = options.payload_max(bytes);
    }
    if let Some(bytes) = line.narrow("quota_bytes")? {
        options = options.quota(bytes);
    }
    if let Some(bytes) = line.narrow("memory_budget_bytes")? {
        options = options.memory_budget(bytes);
    }
    if let Some(bytes) = line.narrow("segment_bytes")? {
        options = options.segment_bytes(bytes);
    }
    for key in line.list("keys")? {
        let (id, byte) = key.split_once(':').unwrap_or((key, key));
        let number = |word: &str| word.parse::<u8>().map_err(|_| Fail::Script(key.to_string()));
        options = options.key(number(id)?.into(), [number(byte)?; 32]);
    }
    if let Some(id) = line.narrow("current_key")? {
        options = options.current_key(id);
    }
    let name = line.get("store").map_or(Ok("store"), |_| line.text("store"))?;
    Ok(options.open(r.path(name))?)
}

fn open(r: &mut Runner, line: &Line) -> Done {
    let store = try_open(r, line)?;
    r.opened(store);
    r.print("ok");
    Ok(())
}

fn open_again(r: &mut Runner, line: &Line) -> Done {
    try_open(r, line)?;
    r.print("ok");
    Ok(())
}

fn close(r: &mut Runner, line: &Line) -> Done {
    r.store(line)?.close();
    r.print("ok");
    Ok(())
}

fn shutdown(r: &mut Runner, line: &Line) -> Done {
    let wait = match line.number("timeout_ms")? {
        Some(-1) => Wait::Forever,
        _ => Wait::For(line.duration("timeout_ms")?.unwrap_or_default()),
    };
    let outcome = r.store(line)?.shutdown(wait)?;
    r.print(&word(outcome));
    Ok(())
}

fn sync(r: &mut Runner, line: &Line) -> Done {
    r.store(line)?.sync()?;
    r.print("ok");
    Ok(())
}

fn checkpoint(r: &mut Runner, line: &Line) -> Done {
    r.store(line)?.checkpoint()?;
    r.print("ok");
    Ok(())
}

fn tick(r: &mut Runner, line: &Line) -> Done {
    r.store(line)?.tick()?;
    r.print("ok");
    Ok(())
}

fn recovery(r: &mut Runner, line: &Line) -> Done {
    let told = r.store(line)?.recovery()?;
    r.print(&format!("ok leases_kept={} leases_expired={}", told.leases_kept, told.leases_expired));
    Ok(())
}

fn queues(r: &mut Runner, line: &Line) -> Done {
    let names = r.store(line)?.queues()?;
    r.print("ok");
    for name in names {
        r.row(&queue_word(&name));
    }
    Ok(())
}

fn store_stats(r: &mut Runner, line: &Line) -> Done {
    let s = r.store(line)?.stats()?;
    r.print(&format!(
        "ok status={} queues={} ready={} delayed={} leased={} running={} dead={}",
        s.status, s.queues, s.ready, s.delayed, s.leased, s.running, s.dead
    ));
    Ok(())
}

fn store_keys(r: &mut Runner, line: &Line) -> Done {
    let keys = r.store(line)?.keys()?;
    r.print("ok");
    for key in keys {
        let mut text = key.id.to_string();
        text += if key.payloads == 0 { "" } else { " payloads=set" };
        text += &if_some("known", key.known);
        text += &if_some("current", key.current);
        r.row(&text);
    }
    Ok(())
}

fn metrics(r: &mut Runner, line: &Line) -> Done {
    let text = r.store(line)?.metrics()?;
    r.print(if text.is_empty() { "empty" } else { "ok" });
    Ok(())
}

fn verify(r: &mut Runner, line: &Line) -> Done {
    let report = r.store(line)?.verify()?;
    r.print(&format!("ok jobs={} problems={}", report.jobs, report.problems));
    Ok(())
}

fn print_backup(r: &mut Runner, result: BackupResult) -> Done {
    let (outcome, _) = result?;
    r.print(&word(outcome));
    Ok(())
}

fn backup(r: &mut Runner, line: &Line) -> Done {
    let directory = r.path(line.must_text("dir")?);
    let result = r.store(line)?.backup(directory, BackupOptions::new());
    print_backup(r, result)
}

fn backup_verify(r: &mut Runner, line: &Line) -> Done {
    let result = wq::verify_backup(r.path(line.must_text("dir")?), BackupOptions::new());
    print_backup(r, result)
}

fn restore(r: &mut Runner, line: &Line) -> Done {
    let (from, to) = (r.path(line.must_text("dir")?), r.path(line.must_text("store")?));
    print_backup(r, wq::restore_backup(from, to, BackupOptions::new()))
}

fn events(r: &mut Runner, _: &Line) -> Done {
    let mut reader = r.events.take().ok_or_else(|| Fail::Script("no store".to_string()))?;
    let result = tell_events(r, &mut reader);
    r.events = Some(reader);
    result
}

fn tell_events(r: &mut Runner, reader: &mut wq::EventReader) -> Done {
    let mut first = true;
    loop {
        let page = reader.poll(100, std::time::Duration::ZERO)?;
        if !page.outcome.is_ok() {
            if first {
                r.print(&word(page.outcome));
            }
            return Ok(());
        }
        for event in page.events {
            if event.kind == wq::EventKind::Checkpoint {
                continue;
            }
            if std::mem::take(&mut first) {
                r.print("ok");
            }
            let mut text = event.kind.to_string();
            if !event.queue_name.is_empty() {
                text += &format!(" queue={}", queue_word(&event.queue_name));
            }
            if event.kind == wq::EventKind::FlowFinished {
                text += &format!(" flow={}", r.flow_name(event.job_id));
            } else if event.job_id != 0 {
                text += &format!(" job={}", r.name_of(event.job_id));
            }
            text += &if_some("count", event.count);
            if let Some(reason) = event.dead_reason {
                text += &format!(" dead_reason={}", reason);
            }
            r.row(&text);
        }
    }
}
