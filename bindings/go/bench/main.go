// Command bench measures what Go adds to the library: ns per single operation, and jobs per second
// through a whole life (enqueue, lease, ack) in batches. One line of JSON; the counts are checked.
//
//	bench [-jobs N] [-batch N] [-level memory|power] [-producers N] DIRECTORY
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"wq.internal/wq"
)

type result struct {
	Language      string  `json:"language"`
	Level         string  `json:"level"`
	Jobs          int     `json:"jobs"`
	Batch         int     `json:"batch"`
	Producers     int     `json:"producers"`
	PayloadBytes  int     `json:"payload_bytes"`
	EnqueueNs     float64 `json:"enqueue_one_ns"`
	LeaseNs       float64 `json:"lease_one_ns"`
	AckNs         float64 `json:"ack_one_ns"`
	JobsPerSecond float64 `json:"pipelined_jobs_per_second"`
	Enqueued      int     `json:"enqueued"`
	Delivered     int     `json:"delivered"`
}

var ctx = context.Background()

const payloadBytes = 100

func main() {
	jobs := flag.Int("jobs", 100000, "jobs of the pipelined part")
	batch := flag.Int("batch", 100, "jobs in one call")
	level := flag.String("level", "memory", "memory or power")
	producers := flag.Int("producers", 4, "goroutines on each side")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: bench [flags] DIRECTORY")
	}
	durability := map[string]wq.Durability{"memory": wq.Memory, "process": wq.Process, "power": wq.Power}[*level]
	r := result{Language: "go", Level: *level, Jobs: *jobs, Batch: *batch, Producers: *producers, PayloadBytes: payloadBytes}
	store, err := wq.Open(filepath.Join(flag.Arg(0), "bench"), nil)
	check(err)
	defer store.Close()
	queue, err := store.Queue(ctx, "bench", &wq.Config{Durability: &durability})
	check(err)
	defer queue.Close()
	r.single(queue, durability)
	r.pipelined(queue, durability)
	check(json.NewEncoder(os.Stdout).Encode(r))
	if r.Delivered != r.Enqueued {
		log.Fatalf("%d enqueued, %d delivered", r.Enqueued, r.Delivered)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// single times one operation after another.
func (r *result) single(q *wq.Queue, level wq.Durability) {
	n := 20000
	if level != wq.Memory {
		n = 200
	}
	payload := make([]byte, payloadBytes)
	begin := time.Now()
	for range n {
		_, err := q.Enqueue(ctx, wq.Spec{Payload: payload}, level)
		check(err)
	}
	r.EnqueueNs = float64(time.Since(begin).Nanoseconds()) / float64(n)
	jobs := make([]*wq.Job, 0, n)
	begin = time.Now()
	for len(jobs) < n {
		got, _, err := q.Lease(ctx, wq.LeaseOptions{}, level)
		check(err)
		jobs = append(jobs, got...)
	}
	r.LeaseNs = float64(time.Since(begin).Nanoseconds()) / float64(n)
	begin = time.Now()
	for _, job := range jobs {
		outcome, err := job.Ack(ctx, level)
		check(err)
		if outcome != wq.OK {
			check(fmt.Errorf("ack: %v", outcome))
		}
	}
	r.AckNs = float64(time.Since(begin).Nanoseconds()) / float64(n)
}

// pipelined runs producers and consumers at once.
func (r *result) pipelined(q *wq.Queue, level wq.Durability) {
	var all sync.WaitGroup
	var enqueued, delivered atomic.Int64
	perProducer := (r.Jobs/r.Producers + r.Batch - 1) / r.Batch
	total := int64(perProducer * r.Producers * r.Batch)
	done, finish := context.WithCancel(ctx)
	begin := time.Now()
	for range r.Producers {
		all.Add(2)
		go func() {
			defer all.Done()
			specs := make([]wq.Spec, r.Batch)
			payload := make([]byte, payloadBytes)
			for i := range specs {
				specs[i].Payload = payload
			}
			for range perProducer {
				many, err := q.EnqueueMany(ctx, specs, level)
				check(err)
				enqueued.Add(int64(many.Accepted))
			}
		}()
		go func() {
			defer all.Done()
			for {
				jobs, _, err := q.Lease(done, wq.LeaseOptions{Max: r.Batch, Wait: wq.Forever}, level)
				if done.Err() != nil {
					return
				}
				check(err)
				items := make([]wq.Settlement, len(jobs))
				for i, job := range jobs {
					items[i] = wq.Settlement{Kind: wq.SettleAck, Token: job.Token}
				}
				_, err = q.SettleMany(ctx, items, level)
				check(err)
				if delivered.Add(int64(len(jobs))) == total {
					finish()
				}
			}
		}()
	}
	all.Wait()
	finish()
	r.Enqueued, r.Delivered = int(enqueued.Load()), int(delivered.Load())
	r.JobsPerSecond = float64(r.Delivered) / time.Since(begin).Seconds()
}
