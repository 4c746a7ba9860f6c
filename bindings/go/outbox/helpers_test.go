package outbox_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"wq.internal/wq"
	"wq.internal/wq/internal/check"
	"wq.internal/wq/outbox"
)

var ctx = context.Background()

func openStore(t testing.TB) *wq.Store {
	t.Helper()
	return check.Open(t, wq.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
}

func newRelay(t testing.TB, s *wq.Store, options outbox.Options, primary outbox.Primary) *outbox.Relay {
	t.Helper()
	if options.Layout.Key == "" {
		options.Layout.Key = "jobs"
	}
	r, err := outbox.New(ctx, s, options, primary)
	check.OK(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func push(t testing.TB, r *outbox.Relay, payload string) outbox.Pushed {
	t.Helper()
	p, err := r.Push(ctx, outbox.Job{Payload: []byte(payload)})
	check.OK(t, err)
	return p
}

func report(t testing.TB, r *outbox.Relay) outbox.Report {
	t.Helper()
	out, err := r.Report(ctx)
	check.OK(t, err)
	out.OldestReadyAge = 0 // of the real clock
	return out
}

// seeded returns a generator whose seed is printed; WQ_SEED sets it.
func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := time.Now().UnixNano()
	if given, err := strconv.ParseInt(os.Getenv("WQ_SEED"), 10, 64); err == nil {
		seed = given
	}
	fmt.Printf("%s: WQ_SEED=%d\n", t.Name(), seed)
	return rand.New(rand.NewSource(seed))
}

// server is a redis-server of one test, on a socket. It keeps what it said yes to over a kill: its
// append-only file is synced before each answer.
type server struct {
	t       testing.TB
	program string
	dir     string
	cmd     *exec.Cmd
}

func startServer(t testing.TB) *server {
	t.Helper()
	// Debian's redis-tools have the server under the name of its checker, and start no service.
	program, err := exec.LookPath("redis-server")
	if err != nil {
		program, err = exec.LookPath("redis-check-rdb")
	}
	if err != nil {
		t.Skip("skipped: there is no redis-server")
	}
	dir, err := os.MkdirTemp("", "wq-outbox-") // the path of a socket must be short
	check.OK(t, err)
	s := &server{t: t, program: program, dir: dir}
	t.Cleanup(func() {
		s.kill()
		_ = os.RemoveAll(dir)
	})
	s.start()
	return s
}

func (s *server) socket() string { return filepath.Join(s.dir, "redis.sock") }

func (s *server) start(options ...string) {
	s.t.Helper()
	args := append([]string{"redis-server", "--port", "0", "--unixsocket", s.socket(), "--dir", s.dir,
		"--save", "", "--appendonly", "yes", "--appendfsync", "always"}, options...)
	s.cmd = &exec.Cmd{Path: s.program, Args: args, SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	out, err := s.cmd.StdoutPipe()
	check.OK(s.t, err)
	check.OK(s.t, s.cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() { // ends with the process
		if strings.Contains(strings.ToLower(lines.Text()), "ready to accept connections") {
			return
		}
	}
	s.t.Fatal("redis-server did not start: " + lines.Text())
}

func (s *server) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
	_ = os.Remove(s.socket())
}

func (s *server) signal(signal syscall.Signal) { check.OK(s.t, s.cmd.Process.Signal(signal)) }

func (s *server) primary(t testing.TB, answer time.Duration) *outbox.Redis {
	p := outbox.NewRedis(&redis.Options{Network: "unix", Addr: s.socket(), ReadTimeout: answer})
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func (s *server) client(t testing.TB) *redis.Client {
	c := redis.NewClient(&redis.Options{Network: "unix", Addr: s.socket()})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// drained drains until nothing is left here.
func drained(t testing.TB, r *outbox.Relay) {
	t.Helper()
	for tries := 0; ; tries++ {
		did, err := r.Drain(ctx, 0)
		check.OK(t, err)
		left := report(t, r)
		if tries == 5000 {
			t.Fatalf("it does not end: %+v, %+v, %+v", did, left, r.Health())
		}
		if left.LocalReady+left.LocalDelayed+left.LocalHeld == 0 {
			return
		}
		<-time.After(time.Until(r.RetryAt()))
	}
}
