package outbox

// What a relay tells of itself.

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"wq.internal/wq"
)

// Report is what became of all that went through the queue, since it was made. Counts are exact over
// crashes, but for those of direct pushes: what the last half minute before a crash sent is not in
// them.
type Report struct {
	DirectSent, DirectDuplicate, DirectRefused, DirectFailed uint64

	Spooled                             uint64 // all that came into the queue
	Sent, Duplicate, Missing            uint64 // of the spooled
	Dead                                uint64 // refused, and dead letters now
	LocalReady, LocalDelayed, LocalHeld uint64 // still here
	OldestReadyAge                      time.Duration
}

// Health is that of this process.
type Health struct {
	State    BreakerState
	Opened   uint64 // how often the breaker opened
	Failures uint64 // calls that Redis could not take
	Timeouts uint64 // calls without an answer
	Problem  string // the last of either; empty after a success
}

// Health tells how Redis is, as far as this relay knows.
func (r *Relay) Health() Health {
	r.mu.Lock()
	defer r.mu.Unlock()
	health := r.health
	health.State, health.Opened = r.breaker.state, r.breaker.opened
	return health
}

// RetryAt tells when a drain is worth a try: now, or when the breaker lets the next attempt through.
func (r *Relay) RetryAt() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.breaker.state == Open {
		return r.breaker.until
	}
	return r.options.Clock()
}

// countKey is where a count of the relay of that queue stands.
func countKey(queue, name string) string { return "wq-relay/" + queue + "/" + name }

const keepCountsEvery = 30 * time.Second

// keepDirectCounts writes the counts of direct pushes, which belong to no record of the log.
func (r *Relay) keepDirectCounts(ctx context.Context) error {
	r.mu.Lock()
	now, before := r.direct, r.kept
	r.kept, r.keptAt = r.direct, r.options.Clock()
	r.mu.Unlock()
	for _, count := range []struct {
		name string
		by   uint64
	}{{"direct_sent", now.sent - before.sent}, {"direct_duplicate", now.duplicate - before.duplicate},
		{"direct_refused", now.refused - before.refused}, {"direct_failed", now.failed - before.failed}} {
		if count.by == 0 {
			continue
		}
		if _, _, err := r.store.KV().Add(ctx, countKey(r.options.Queue, count.name), int64(count.by), wq.RowOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (r *Relay) keepDirectCountsNowAndThen(ctx context.Context) error {
	r.mu.Lock()
	due := r.options.Clock().Sub(r.keptAt) >= keepCountsEvery
	r.mu.Unlock()
	if !due {
		return nil
	}
	return r.keepDirectCounts(context.WithoutCancel(ctx))
}

// Report reads the counts.
func (r *Relay) Report(ctx context.Context) (Report, error) {
	report, err := ReadReport(ctx, r.store, r.queue)
	r.mu.Lock()
	defer r.mu.Unlock()
	report.DirectSent += r.direct.sent - r.kept.sent
	report.DirectDuplicate += r.direct.duplicate - r.kept.duplicate
	report.DirectRefused += r.direct.refused - r.kept.refused
	report.DirectFailed += r.direct.failed - r.kept.failed
	return report, err
}

// ReadReport is the report of a queue of which this process has no relay.
func ReadReport(ctx context.Context, store *wq.Store, queue *wq.Queue) (Report, error) {
	var report Report
	for _, count := range []struct {
		name string
		to   *uint64
	}{{"direct_sent", &report.DirectSent}, {"direct_duplicate", &report.DirectDuplicate},
		{"direct_refused", &report.DirectRefused}, {"direct_failed", &report.DirectFailed},
		{"sent", &report.Sent}, {"duplicate", &report.Duplicate}, {"missing", &report.Missing}} {
		row, _, err := store.KV().Get(ctx, countKey(queue.Name(), count.name))
		if err != nil {
			return report, err
		}
		*count.to, _ = strconv.ParseUint(string(row.Value), 10, 64)
	}
	stats, err := queue.Stats(ctx)
	report.Spooled, report.Dead = stats.Enqueued, stats.Dead
	report.LocalReady, report.LocalDelayed = stats.Ready, stats.Delayed
	report.LocalHeld, report.OldestReadyAge = stats.Leased+stats.Running, stats.OldestReadyAge
	return report, err
}

// Metrics returns report and health in the text format of Prometheus.
func (r *Relay) Metrics(ctx context.Context) (string, error) {
	report, err := r.Report(ctx)
	if err != nil {
		return "", err
	}
	return MetricsText(r.options.Queue, report, r.Health()), nil
}

// MetricsText is a report and the health in the text format of Prometheus.
func MetricsText(queue string, report Report, health Health) string {
	const direct = "Pushes that went to Redis at once, by outcome."
	const relayed = "Spooled jobs that left the queue for Redis, by outcome."
	const local = "Jobs that are in the queue, by state."
	base := `queue="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(queue) + `"`
	outcome := func(name string) string { return base + `,outcome="` + name + `"` }
	state := func(name string) string { return base + `,state="` + name + `"` }
	rows := []struct {
		name, kind, help, labels string
		value                    float64
	}{
		{"direct_total", "counter", direct, outcome("sent"), float64(report.DirectSent)},
		{"direct_total", "counter", direct, outcome("duplicate"), float64(report.DirectDuplicate)},
		{"direct_total", "counter", direct, outcome("refused"), float64(report.DirectRefused)},
		{"direct_total", "counter", direct, outcome("failed"), float64(report.DirectFailed)},
		{"spooled_total", "counter", "Jobs that came into the queue.", base, float64(report.Spooled)},
		{"relayed_total", "counter", relayed, outcome("sent"), float64(report.Sent)},
		{"relayed_total", "counter", relayed, outcome("duplicate"), float64(report.Duplicate)},
		{"relayed_total", "counter", relayed, outcome("missing"), float64(report.Missing)},
		{"jobs", "gauge", local, state("ready"), float64(report.LocalReady)},
		{"jobs", "gauge", local, state("delayed"), float64(report.LocalDelayed)},
		{"jobs", "gauge", local, state("held"), float64(report.LocalHeld)},
		{"jobs", "gauge", local, state("dead"), float64(report.Dead)},
		{"oldest_ready_seconds", "gauge", "Age of the oldest job that waits for Redis.", base,
			float64(report.OldestReadyAge.Milliseconds()) / 1000},
		{"breaker_state", "gauge", "0: closed, 1: open, 2: one attempt is under way.", base, float64(health.State)},
		{"breaker_opened_total", "counter", "How often the breaker opened.", base, float64(health.Opened)},
		{"failures_total", "counter", "Calls that Redis did not take.", base, float64(health.Failures)},
		{"timeouts_total", "counter", "Calls that Redis did not answer in time.", base, float64(health.Timeouts)},
	}
	var out strings.Builder
	last := ""
	for _, row := range rows {
		if row.name != last {
			fmt.Fprintf(&out, "# HELP wq_relay_%s %s\n# TYPE wq_relay_%s %s\n", row.name, row.help, row.name, row.kind)
		}
		last = row.name
		fmt.Fprintf(&out, "wq_relay_%s{%s} %s\n", row.name, row.labels, strconv.FormatFloat(row.value, 'f', -1, 64))
	}
	return out.String()
}
