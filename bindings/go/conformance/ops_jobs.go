package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"wq.internal/wq"
)

func (r *runner) spec(l *line) wq.Spec {
	s := wq.Spec{
		Payload: []byte(l.get("payload")), Delay: l.ms("delay_ms"), RunAt: l.time("run_at_ms"),
		MaxAttempts: int(l.int("max_attempts")), Backoff: readBackoff(l), ExpiresAt: l.time("expires_at_ms"),
		RetryUntil: l.time("retry_until_ms"), Timeout: l.ms("timeout_ms"),
		FailOnTimeout: l.flag("fail_on_timeout"), MaxExceptions: int(l.int("max_exceptions")),
		UniqueKey: l.get("unique_key"), UniqueTTL: l.ms("unique_ttl_ms"),
		UniqueUntil: word[wq.UniqueUntil](l.get("unique_until"), uniqueNames),
		DebounceKey: l.get("debounce_key"), Debounce: l.ms("debounce_ms"), DebounceMax: l.ms("debounce_max_ms"),
		IdempotencyKey: l.get("idempotency_key"), Idempotency: l.ms("idempotency_ms"),
		Flow: r.flow(l), Group: l.get("group"), GroupLimit: int(l.int("group_limit")), DryRun: l.flag("dry_run"),
	}
	s.Overlap, s.OverlapDelay = word[wq.Overlap](l.get("overlap"), overlapNames), l.ms("overlap_ms")
	s.Tenant, s.RateKey, s.RateCost = l.get("tenant"), l.get("rate_key"), int(l.int("rate_cost"))
	if l.flag("encrypt") || l.flag("plain") {
		s.Encrypt = wq.Ptr(l.flag("encrypt"))
	}
	if l.has("priority") {
		s.Priority = wq.Ptr(int(l.int("priority")))
	}
	for _, a := range l.args {
		if a.key == "header" {
			name, value, _ := strings.Cut(a.text, "=")
			s.Headers = append(s.Headers, wq.Header{Name: name, Value: []byte(value)})
		}
	}
	return s
}

var jobOps = map[string]func(*runner, *line){
	"enqueue":      (*runner).enqueue,
	"enqueue_many": (*runner).enqueueMany,
	"get": func(r *runner, l *line) {
		q, token := r.job(l)
		job, err := q.Get(ctx, token.ID)
		r.result(err, "")
		if err == nil {
			r.told(job)
		}
	},
	"until": func(r *runner, l *line) {
		q, token := r.job(l)
		for end := time.Now().Add(time.Minute); ; runtime.Gosched() {
			job, err := q.Get(ctx, token.ID)
			if err == nil && job.State.String() == l.need("state") {
				r.print("ok")
				r.told(job)
				return
			}
			if time.Now().After(end) {
				stop("job %s is never %s", l.get("job"), l.get("state"))
			}
		}
	},
	"cancel": func(r *runner, l *line) {
		q, token := r.job(l)
		r.print(answer(q.Cancel(ctx, token.ID, options(l)...)))
	},
	"reprioritise": func(r *runner, l *line) {
		q, token := r.job(l)
		r.print(answer(q.Reprioritise(ctx, token.ID, int(l.int("priority")), options(l)...)))
	},
	"progress": func(r *runner, l *line) {
		q, token := r.job(l)
		r.print(answer(q.JobOf(token).SetProgress(ctx, []byte(l.get("note")), options(l)...)))
	},
	"explain": func(r *runner, l *line) {
		q, token := r.job(l)
		e, err := q.ExplainJob(ctx, token.ID)
		r.result(err, fmt.Sprintf("state=%v causes=%s ahead=%d", e.State, causes(e.Causes), e.Ahead))
	},
	"lease": (*runner).lease,
	"keep": func(r *runner, l *line) {
		n := *r.named(l.need("job"))
		n.kept = true
		r.names[l.need("as")] = &n
		r.print("ok")
	},
	"forge": func(r *runner, l *line) {
		r.names[l.need("as")] = &named{queue: l.need("q"), kept: true,
			token: wq.Token{ID: uint64(l.int("id")), Generation: uint64(l.int("generation"))}}
		r.print("ok")
	},
	"await": func(r *runner, l *line) {
		b, known := r.calls[l.need("call")]
		if !known {
			stop("no call %q", l.get("call"))
		}
		b.tell(b.pending.Wait(ctx))
	},
}

func (r *runner) enqueue(l *line) {
	q := r.queue(l)
	spec := r.spec(l)
	for _, part := range r.parts {
		spec.Chain = append(spec.Chain, wq.Next{Queue: part.get("q"), Spec: r.spec(part)})
	}
	r.later(l, func(opts []wq.CallOption) func(error) {
		e, err := q.Enqueue(ctx, spec, opts...)
		if err == nil && e.Outcome == wq.OK && !spec.DryRun {
			r.bind(l.get("as"), l.get("q"), e.ID)
		}
		return func(late error) {
			if err == nil {
				err = late
			}
			if err == nil && e.Outcome == wq.Duplicate {
				r.print("duplicate job=" + r.nameOf(e.ID))
				return
			}
			r.print(answer(e.Outcome, err))
		}
	})
}

func (r *runner) enqueueMany(l *line) {
	q, parts := r.queue(l), r.parts
	var specs []wq.Spec
	for _, part := range parts {
		specs = append(specs, r.spec(part))
	}
	if l.has("count") {
		one := r.spec(l)
		for range l.int("count") {
			specs = append(specs, one)
		}
	}
	enqueue := q.EnqueueMany
	if l.flag("partial") {
		enqueue = q.EnqueueSome
	}
	r.later(l, func(opts []wq.CallOption) func(error) {
		many, err := enqueue(ctx, specs, opts...)
		for i, part := range parts {
			if i < len(many.Jobs) && many.Jobs[i].Outcome == wq.OK && many.Jobs[i].ID != 0 {
				r.bind(part.get("as"), l.get("q"), many.Jobs[i].ID)
			}
		}
		return func(late error) {
			if err == nil {
				err = late
			}
			r.print(answer(many.Outcome, err), fmt.Sprintf("accepted=%d", many.Accepted))
			for i := range parts {
				r.manyRow(many, i, err)
			}
		}
	})
}

func (r *runner) manyRow(many wq.EnqueuedMany, i int, err error) {
	if many.Jobs == nil {
		r.row(answer(many.Outcome, err))
		return
	}
	switch job := many.Jobs[i]; {
	case job.Code != 0:
		r.row("error WQ_E_" + job.Code.Name())
	case job.Outcome == wq.Duplicate:
		r.row("duplicate job=" + r.nameOf(job.ID))
	default:
		r.row(job.Outcome.String())
	}
}

func (r *runner) lease(l *line) {
	var queues []*wq.Queue
	handles := map[*wq.Queue]string{}
	for _, name := range strings.Split(l.need("q"), ",") {
		q := r.handle(name)
		queues = append(queues, q)
		handles[q] = name
	}
	c := ctx
	if l.get("cancelled") == "yes" {
		var cancel context.CancelFunc
		c, cancel = context.WithCancel(ctx)
		cancel()
	}
	o := wq.LeaseOptions{Max: int(l.int("max_jobs")), Wait: l.ms("wait_ms"), Lease: l.ms("lease_ms")}
	jobs, outcome, err := r.store.Lease(c, queues, o, options(l)...)
	r.print(answer(outcome, err))
	names := l.list("as")
	for _, job := range jobs {
		if _, known := r.firstNames[job.ID]; !known && len(names) > 0 {
			r.bind(names[0], handles[job.From()], job.ID)
			names = names[1:]
		}
		r.told(job)
	}
}

var settleOps = map[string]func(*runner, *line){
	"confirm": func(r *runner, l *line) {
		q, token := r.job(l)
		r.print(answer(q.JobOf(token).Confirm(ctx, l.ms("run_ms"), options(l)...)))
	},
	"extend":  (*runner).extend,
	"ack":     (*runner).settle,
	"nack":    (*runner).settle,
	"release": (*runner).settle,
	"fail":    (*runner).settle,
	"settle_many": func(r *runner, l *line) {
		q, parts := r.queue(l), r.parts
		var items []wq.Settlement
		for _, part := range parts {
			items = append(items, r.settlement(part, word[wq.SettleKind](part.need("kind"), settleNames)))
		}
		r.later(l, func(opts []wq.CallOption) func(error) {
			outcomes, err := q.SettleMany(ctx, items, opts...)
			return func(late error) {
				if err == nil {
					err = late
				}
				var names []string
				for _, part := range parts {
					names = append(names, part.get("job"))
				}
				r.each(names, outcomes, err, true)
			}
		})
	},
}

// each prints the outcomes of several jobs: that of the call is the first that is not ok.
func (r *runner) each(names []string, outcomes []wq.JobOutcome, err error, rows bool) {
	first := answer(wq.OK, err)
	for _, o := range outcomes {
		if first == "ok" {
			first = jobOutcome(o)
		}
	}
	r.print(first)
	if !rows {
		return
	}
	for i, o := range outcomes {
		name, known := r.firstNames[r.named(names[i]).token.ID]
		if !known {
			name = names[i]
		}
		r.row(name, jobOutcome(o))
	}
}

func (r *runner) extend(l *line) {
	names := l.list("jobs")
	var tokens []wq.Token
	for _, name := range names {
		tokens = append(tokens, r.named(name).token)
	}
	if len(names) == 0 {
		stop("extend needs jobs")
	}
	queue := r.named(names[0]).queue
	if l.has("q") {
		queue = l.get("q")
	}
	outcomes, err := r.handle(queue).Extend(ctx, tokens, l.ms("lease_ms"), options(l)...)
	r.each(names, outcomes, err, len(names) > 1)
}

func readNack(l *line) wq.Nack {
	n := wq.Nack{Error: l.get("error"), Front: l.flag("front"), NoException: l.flag("no_exception"),
		Reason: word[wq.DeadReason](l.get("reason"), deadNames)}
	if l.has("delay_ms") {
		n.Delay = wq.Ptr(l.ms("delay_ms"))
	}
	if l.has("priority") {
		n.Priority = wq.Ptr(int(l.int("priority")))
	}
	return n
}

func (r *runner) settlement(l *line, kind wq.SettleKind) wq.Settlement {
	_, token := r.job(l)
	return wq.Settlement{Kind: kind, Token: token, Result: []byte(l.get("result")), Nack: readNack(l),
		Release: wq.Release{Delay: l.ms("delay_ms"), Front: l.flag("front")}}
}

func (r *runner) settle(l *line) {
	q, token := r.job(l)
	job := q.JobOf(token)
	r.later(l, func(opts []wq.CallOption) func(error) {
		var outcome wq.Outcome
		var err error
		switch {
		case l.op == "ack" && l.has("result"):
			outcome, err = job.AckResult(ctx, []byte(l.get("result")), opts...)
		case l.op == "ack":
			outcome, err = job.Ack(ctx, opts...)
		case l.op == "nack":
			outcome, err = job.Nack(ctx, readNack(l), opts...)
		case l.op == "release":
			outcome, err = job.Release(ctx, wq.Release{Delay: l.ms("delay_ms"), Front: l.flag("front")}, opts...)
		default:
			outcome, err = job.Fail(ctx, l.get("error"), opts...)
		}
		return func(late error) {
			if err == nil {
				err = late
			}
			r.print(answer(outcome, err))
		}
	})
}
