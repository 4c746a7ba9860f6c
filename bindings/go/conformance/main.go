// Command conformance runs a script of tests/conformance through the Go surface and prints the
// results: conformance DIRECTORY FILE.ops. Exit 0: the script was run to its end; 2: it could not be.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"wq.internal/wq"
)

var ctx = context.Background()

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: conformance DIRECTORY FILE.ops")
		os.Exit(2)
	}
	script, err := os.ReadFile(os.Args[2])
	if err == nil {
		out := bufio.NewWriter(os.Stdout)
		err = run(os.Args[1], string(script), out)
		err = errors.Join(err, out.Flush())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// named is what a name of a script stands for.
type named struct {
	queue string // name of the handle
	token wq.Token
	kept  bool // by keep or forge: later calls do not change the generation
}

// begun is an operation under way.
type begun struct {
	pending *wq.Pending
	tell    func(late error)
}

type runner struct {
	dir        string
	out        *bufio.Writer
	store      *wq.Store
	events     *wq.EventReader
	queues     map[string]*wq.Queue
	names      map[string]*named
	firstNames map[uint64]string
	flows      map[string]uint64
	flowNames  map[uint64]string
	versions   map[string]uint64
	calls      map[string]begun
	parts      []*line
}

func run(dir, script string, out io.Writer) (err error) {
	r := &runner{
		dir: dir, out: bufio.NewWriter(out), queues: map[string]*wq.Queue{}, names: map[string]*named{},
		firstNames: map[uint64]string{}, flows: map[string]uint64{}, flowNames: map[uint64]string{},
		versions: map[string]uint64{}, calls: map[string]begun{},
	}
	defer r.out.Flush()
	defer func() {
		if r.store != nil {
			_ = r.store.Close()
		}
	}()
	for i, text := range strings.Split(script, "\n") {
		if strings.TrimSpace(text) == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if err := r.line(text); err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return nil
}

func (r *runner) line(text string) (err error) {
	defer func() {
		if f, ok := recover().(fault); ok {
			err = f.error
		}
	}()
	l, err := parseLine(text)
	if err != nil {
		return err
	}
	if l.op == "+" {
		r.parts = append(r.parts, l)
		return nil
	}
	do, known := operations[l.op]
	if !known {
		return fmt.Errorf("no operation %q", l.op)
	}
	do(r, l)
	r.parts = nil
	return nil
}

// operations is every op of the table.
var operations map[string]func(*runner, *line)

func init() {
	operations = map[string]func(*runner, *line){}
	for _, table := range []map[string]func(*runner, *line){storeOps, queueOps, jobOps, settleOps, otherOps} {
		for name, do := range table {
			operations[name] = do
		}
	}
}

func (r *runner) queue(l *line) *wq.Queue { return r.handle(l.need("q")) }

func (r *runner) handle(name string) *wq.Queue {
	q, known := r.queues[name]
	if !known {
		stop("no queue %q", name)
	}
	return q
}

// job finds what job= names, and the queue of it.
func (r *runner) job(l *line) (*wq.Queue, wq.Token) {
	n := r.named(l.need("job"))
	name := n.queue
	if l.has("q") {
		name = l.get("q")
	}
	return r.handle(name), n.token
}

func (r *runner) named(name string) *named {
	n, known := r.names[name]
	if !known {
		stop("no job %q", name)
	}
	return n
}

func (r *runner) bind(name, queue string, id uint64) {
	if name == "" {
		return
	}
	r.names[name] = &named{queue: queue, token: wq.Token{ID: id}}
	if _, known := r.firstNames[id]; !known {
		r.firstNames[id] = name
	}
}

func (r *runner) flow(l *line) uint64 {
	if !l.has("flow") {
		return 0
	}
	flow, known := r.flows[l.get("flow")]
	if !known {
		stop("no flow %q", l.get("flow"))
	}
	return flow
}

// options reads durability= of a call.
func options(l *line) []wq.CallOption {
	if !l.has("durability") {
		return nil
	}
	return []wq.CallOption{word[wq.Durability](l.get("durability"), durabilityNames)}
}

// later runs an operation, now or begun; tell prints what became of it, given an error that came with
// the durability.
func (r *runner) later(l *line, do func(opts []wq.CallOption) (tell func(late error))) {
	opts := options(l)
	if !l.has("async") {
		do(opts)(nil)
		return
	}
	b := begun{pending: &wq.Pending{}}
	b.tell = do(append(opts, b.pending))
	r.calls[l.get("async")] = b
	r.print("begun")
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))
