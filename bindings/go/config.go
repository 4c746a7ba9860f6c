package wq

// Configuration of a queue.

// #include "shim.h"
import "C"

import (
	"context"
	"time"
	"unsafe"
)

// BackoffKind is how the delay before a retry is found.
type BackoffKind uint32

// Kinds of backoff. Zero in a job takes the queue's, in a queue it is none: ready at once.
const (
	BackoffFixed       BackoffKind = C.WQ_BACKOFF_FIXED       // Base
	BackoffExponential BackoffKind = C.WQ_BACKOFF_EXPONENTIAL // Base * 2^(n-1), at most Max
	BackoffList        BackoffKind = C.WQ_BACKOFF_LIST        // List[n-1]; the last repeats
)

// Backoff is the delay before the n-th retry (n = 1, 2, ...). Jitter: up to that many thousandths of
// each delay are left off by chance, so that what failed together does not come back together.
type Backoff struct {
	Kind           BackoffKind
	Base           time.Duration
	Max            time.Duration
	List           []time.Duration // up to 32
	JitterPermille int
}

// FullPolicy is what an enqueue does when a queue is at its MaxDepth or MaxBytes.
type FullPolicy uint32

// Policies.
const (
	FullRefuse     FullPolicy = C.WQ_FULL_REFUSE      // ErrFull
	FullDropOldest FullPolicy = C.WQ_FULL_DROP_OLDEST // ready jobs go for it, least urgent first
)

// Config is the configuration of a queue. To Store.Queue and Queue.Configure it is given as a set of
// changes: only what is not nil counts. Queue.Config returns it with every field set. Durations,
// limits and defaults are those of wq_queue_config in wq.h.
type Config struct {
	MaxRunning   *int           // bound of leased + running jobs; 0: none
	MaxRetries   *int           // attempts after the first; default 3
	Lease        *time.Duration // default length of a lease; 60 s
	Durability   *Durability    // default of enqueues and settles; Power
	Backoff      *Backoff
	JobTTL       *time.Duration // a job that did not start so long after its enqueue ends; 0: never
	MaxDepth     *int64         // bound of ready + delayed jobs for enqueues; 0: none
	MaxBytes     *int64         // the same of their bytes
	FullPolicy   *FullPolicy
	DeadMaxCount *int64         // dead letters beyond it are dropped, the oldest first; 0: none
	DeadMaxAge   *time.Duration // they are dropped this long after they died; 0: never
	History      *History       // which acked jobs are kept; default none
	GroupLimit   *int           // jobs of one group that run at once; default 1
	Rate         *Rate          // how many jobs may begin; default no limit
	KeyRate      *Rate          // the same of the jobs of each Spec.RateKey alone
	Throttle     *Throttle      // what exceptions do to a rate key; default nothing
	Encrypt      *bool          // payloads of new jobs are sealed; default not
	// CompressMinBytes: payloads of new jobs from this size on are compressed, if that makes them
	// smaller; 0, the default: none.
	CompressMinBytes *int

	// Version, if it is not nil: change only if the queue is still at this version, else Conflict.
	Version *uint64

	// Told by Queue.Config only. ConsumersPaused: paused, also behind StatusDisabled.
	Status          Status
	ConsumersPaused bool
}

// History says which acked jobs a queue keeps; with both zero none.
type History struct {
	Count int           // the newest so many; 0: no bound
	Age   time.Duration // for so long; 0: no bound
}

// Rate lets Count jobs begin within any Window, evenly spread, up to Burst of them at once after an
// idle time (0: 1). The zero value is no limit.
type Rate struct {
	Count  int
	Window time.Duration
	Burst  int
}

// Throttle shuts a rate key for Cool (0: as Window) after Count exceptions of its jobs within any
// Window. An ack sets the count back. The zero value is no throttle.
type Throttle struct {
	Count  int
	Window time.Duration
	Cool   time.Duration
}

// Ptr returns a pointer to v, for the fields of Config: wq.Config{MaxRetries: wq.Ptr(5)}.
func Ptr[T any](v T) *T { return &v }

func (config *Config) fill(op string, c *C.wq_queue_config) error {
	c.struct_size = C.sizeof_wq_queue_config
	ints := []struct {
		name  string
		from  *int
		to    *C.uint32_t
		field C.uint32_t
	}{
		{"max_running", config.MaxRunning, &c.max_running, C.WQ_CONFIG_MAX_RUNNING},
		{"max_retries", config.MaxRetries, &c.max_retries, C.WQ_CONFIG_MAX_RETRIES},
		{"group_limit", config.GroupLimit, &c.group_limit, C.WQ_CONFIG_GROUP_LIMIT},
		{"compress_min_bytes", config.CompressMinBytes, &c.compress_min_bytes, C.WQ_CONFIG_COMPRESS},
	}
	for _, i := range ints {
		if err := setInt(op, c, i.name, i.from, i.to, i.field); err != nil {
			return err
		}
	}
	setDuration(c, config.Lease, &c.lease_ms, C.WQ_CONFIG_LEASE_MS)
	setDuration(c, config.JobTTL, &c.job_ttl_ms, C.WQ_CONFIG_JOB_TTL)
	setDuration(c, config.DeadMaxAge, &c.dead_max_age_ms, C.WQ_CONFIG_DEAD_MAX_AGE)
	counts := []struct {
		name  string
		from  *int64
		to    *C.uint64_t
		field C.uint32_t
	}{
		{"max_depth", config.MaxDepth, &c.max_depth, C.WQ_CONFIG_MAX_DEPTH},
		{"max_bytes", config.MaxBytes, &c.max_bytes, C.WQ_CONFIG_MAX_BYTES},
		{"dead_max_count", config.DeadMaxCount, &c.dead_max_count, C.WQ_CONFIG_DEAD_MAX_COUNT},
	}
	for _, n := range counts {
		if n.from == nil {
			continue
		}
		if *n.from < 0 {
			return codeError(op, ErrInvalid, n.name+" is negative")
		}
		*n.to = C.uint64_t(*n.from)
		c.fields |= n.field
	}
	if config.Durability != nil {
		c.durability = C.uint32_t(*config.Durability)
		c.fields |= C.WQ_CONFIG_DURABILITY
	}
	if config.FullPolicy != nil {
		c.full_policy = C.uint32_t(*config.FullPolicy)
		c.fields |= C.WQ_CONFIG_FULL_POLICY
	}
	if config.Encrypt != nil {
		c.fields |= C.WQ_CONFIG_ENCRYPT
		if *config.Encrypt {
			c.encrypt = 1
		}
	}
	if config.Version != nil {
		c.version = C.uint64_t(*config.Version)
		c.fields |= C.WQ_CONFIG_VERSION
	}
	return config.fillGroups(op, c)
}

// fillGroups sets the fields that go together.
func (config *Config) fillGroups(op string, c *C.wq_queue_config) (err error) {
	if b := config.Backoff; b != nil {
		c.fields |= C.WQ_CONFIG_BACKOFF
		c.backoff_kind = C.uint32_t(b.Kind)
		c.backoff_base_ms, c.backoff_max_ms = millis(b.Base), millis(b.Max)
		if len(b.List) > len(c.backoff_list_ms) {
			return codeError(op, ErrInvalid, "the backoff list has more than 32 entries")
		}
		c.backoff_count = C.uint32_t(len(b.List))
		for i, d := range b.List {
			c.backoff_list_ms[i] = millis(d)
		}
		if c.backoff_jitter_permille, err = number(op, "backoff_jitter_permille", b.JitterPermille); err != nil {
			return err
		}
	}
	if h := config.History; h != nil {
		c.fields |= C.WQ_CONFIG_KEEP_DONE
		c.keep_done_age_ms = millis(h.Age)
		if c.keep_done_count, err = number(op, "keep_done_count", h.Count); err != nil {
			return err
		}
	}
	if r := config.Rate; r != nil {
		c.fields |= C.WQ_CONFIG_RATE
		c.rate_window_ms = millis(r.Window)
		if c.rate_count, err = number(op, "rate_count", r.Count); err != nil {
			return err
		}
		if c.rate_burst, err = number(op, "rate_burst", r.Burst); err != nil {
			return err
		}
	}
	return config.fillKeys(op, c)
}

// fillKeys sets what concerns rate keys.
func (config *Config) fillKeys(op string, c *C.wq_queue_config) (err error) {
	if r := config.KeyRate; r != nil {
		c.fields |= C.WQ_CONFIG_KEY_RATE
		c.key_rate_window_ms = millis(r.Window)
		if c.key_rate_count, err = number(op, "key_rate_count", r.Count); err != nil {
			return err
		}
		if c.key_rate_burst, err = number(op, "key_rate_burst", r.Burst); err != nil {
			return err
		}
	}
	if t := config.Throttle; t != nil {
		c.fields |= C.WQ_CONFIG_THROTTLE
		c.throttle_window_ms, c.throttle_cool_ms = millis(t.Window), millis(t.Cool)
		if c.throttle_count, err = number(op, "throttle_count", t.Count); err != nil {
			return err
		}
	}
	return nil
}

func setInt(op string, c *C.wq_queue_config, name string, from *int, to *C.uint32_t, field C.uint32_t) (err error) {
	if from == nil {
		return nil
	}
	c.fields |= field
	*to, err = number(op, name, *from)
	return err
}

func setDuration(c *C.wq_queue_config, from *time.Duration, to *C.int64_t, field C.uint32_t) {
	if from != nil {
		*to = millis(*from)
		c.fields |= field
	}
}

// Configure changes what `config` names, all together; the rest stays. It holds from now on; leases
// that run keep their deadlines. With a Version it is Conflict if the queue has another one by now.
func (q *Queue) Configure(ctx context.Context, config Config, opts ...CallOption) (Outcome, error) {
	const op = "configure"
	a := getArena()
	defer a.put()
	c := one[C.wq_queue_config](a)
	if err := config.fill(op, c); err != nil {
		return 0, err
	}
	r, err := q.change(ctx, op, q.core.others, Power, a, opts, func(f *C.wqgo_frame) C.int32_t {
		code := C.wq_queue_configure(q.handle, c, &f.call, &f.err)
		if code == C.WQ_OK && config.Durability != nil {
			q.level.Store(uint32(*config.Durability))
		}
		return code
	})
	return r.outcome, err
}

// Config reads the configuration, with status and version, as of one moment. Handed back to
// Configure it is refused if somebody else was faster.
func (q *Queue) Config(ctx context.Context) (Config, error) {
	a := getArena()
	defer a.put()
	c := one[C.wq_queue_config](a)
	c.struct_size = C.sizeof_wq_queue_config
	_, err := q.read(ctx, "config", a, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_queue_get_config(q.handle, c, &f.err)
	})
	if err != nil {
		return Config{}, err
	}
	backoff := Backoff{
		Kind:           BackoffKind(c.backoff_kind),
		Base:           duration(c.backoff_base_ms),
		Max:            duration(c.backoff_max_ms),
		JitterPermille: int(c.backoff_jitter_permille),
	}
	for _, ms := range unsafe.Slice(&c.backoff_list_ms[0], c.backoff_count) {
		backoff.List = append(backoff.List, duration(ms))
	}
	return Config{
		MaxRunning:   Ptr(int(c.max_running)),
		MaxRetries:   Ptr(int(c.max_retries)),
		Lease:        Ptr(duration(c.lease_ms)),
		Durability:   Ptr(Durability(c.durability)),
		Backoff:      &backoff,
		JobTTL:       Ptr(duration(c.job_ttl_ms)),
		MaxDepth:     Ptr(int64(c.max_depth)),
		MaxBytes:     Ptr(int64(c.max_bytes)),
		FullPolicy:   Ptr(FullPolicy(c.full_policy)),
		DeadMaxCount: Ptr(int64(c.dead_max_count)),
		DeadMaxAge:   Ptr(duration(c.dead_max_age_ms)),
		History:      &History{Count: int(c.keep_done_count), Age: duration(c.keep_done_age_ms)},
		GroupLimit:   Ptr(int(c.group_limit)),
		Rate:         &Rate{Count: int(c.rate_count), Window: duration(c.rate_window_ms), Burst: int(c.rate_burst)},
		KeyRate: &Rate{Count: int(c.key_rate_count), Window: duration(c.key_rate_window_ms),
			Burst: int(c.key_rate_burst)},
		Throttle: &Throttle{Count: int(c.throttle_count), Window: duration(c.throttle_window_ms),
			Cool: duration(c.throttle_cool_ms)},
		Encrypt:          Ptr(c.encrypt != 0),
		CompressMinBytes: Ptr(int(c.compress_min_bytes)),
		Version:          Ptr(uint64(c.version)),
		Status:           Status(c.status),
		ConsumersPaused:  c.consumers_paused != 0,
	}, nil
}
