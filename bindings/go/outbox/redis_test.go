package outbox_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"wq.internal/wq"
	"wq.internal/wq/internal/check"
	"wq.internal/wq/outbox"
)

var quick = outbox.BreakerOptions{Failures: 2, Cool: 5 * time.Millisecond, CoolMax: 50 * time.Millisecond}

// Redis is killed and stopped at random moments, and the relay is made anew: each job is in Redis
// once, and in order if that was asked for.
func TestEachJobOnce(t *testing.T) {
	for _, options := range []outbox.Options{{}, {InOrder: true}, {Mode: outbox.Always}} {
		t.Run(fmt.Sprint("mode ", options.Mode, " in order ", options.InOrder), func(t *testing.T) {
			random, server, store := seeded(t), startServer(t), openStore(t)
			options.Layout, options.Breaker, options.Durability = outbox.Layout{Key: "jobs"}, quick, wq.Process
			options.Poll = 10 * time.Millisecond
			const jobs = 120
			var relay *outbox.Relay
			var stop context.CancelFunc
			ended := make(chan error, 1)
			begin := func() {
				var run context.Context
				relay = newRelay(t, store, options, server.primary(t, 100*time.Millisecond))
				run, stop = context.WithCancel(ctx)
				go func(r *outbox.Relay) { ended <- r.Run(run) }(relay)
			}
			end := func() {
				stop()
				<-ended
				check.OK(t, relay.Close())
			}
			begin()
			isPaused := false
			mend := func() {
				if isPaused {
					server.signal(syscall.SIGCONT)
					isPaused = false
				}
				if server.cmd == nil {
					server.start()
				}
			}
			for i := range jobs {
				switch random.Intn(60) {
				case 0, 1:
					mend()
					server.kill()
				case 2:
					mend()
					server.signal(syscall.SIGSTOP)
					isPaused = true
				case 3:
					end()
					begin()
				case 4, 5, 6, 7, 8, 9:
					mend()
				}
				push(t, relay, fmt.Sprint(i))
			}
			mend()
			end()
			begin()
			drained(t, relay)
			end()
			got, err := server.client(t).LRange(ctx, "jobs", 0, -1).Result()
			check.OK(t, err)
			want := make([]string, jobs)
			for i := range want {
				want[i] = fmt.Sprint(i)
			}
			if !options.InOrder {
				slices.Sort(got)
				slices.Sort(want)
			}
			check.Equal(t, strings.Join(got, " "), strings.Join(want, " "))
			q, err := store.ExistingQueue(ctx, "default")
			check.OK(t, err)
			defer q.Close()
			r, err := outbox.ReadReport(ctx, store, q)
			check.OK(t, err)
			check.Equal(t, r.DirectSent+r.Spooled, jobs)
			check.Equal(t, r.Sent+r.Duplicate, r.Spooled)
			check.Equal(t, r.Dead+r.DirectRefused, 0)
			fmt.Printf("%s: %d sent, %d spooled, of them %d known\n", t.Name(), r.DirectSent, r.Spooled, r.Duplicate)
		})
	}
}

func TestRedisVerdicts(t *testing.T) {
	server := startServer(t)
	client, primary := server.client(t), server.primary(t, 2*time.Second)
	r := newRelay(t, openStore(t), outbox.Options{}, primary)
	pushID := func(id string) outbox.Pushed {
		t.Helper()
		pushed, err := r.Push(ctx, outbox.Job{ID: id, Payload: []byte(id)})
		check.OK(t, err)
		return pushed
	}
	check.Equal(t, pushID("a").Outcome, outbox.Sent)
	check.Equal(t, pushID("a").Outcome, outbox.Duplicate)
	check.OK(t, client.ScriptFlush(ctx).Err())
	check.Equal(t, pushID("b").Outcome, outbox.Sent)
	check.OK(t, client.ConfigSet(ctx, "maxmemory", "1").Err())
	check.Equal(t, pushID("c").Outcome, outbox.Spooled) // OOM
	check.Equal(t, r.Health().Failures, 1)
	check.OK(t, client.ConfigSet(ctx, "maxmemory", "0").Err())
	server.signal(syscall.SIGSTOP)
	check.Equal(t, pushID("d").Outcome, outbox.Spooled)
	check.Equal(t, r.Health().Timeouts, 1)
	server.signal(syscall.SIGCONT)
	drained(t, r)
	// A list of another type: the first of a pipeline is refused, and so are the others, alone.
	check.OK(t, client.Rename(ctx, "jobs", "before").Err())
	check.OK(t, client.Set(ctx, "jobs", "no list", 0).Err())
	refused := pushID("e")
	check.Equal(t, refused.Outcome, outbox.Refused)
	check.Equal(t, strings.Contains(refused.Text, "WRONGTYPE"), true)
	server.kill()
	check.Equal(t, pushID("f").Outcome, outbox.Spooled)
	check.Equal(t, r.Health().Failures, 2)
	got := client.LRange(ctx, "before", 0, -1)
	check.Equal(t, got.Err() != nil, true)
}

// The answers of one write are told apart: an error of the first is not that of the others.
func TestPipelineAnswersAreApart(t *testing.T) {
	server := startServer(t)
	check.OK(t, server.client(t).Set(ctx, "text", "no list", 0).Err())
	primary := server.primary(t, 2*time.Second)
	script := "return redis.call('RPUSH', KEYS[1], ARGV[1])"
	requests := []outbox.Request{{Script: script, Keys: []string{"text"}, Arguments: []string{"x"}},
		{Script: script, Keys: []string{"list"}, Arguments: []string{"y"}}}
	for range 2 {
		answers := primary.Send(ctx, requests)
		check.Equal(t, answers[0].Verdict, outbox.Rejected)
		check.Equal(t, answers[1].Verdict == outbox.Applied || answers[1].Verdict == outbox.Known, true)
	}
}

func TestLayoutsInRedis(t *testing.T) {
	server := startServer(t)
	client := server.client(t)
	send := func(layout string, mode outbox.Mode, jobs ...outbox.Job) {
		t.Helper()
		l, err := outbox.ParseLayout(layout, "mail")
		check.OK(t, err)
		r := newRelay(t, openStore(t), outbox.Options{Queue: "mail", Layout: l, Mode: mode}, server.primary(t, 2*time.Second))
		for _, job := range jobs {
			_, err := r.Push(ctx, job)
			check.OK(t, err)
		}
		drained(t, r)
		check.Equal(t, report(t, r).Dead, 0)
	}
	job := outbox.Job{ID: "1", Payload: []byte("p\x00"), Headers: []wq.Header{{Name: "h", Value: []byte("v")}}, Priority: wq.Ptr(3), Group: "g"}
	for _, mode := range []outbox.Mode{outbox.Always, outbox.Fallback} { // the second time it is known
		send("stream:s", mode, job)
	}
	entries, err := client.XRange(ctx, "s", "-", "+").Result()
	check.OK(t, err)
	check.Equal(t, len(entries), 1)
	check.Equal(t, fmt.Sprint(entries[0].Values), fmt.Sprint(map[string]any{"id": "1", "payload": "p\x00", "priority": "3", "group": "g", "header:h": "v"}))

	due := time.Now().Add(time.Hour)
	send("prismgo:app", outbox.Fallback, outbox.Job{Payload: []byte("now")}, outbox.Job{Payload: []byte("later"), RunAt: due})
	check.Equal(t, client.LIndex(ctx, "app:queues:mail", 0).Val(), "now")
	check.Equal(t, client.LLen(ctx, "app:queues:mail:notify").Val(), 1)
	check.Equal(t, int64(client.ZScore(ctx, "app:queues:mail:delayed", "later").Val()), due.UnixMilli())
	check.Equal(t, client.ZCard(ctx, "app:queues:mail:wq-seen").Val(), 2)

	send("waitqueue:ns:1", outbox.Always, outbox.Job{ID: "g1", Payload: []byte("t1")}, outbox.Job{Payload: []byte("t1")})
	check.Equal(t, client.LLen(ctx, "TaskQueue:ns:1:waitingQueue").Val(), 1)
	check.Equal(t, client.HGet(ctx, "TaskQueue:ns:1:taskStateHashKv", "t1").Val(), "waiting")
	check.Equal(t, client.HGet(ctx, "TaskQueue:ns:1:taskGenerationHashKv", "t1").Val(), "g1")
}

// The program wq drains what was spooled here, and its counts go on from those of here.
func TestTheProgramDrainsIt(t *testing.T) {
	program := filepath.Join(os.Getenv("WQ_BUILD_DIR"), "bin", "wq")
	if os.Getenv("WQ_BUILD_DIR") == "" || exec.Command(program, "relay", "--help").Run() != nil {
		t.Skip("skipped: no bin/wq with relay in WQ_BUILD_DIR")
	}
	server := startServer(t)
	store := openStore(t)
	options := outbox.Options{Queue: "mail", Mode: outbox.Always, Layout: outbox.Layout{Key: "jobs"}}
	r := newRelay(t, store, options, server.primary(t, 2*time.Second))
	for i := range 5 {
		_, err := r.Push(ctx, outbox.Job{ID: fmt.Sprint("id", i), Payload: []byte(fmt.Sprint(i))})
		check.OK(t, err)
	}
	did, err := r.Drain(ctx, 2)
	check.OK(t, err)
	check.Equal(t, did.Sent, 2)
	_, err = r.Push(ctx, outbox.Job{ID: "id0", Payload: []byte("again")})
	check.OK(t, err)
	check.OK(t, r.Close())
	check.OK(t, store.Close())
	out, err := exec.Command(program, "--store", store.Path(), "relay", "run", "-q", "mail", "--to", "list:jobs",
		"--redis", "unix://"+server.socket(), "--no-input").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	check.Equal(t, strings.Join(server.client(t).LRange(ctx, "jobs", 0, -1).Val(), ""), "01234")
	store, err = wq.Open(store.Path(), nil)
	check.OK(t, err)
	defer store.Close()
	check.Equal(t, report(t, newRelay(t, store, options, server.primary(t, 2*time.Second))), outbox.Report{Spooled: 6, Sent: 5, Duplicate: 1})
}

// The example of the README runs.
func TestReadmeExample(t *testing.T) {
	server := startServer(t)
	readme, err := os.ReadFile("README.md")
	check.OK(t, err)
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	program, _, found := strings.Cut(rest, "```")
	check.Equal(t, found, true)
	here, err := os.Getwd()
	check.OK(t, err)
	dir, err := os.MkdirTemp(here, "example-") // inside the module, so that its go.sum holds
	check.OK(t, err)
	defer os.RemoveAll(dir)
	program = strings.Replace(program, `Addr: "127.0.0.1:6379"`, fmt.Sprintf("Network: %q, Addr: %q", "unix", server.socket()), 1)
	program = strings.Replace(program, `wq.Open("store"`, fmt.Sprintf("wq.Open(%q", filepath.Join(t.TempDir(), "store")), 1)
	check.OK(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
	cmd := exec.Command("go", "run", "./"+filepath.Base(dir))
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	check.Equal(t, string(out), "sent\n")
	check.Equal(t, server.client(t).LIndex(ctx, "jobs", 0).Val(), "hello")
}
