package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"wq.internal/wq"
)

var storeOps = map[string]func(*runner, *line){
	"open": func(r *runner, l *line) {
		if r.store != nil {
			_ = r.store.Close()
		}
		r.queues = map[string]*wq.Queue{}
		store, err := wq.Open(r.storePath(l), openOptions(l))
		r.print(answer(wq.OK, err))
		if err == nil {
			r.store, r.events = store, store.Events(false)
		}
	},
	"open_again": func(r *runner, l *line) {
		store, err := wq.Open(r.storePath(l), openOptions(l))
		r.print(answer(wq.OK, err))
		if err == nil {
			_ = store.Close()
		}
	},
	"close": func(r *runner, _ *line) {
		if r.store != nil {
			_ = r.store.Close()
		}
		r.print("ok")
	},
	"shutdown": func(r *runner, l *line) {
		c, cancel := ctx, context.CancelFunc(func() {})
		switch ms := l.int("timeout_ms"); {
		case ms < -1:
			r.print("error WQ_E_INVALID")
			return
		case ms >= 0:
			c, cancel = context.WithTimeout(ctx, l.ms("timeout_ms"))
		}
		defer cancel()
		r.print(answer(r.store.Shutdown(c)))
	},
	"sync":       func(r *runner, _ *line) { r.print(answer(wq.OK, r.store.Sync(ctx))) },
	"checkpoint": func(r *runner, _ *line) { r.print(answer(wq.OK, r.store.Checkpoint(ctx))) },
	"tick": func(r *runner, _ *line) {
		_, err := r.store.Tick(ctx)
		r.print(answer(wq.OK, err))
	},
	"recovery": func(r *runner, _ *line) {
		rec, err := r.store.Recovery(ctx)
		r.result(err, fmt.Sprintf("leases_kept=%d leases_expired=%d", rec.LeasesKept, rec.LeasesExpired))
	},
	"queues": func(r *runner, _ *line) {
		names, err := r.store.Queues(ctx)
		r.result(err, "")
		for _, name := range names {
			r.row(queueName(name))
		}
	},
	"store_stats": func(r *runner, _ *line) {
		s, err := r.store.Stats(ctx)
		r.result(err, fmt.Sprintf("status=%v queues=%d ready=%d delayed=%d leased=%d running=%d dead=%d",
			s.Status, s.Queues, s.Ready, s.Delayed, s.Leased, s.Running, s.Dead))
	},
	"store_keys": func(r *runner, _ *line) {
		keys, err := r.store.Keys(ctx)
		r.result(err, "")
		for _, key := range keys {
			var f fields
			if key.Payloads != 0 {
				f.add("payloads", "set")
			}
			f.flag("known", key.Known)
			f.flag("current", key.Current)
			r.row(fmt.Sprint(key.ID), f.String())
		}
	},
	"metrics": func(r *runner, _ *line) {
		text, err := r.store.Metrics(ctx)
		if err == nil && text == "" {
			stop("the metrics are empty")
		}
		r.result(err, "")
	},
	"verify": func(r *runner, _ *line) {
		v, err := r.store.Verify(ctx)
		r.result(err, fmt.Sprintf("jobs=%d problems=%d", v.Jobs, v.Problems))
	},
	"backup": func(r *runner, l *line) {
		_, err := r.store.Backup(ctx, filepath.Join(r.dir, l.need("dir")))
		r.result(err, "")
	},
	"backup_verify": func(r *runner, l *line) {
		_, err := wq.VerifyBackup(ctx, filepath.Join(r.dir, l.need("dir")))
		r.result(err, "")
	},
	"restore": func(r *runner, l *line) {
		_, err := wq.RestoreBackup(ctx, filepath.Join(r.dir, l.need("dir")), filepath.Join(r.dir, l.need("store")))
		r.result(err, "")
	},
	"events": (*runner).readEvents,
}

func (r *runner) result(err error, text string) {
	if err != nil {
		r.print(failure(err))
		return
	}
	r.print(strings.TrimSpace("ok " + text))
}

func (r *runner) storePath(l *line) string {
	name := "store"
	if l.has("store") {
		name = l.get("store")
	}
	return filepath.Join(r.dir, name)
}

// readKeys reads N or N:M: a key with the id N, 32 bytes N or M.
func readKeys(l *line) (keys []wq.Key) {
	for _, key := range l.list("keys") {
		id, fill, both := strings.Cut(key, ":")
		if !both {
			fill = id
		}
		keys = append(keys, wq.Key{ID: uint32(number(id)), Bytes: bytes.Repeat([]byte{byte(number(fill))}, 32)})
	}
	return keys
}

func openOptions(l *line) *wq.Options {
	return &wq.Options{
		Keys: readKeys(l), CurrentKey: uint32(l.int("current_key")),
		NoCreate: l.flag("no_create"), ExpireLeases: l.flag("expire_leases"), EventsMax: int(l.int("events_max")),
		PayloadMax: l.int("payload_bytes_max"), Quota: l.int("quota_bytes"), Logger: quiet,
		MemoryBudget: l.int("memory_budget_bytes"), SegmentBytes: l.int("segment_bytes"),
	}
}

func (r *runner) readEvents(_ *line) {
	var rows []string
	for {
		events, outcome, err := r.events.Read(ctx, 0)
		if err != nil {
			r.print(failure(err))
			return
		}
		if outcome != wq.OK {
			break
		}
		for _, e := range events {
			if e.Kind == wq.EventCheckpoint {
				continue
			}
			var f fields
			if e.Queue != "" {
				f.add("queue", queueName(e.Queue))
			}
			if e.Kind == wq.EventFlowFinished {
				f.text("flow", r.flowName(e.Job.ID))
			} else if e.Job.ID != 0 {
				f.add("job", r.nameOf(e.Job.ID))
			}
			f.count("count", e.Count)
			f.text("dead_reason", e.DeadReason.String())
			rows = append(rows, strings.TrimSpace(e.Kind.String()+" "+f.String()))
		}
	}
	if len(rows) == 0 {
		r.print("empty")
		return
	}
	r.print("ok")
	for _, row := range rows {
		r.row(row)
	}
}

var queueOps = map[string]func(*runner, *line){
	"queue": func(r *runner, l *line) {
		name := l.need("q")
		handle := name
		if l.has("as") {
			handle = l.get("as")
		}
		var q *wq.Queue
		var err error
		if l.flag("no_create") {
			q, err = r.store.ExistingQueue(ctx, name)
		} else {
			config := readConfig(l)
			q, err = r.store.Queue(ctx, name, &config)
		}
		r.result(err, "")
		if err == nil {
			r.queues[handle] = q
		}
	},
	"configure": func(r *runner, l *line) {
		config := readConfig(l)
		if l.has("version") {
			config.Version = wq.Ptr(r.version(l))
		}
		r.print(answer(r.queue(l).Configure(ctx, config, options(l)...)))
	},
	"config":  (*runner).printConfig,
	"pause":   func(r *runner, l *line) { r.result(r.queue(l).Pause(ctx, options(l)...), "") },
	"resume":  func(r *runner, l *line) { r.result(r.queue(l).Resume(ctx, options(l)...), "") },
	"disable": func(r *runner, l *line) { r.result(r.queue(l).Disable(ctx, options(l)...), "") },
	"enable":  func(r *runner, l *line) { r.result(r.queue(l).Enable(ctx, options(l)...), "") },
	"delete":  func(r *runner, l *line) { r.result(r.queue(l).Delete(ctx, options(l)...), "") },
	"clear": func(r *runner, l *line) {
		var states []wq.State
		for _, s := range l.list("states") {
			states = append(states, word[wq.State](s, stateNames))
		}
		n, err := r.queue(l).Clear(ctx, states, options(l)...)
		r.result(err, fmt.Sprintf("removed=%d", n))
	},
	"stats": (*runner).printStats,
	"queue_explain": func(r *runner, l *line) {
		e, err := r.queue(l).Explain(ctx)
		r.result(err, fmt.Sprintf("status=%v causes=%s leasable=%d slots_taken=%d slots_max=%d parked=%d",
			e.Status, causes(e.Causes), e.Leasable, e.SlotsTaken, e.SlotsMax, e.Parked))
	},
	"errors": func(r *runner, l *line) {
		list, err := r.queue(l).Errors(ctx)
		if err == nil && len(list) == 0 {
			r.print("empty")
			return
		}
		r.result(err, "")
		for _, e := range list {
			r.row(r.nameOf(e.Job.ID), fmt.Sprintf("kind=%v attempt=%d text=%s", e.Kind, e.Attempt, quoted(e.Text)))
		}
	},
	"queue_close": func(r *runner, l *line) {
		_ = r.queue(l).Close()
		r.print("ok")
	},
}

func (r *runner) version(l *line) uint64 {
	v, known := r.versions[l.get("version")]
	if !known {
		stop("no version %q", l.get("version"))
	}
	return v
}

func readBackoff(l *line) wq.Backoff {
	return wq.Backoff{
		Kind: word[wq.BackoffKind](l.get("backoff_kind"), backoffNames), Base: l.ms("backoff_base_ms"),
		Max: l.ms("backoff_max_ms"), List: durations(l.list("backoff_list_ms")),
		JitterPermille: int(l.int("backoff_jitter_permille")),
	}
}

func readConfig(l *line) (c wq.Config) {
	number := func(key string, to **int) {
		if l.has(key) {
			*to = wq.Ptr(int(l.int(key)))
		}
	}
	long := func(key string, to **int64) {
		if l.has(key) {
			*to = wq.Ptr(l.int(key))
		}
	}
	duration := func(key string, to **time.Duration) {
		if l.has(key) {
			*to = wq.Ptr(l.ms(key))
		}
	}
	number("max_running", &c.MaxRunning)
	number("max_retries", &c.MaxRetries)
	number("group_limit", &c.GroupLimit)
	duration("lease_ms", &c.Lease)
	duration("job_ttl_ms", &c.JobTTL)
	duration("dead_max_age_ms", &c.DeadMaxAge)
	long("max_depth", &c.MaxDepth)
	long("max_bytes", &c.MaxBytes)
	long("dead_max_count", &c.DeadMaxCount)
	if l.has("durability") {
		c.Durability = wq.Ptr(word[wq.Durability](l.get("durability"), durabilityNames))
	}
	if l.has("full_policy") {
		c.FullPolicy = wq.Ptr(word[wq.FullPolicy](l.get("full_policy"), fullNames))
	}
	if l.hasPrefix("backoff_") {
		c.Backoff = wq.Ptr(readBackoff(l))
	}
	if l.hasPrefix("keep_done_") {
		c.History = &wq.History{Count: int(l.int("keep_done_count")), Age: l.ms("keep_done_age_ms")}
	}
	c.Rate, c.KeyRate = readRate(l, "rate_"), readRate(l, "key_rate_")
	if l.hasPrefix("throttle_") {
		c.Throttle = &wq.Throttle{Count: int(l.int("throttle_count")), Window: l.ms("throttle_window_ms"),
			Cool: l.ms("throttle_cool_ms")}
	}
	number("compress_min_bytes", &c.CompressMinBytes)
	if l.has("encrypt") {
		c.Encrypt = wq.Ptr(l.get("encrypt") == "1")
	}
	return c
}

func readRate(l *line, prefix string) *wq.Rate {
	if !l.hasPrefix(prefix) {
		return nil
	}
	return &wq.Rate{Count: int(l.int(prefix + "count")), Window: l.ms(prefix + "window_ms"), Burst: int(l.int(prefix + "burst"))}
}

func (r *runner) printConfig(l *line) {
	c, err := r.queue(l).Config(ctx)
	if err != nil {
		r.print(failure(err))
		return
	}
	if l.has("as") {
		r.versions[l.get("as")] = *c.Version
	}
	var f fields
	f.add("status", c.Status)
	f.add("max_running", *c.MaxRunning)
	f.add("max_retries", *c.MaxRetries)
	f.add("lease_ms", c.Lease.Milliseconds())
	f.add("durability", *c.Durability)
	f.text("backoff_kind", backoffNames[c.Backoff.Kind])
	f.millis("backoff_base_ms", c.Backoff.Base)
	f.millis("backoff_max_ms", c.Backoff.Max)
	var list []string
	for _, d := range c.Backoff.List {
		list = append(list, fmt.Sprint(d.Milliseconds()))
	}
	f.text("backoff_list_ms", strings.Join(list, ","))
	f.number("backoff_jitter_permille", int64(c.Backoff.JitterPermille))
	f.millis("job_ttl_ms", *c.JobTTL)
	f.number("max_depth", *c.MaxDepth)
	f.number("max_bytes", *c.MaxBytes)
	if *c.FullPolicy == wq.FullDropOldest {
		f.add("full_policy", "drop_oldest")
	}
	f.number("dead_max_count", *c.DeadMaxCount)
	f.millis("dead_max_age_ms", *c.DeadMaxAge)
	f.millis("keep_done_age_ms", c.History.Age)
	f.number("keep_done_count", int64(c.History.Count))
	f.number("group_limit", int64(*c.GroupLimit))
	f.number("rate_count", int64(c.Rate.Count))
	f.number("rate_burst", int64(c.Rate.Burst))
	f.millis("rate_window_ms", c.Rate.Window)
	f.flag("encrypt", *c.Encrypt)
	f.number("compress_min_bytes", int64(*c.CompressMinBytes))
	f.number("key_rate_count", int64(c.KeyRate.Count))
	f.number("key_rate_burst", int64(c.KeyRate.Burst))
	f.millis("key_rate_window_ms", c.KeyRate.Window)
	f.number("throttle_count", int64(c.Throttle.Count))
	f.millis("throttle_window_ms", c.Throttle.Window)
	f.millis("throttle_cool_ms", c.Throttle.Cool)
	f.flag("consumers_paused", c.ConsumersPaused)
	r.print("ok", f.String())
}

func (r *runner) printStats(l *line) {
	s, err := r.queue(l).Stats(ctx)
	if err != nil {
		r.print(failure(err))
		return
	}
	var f fields
	for _, total := range []struct {
		key string
		n   uint64
	}{
		{"enqueued_total", s.Enqueued}, {"leased_total", s.LeasedTotal}, {"acked_total", s.Acked},
		{"nacked_total", s.Nacked}, {"failed_total", s.Failed}, {"released_total", s.Released},
		{"expired_total", s.Expired}, {"dead_total", s.DeadTotal}, {"replayed_total", s.Replayed},
		{"cancelled_total", s.CancelledTotal}, {"cleared_total", s.Cleared},
		{"jobs_expired_total", s.JobsExpired}, {"dropped_total", s.Dropped},
		{"dead_dropped_total", s.DeadDropped}, {"chain_cut_total", s.ChainCut}, {"parked", s.Parked},
		{"skipped_total", s.Skipped},
	} {
		f.count(total.key, total.n)
	}
	r.print(strings.TrimSpace(fmt.Sprintf("ok status=%v ready=%d delayed=%d leased=%d running=%d dead=%d %s",
		s.Status, s.Ready, s.Delayed, s.Leased, s.Running, s.Dead, f)))
}
