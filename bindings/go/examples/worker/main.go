// Command worker prints the jobs that the producer made, four at once, until it is interrupted, or
// with -until-empty until there are no more: worker [-until-empty] STORE
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"wq.internal/wq"
)

func main() {
	untilEmpty := flag.Bool("until-empty", false, "end when no job is ready")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: worker [-until-empty] STORE")
	}
	// The first signal stops in an orderly way: handlers that run may end, no new job begins.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := work(ctx, flag.Arg(0), *untilEmpty); err != nil {
		log.Fatal(err)
	}
}

func work(ctx context.Context, path string, untilEmpty bool) error {
	store, err := wq.Open(path, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	queue, err := store.Queue(context.Background(), "lines", nil)
	if err != nil {
		return err
	}
	defer queue.Close()
	worker, err := wq.NewWorker(wq.WorkerOptions{
		Queues:        []*wq.Queue{queue},
		Concurrency:   4,
		StopWhenEmpty: untilEmpty,
		Handlers: map[string]wq.Handler{
			"print": func(_ context.Context, job *wq.Job) error {
				if len(job.Payload) == 0 {
					return wq.Permanent(errors.New("an empty line"))
				}
				_, err := fmt.Printf("%s\n", job.Payload)
				return err // nil: done; else tried again later
			},
		},
	})
	if err != nil {
		return err
	}
	if err := worker.Run(ctx); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "done %d, failed %d\n", worker.Stats().Acked, worker.Stats().Failed)
	return nil
}
