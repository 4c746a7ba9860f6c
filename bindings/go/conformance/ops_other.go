package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"wq.internal/wq"
)

var otherOps = map[string]func(*runner, *line){
	"dead_list": (*runner).deadList,
	"dead_get": func(r *runner, l *line) {
		q, token := r.job(l)
		job, outcome, err := q.Dead().Get(ctx, token)
		r.print(answer(outcome, err))
		if job != nil {
			r.told(job)
		}
	},
	"dead_replay": func(r *runner, l *line) {
		q, token := r.job(l)
		r.print(answer(q.Dead().Replay(ctx, token, options(l)...)))
	},
	"dead_remove": func(r *runner, l *line) {
		q, token := r.job(l)
		r.print(answer(q.Dead().Remove(ctx, token, options(l)...)))
	},
	"dead_replay_many": func(r *runner, l *line) {
		report, err := r.queue(l).Dead().ReplayMany(ctx, r.deadFilter(l), options(l)...)
		r.result(err, fmt.Sprintf("changed=%d", report.Changed))
	},
	"dead_remove_many": func(r *runner, l *line) {
		report, err := r.queue(l).Dead().RemoveMany(ctx, r.deadFilter(l), options(l)...)
		r.result(err, fmt.Sprintf("changed=%d", report.Changed))
	},
	"dead_purge": func(r *runner, l *line) {
		n, err := r.queue(l).Dead().Purge(ctx, options(l)...)
		r.result(err, fmt.Sprintf("removed=%d", n))
	},
	"key_holder": func(r *runner, l *line) {
		id, err := r.queue(l).KeyHolder(ctx, word[wq.KeyKind](l.get("kind"), keyNames), l.get("key"))
		r.result(err, "job="+r.nameOf(id))
	},
	"key_cancel": func(r *runner, l *line) {
		id, outcome, err := r.queue(l).CancelKey(ctx, word[wq.KeyKind](l.get("kind"), keyNames), l.get("key"), options(l)...)
		r.withText(outcome, err, "job="+r.nameOf(id))
	},
	"key_release": func(r *runner, l *line) {
		q, token := r.job(l)
		r.print(answer(q.JobOf(token).ReleaseKey(ctx, options(l)...)))
	},
	"flow_create":  (*runner).flowCreate,
	"flow_seal":    func(r *runner, l *line) { r.result(r.store.Flows().Seal(ctx, r.flow(l), options(l)...), "") },
	"flow_cancel":  func(r *runner, l *line) { r.print(answer(r.store.Flows().Cancel(ctx, r.flow(l), options(l)...))) },
	"flow_status":  (*runner).flowStatus,
	"flow_list":    (*runner).flowList,
	"history_get":  (*runner).historyGet,
	"history_list": (*runner).historyList,
	"kv_get": func(r *runner, l *line) {
		row, found, err := r.store.KV().Get(ctx, l.get("key"))
		if err == nil && !found {
			r.print("empty")
			return
		}
		f := fields{"value=" + quoted(string(row.Value))}
		f.set("expires_ms", row.Expires)
		r.result(err, f.String())
		r.versions[l.get("as")] = row.Version
	},
	"kv_put": func(r *runner, l *line) {
		version, outcome, err := r.store.KV().Put(ctx, l.get("key"), []byte(l.get("value")), r.rowOptions(l), options(l)...)
		r.print(answer(outcome, err))
		r.versions[l.get("as")] = version
	},
	"kv_add": func(r *runner, l *line) {
		sum, outcome, err := r.store.KV().Add(ctx, l.get("key"), l.int("delta"), r.rowOptions(l), options(l)...)
		r.withText(outcome, err, fmt.Sprintf("sum=%d", sum))
	},
	"kv_erase": func(r *runner, l *line) {
		r.print(answer(r.store.KV().Erase(ctx, l.get("key"), r.rowOptions(l), options(l)...)))
	},
	"kv_list": (*runner).kvList,
	"lock_take": func(r *runner, l *line) {
		r.print(answer(r.store.Lock(ctx, l.get("key"), l.get("owner"), l.ms("ttl_ms"), options(l)...)))
	},
	"lock_extend": func(r *runner, l *line) {
		r.print(answer(r.store.ExtendLock(ctx, l.get("key"), l.get("owner"), l.ms("ttl_ms"), options(l)...)))
	},
	"lock_release": func(r *runner, l *line) {
		r.print(answer(r.store.Unlock(ctx, l.get("key"), l.get("owner"), options(l)...)))
	},
	"transact": (*runner).transact,
	"cron_put": func(r *runner, l *line) {
		spec := wq.CronSpec{Expression: l.get("expression"), Zone: l.get("zone"), Job: r.spec(l)}
		if l.has("catch_up") {
			spec.CatchUp = wq.Ptr(int(l.int("catch_up")))
		}
		r.result(r.queue(l).PutCron(ctx, l.get("name"), spec, options(l)...), "")
	},
	"cron_get": func(r *runner, l *line) {
		c, err := r.store.Crons().Get(ctx, l.get("name"))
		r.result(err, "")
		if err == nil {
			r.cronRow(&c)
		}
	},
	"cron_list":   (*runner).cronList,
	"cron_remove": func(r *runner, l *line) { r.result(r.store.Crons().Remove(ctx, l.get("name"), options(l)...), "") },
	"cron_pause":  func(r *runner, l *line) { r.result(r.store.Crons().Pause(ctx, l.get("name"), options(l)...), "") },
	"cron_resume": func(r *runner, l *line) { r.result(r.store.Crons().Resume(ctx, l.get("name"), options(l)...), "") },
	"cron_next": func(r *runner, l *line) {
		times, err := wq.NextDue(l.get("expression"), l.get("zone"), time.UnixMilli(l.int("from_ms")), int(l.int("count")))
		list := []string{}
		for _, t := range times {
			list = append(list, strconv.FormatInt(t.UnixMilli(), 10))
		}
		if len(list) == 0 {
			list = []string{"none"}
		}
		r.result(err, "times="+strings.Join(list, ","))
	},
}

func (r *runner) withText(outcome wq.Outcome, err error, text string) {
	if err != nil || outcome != wq.OK {
		r.print(answer(outcome, err))
		return
	}
	r.print("ok", text)
}

func (r *runner) deadList(l *line) {
	q := r.queue(l)
	query := wq.DeadQuery{OldestFirst: l.flag("oldest_first"), Limit: int(l.int("limit")),
		Reason: word[wq.DeadReason](l.get("reason"), deadNames), From: l.time("from_ms"), Until: l.time("until_ms"),
		ErrorPart: l.get("error_part")}
	var all []*wq.Job
	pages := 0
	for {
		page, next, err := q.Dead().List(ctx, query)
		if err != nil {
			r.print(failure(err))
			return
		}
		if len(page) > 0 {
			pages++
			all = append(all, page...)
		}
		if next == 0 {
			break
		}
		query.Cursor = next
	}
	if pages == 0 {
		r.print("empty")
		return
	}
	r.print(fmt.Sprintf("ok pages=%d", pages))
	for _, job := range all {
		r.told(job)
	}
}

func (r *runner) deadFilter(l *line) wq.DeadFilter {
	f := wq.DeadFilter{All: l.flag("all"), DryRun: l.flag("dry_run"), From: l.time("from_ms"), Until: l.time("until_ms"),
		Reason: word[wq.DeadReason](l.get("reason"), deadNames), ErrorPart: l.get("error_part"), Limit: uint64(l.int("limit"))}
	for _, name := range l.list("jobs") {
		f.Entries = append(f.Entries, r.named(name).token)
	}
	return f
}

func (r *runner) flowCreate(l *line) {
	o := wq.FlowOptions{AllowFailures: l.flag("allow_failures")}
	for _, part := range r.parts {
		next := &wq.Next{Queue: part.get("q"), Spec: r.spec(part)}
		if part.need("when") == "complete" {
			o.OnComplete = next
		} else {
			o.OnFailure = next
		}
	}
	flow, err := r.store.Flows().Create(ctx, o, options(l)...)
	r.result(err, "")
	if err == nil && l.has("as") {
		r.flows[l.get("as")] = flow
		r.flowNames[flow] = l.get("as")
	}
}

func (r *runner) flowStatus(l *line) {
	s, err := r.store.Flows().Status(ctx, r.flow(l))
	if err != nil {
		r.print(failure(err))
		return
	}
	var flags []string
	for _, flag := range []struct {
		on   bool
		name string
	}{{s.Sealed, "sealed"}, {s.WasCancelled, "cancelled"}, {s.Finished, "finished"}} {
		if flag.on {
			flags = append(flags, flag.name)
		}
	}
	f := fields{fmt.Sprintf("total=%d pending=%d done=%d failed=%d cancelled=%d", s.Total, s.Pending, s.Done, s.Failed, s.Cancelled)}
	f.text("flags", strings.Join(flags, ","))
	if s.FollowUp != 0 {
		f.add("follow_up", "yes")
	}
	r.print("ok", f.String())
}

func pageLimit(l *line) int {
	if l.has("limit") {
		return int(l.int("limit"))
	}
	return 100
}

// allPages collects what is listed page by page, and prints the result line.
func allPages[T any](r *runner, list func(cursor uint64) ([]T, uint64, error)) []T {
	var all []T
	for cursor := uint64(0); ; {
		page, next, err := list(cursor)
		if err != nil {
			r.print(failure(err))
			return nil
		}
		all = append(all, page...)
		if next == 0 {
			r.print("ok")
			return all
		}
		cursor = next
	}
}

func (r *runner) flowList(l *line) {
	for _, s := range allPages(r, func(cursor uint64) ([]wq.FlowStatus, uint64, error) {
		return r.store.Flows().List(ctx, cursor, pageLimit(l))
	}) {
		r.row(r.flowName(s.ID), fmt.Sprintf("total=%d pending=%d", s.Total, s.Pending))
	}
}

func (r *runner) doneRow(d *wq.DoneJob) {
	f := fields{fmt.Sprintf("attempts=%d priority=%d", d.Attempts, d.Priority)}
	f.number("exceptions", int64(d.Exceptions))
	f.number("replays", int64(d.Replays))
	f.text("flow", r.flowName(d.Flow))
	f.bytes("result", string(d.Result))
	f.key(d.KeyID, "result_code", d.ResultCode)
	r.row(r.nameOf(d.ID), f.String())
}

func (r *runner) historyGet(l *line) {
	q, token := r.job(l)
	d, err := q.Done(ctx, token.ID)
	r.result(err, "")
	if err == nil {
		r.doneRow(&d)
	}
}

func (r *runner) historyList(l *line) {
	q := r.queue(l)
	for _, d := range allPages(r, func(cursor uint64) ([]wq.DoneJob, uint64, error) {
		return q.ListDone(ctx, cursor, pageLimit(l))
	}) {
		r.doneRow(&d)
	}
}

func (r *runner) rowOptions(l *line) wq.RowOptions {
	o := wq.RowOptions{TTL: l.ms("ttl_ms"), IfAbsent: l.flag("if_absent")}
	if l.has("version") {
		o.IfVersion = wq.Ptr(r.version(l))
	}
	if l.has("if_value") {
		o.IfValue = append([]byte{}, l.get("if_value")...)
	}
	return o
}

func (r *runner) kvList(l *line) {
	after, pages := l.get("after"), 0
	var all []wq.Row
	for more := true; more; {
		page, further, err := r.store.KV().List(ctx, l.get("prefix"), after, int(l.int("limit")))
		if err != nil {
			r.print(failure(err))
			return
		}
		if len(page) > 0 {
			pages++
			after = page[len(page)-1].Key
			all = append(all, page...)
		}
		more = further
	}
	if pages == 0 {
		r.print("empty")
		return
	}
	r.print(fmt.Sprintf("ok pages=%d", pages))
	for _, row := range all {
		r.row(quoted(row.Key), "value="+quoted(string(row.Value)))
	}
}

func (r *runner) transact(l *line) {
	var ops []wq.TxnOp
	for _, part := range r.parts {
		key := part.get("key")
		switch part.need("kind") {
		case "enqueue":
			ops = append(ops, wq.TxnEnqueue(r.queue(part), r.spec(part)))
		case "settle":
			q, _ := r.job(part)
			ops = append(ops, wq.TxnSettle(q, r.settlement(part, word[wq.SettleKind](part.need("settle"), settleNames))))
		case "kv_put":
			ops = append(ops, wq.TxnPut(key, []byte(part.get("value")), r.rowOptions(part)))
		case "kv_add":
			ops = append(ops, wq.TxnAdd(key, part.int("delta"), r.rowOptions(part)))
		case "kv_erase":
			ops = append(ops, wq.TxnErase(key, r.rowOptions(part)))
		case "kv_check":
			ops = append(ops, wq.TxnCheck(key, r.rowOptions(part)))
		default:
			stop("no kind %q", part.get("kind"))
		}
	}
	done, err := r.store.Transact(ctx, ops, options(l)...)
	if err != nil || done.Outcome != wq.OK {
		text := answer(done.Outcome, err)
		if done.Failed >= 0 {
			text += fmt.Sprintf(" failed=%d", done.Failed)
		}
		r.print(text)
		return
	}
	r.print("ok")
	for i, part := range r.parts {
		switch part.get("kind") {
		case "enqueue":
			r.bind(part.get("as"), part.get("q"), done.Results[i].ID)
		case "kv_add":
			r.row(fmt.Sprintf("sum=%d", done.Results[i].Sum))
		}
	}
}

func (r *runner) cronRow(c *wq.Cron) {
	var f fields
	f.add("queue", queueName(c.Queue))
	f.add("expression", quoted(c.Expression))
	f.bytes("zone", c.Zone)
	f.text("flags", flagWords("paused", c.Paused, "encrypt", c.Sealed))
	f.number("catch_up", int64(c.CatchUp))
	if c.Priority != 100 {
		f.add("priority", c.Priority)
	}
	f.number("max_attempts", int64(c.MaxAttempts))
	f.bytes("payload", string(c.Payload))
	r.header(&f, c.Headers)
	f.key(c.KeyID, "payload_code", c.PayloadCode)
	r.row(quoted(c.Name), f.String())
}

func (r *runner) cronList(l *line) {
	var q *wq.Queue
	if l.has("q") {
		q = r.queue(l)
	}
	after, limit := "", pageLimit(l)
	var all []wq.Cron
	for {
		page, err := r.store.Crons().List(ctx, q, after, limit)
		if err != nil {
			r.print(failure(err))
			return
		}
		all = append(all, page...)
		if len(page) < limit {
			break
		}
		after = page[len(page)-1].Name
	}
	r.print("ok")
	for i := range all {
		r.cronRow(&all[i])
	}
}
