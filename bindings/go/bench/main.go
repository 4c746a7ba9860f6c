// Command bench puts jobs through their whole life (enqueue, lease, ack), to be compared with
// bench/bindings/life.c by bench/run.sh BUILD_DIR --bindings.
//
//	bench LEVEL BATCH JOBS DIRECTORY      one line of JSON; LEVEL: memory or power
//
// 32 changes may be under way; leases are at the memory level. Exit 1 if not every job was delivered
// with its payload and acked once.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"wq.internal/wq"
)

const (
	underWayMax  = 32
	payloadBytes = 100
)

var ctx = context.Background()

type result struct {
	Language  string  `json:"language"`
	Level     string  `json:"level"`
	Batch     int     `json:"batch"`
	Jobs      int     `json:"jobs"`
	Seconds   float64 `json:"seconds"`
	Delivered int     `json:"delivered"`
	Acked     uint64  `json:"acked"`
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: bench memory|power BATCH JOBS DIRECTORY")
		os.Exit(2)
	}
	r := result{Language: "go", Level: os.Args[1], Batch: number(os.Args[2])}
	r.Jobs = number(os.Args[3]) / r.Batch * r.Batch
	store, err := wq.Open(os.Args[4], nil)
	check(err)
	queue, err := store.Queue(ctx, "life", nil)
	check(err)
	b := &bench{queue: queue, level: wq.Memory, batch: r.Batch, payload: bytes.Repeat([]byte("x"), payloadBytes)}
	if r.Level == "power" {
		b.level = wq.Power
	}
	for range r.Batch {
		b.specs = append(b.specs, wq.Spec{Payload: b.payload})
	}
	start := time.Now()
	for made := 0; made < r.Jobs; made += r.Batch {
		b.enqueue()
		r.Delivered += b.consume()
	}
	b.settleDown(0)
	r.Seconds = time.Since(start).Seconds()
	stats, err := queue.Stats(ctx)
	check(err)
	r.Acked = stats.Acked
	check(store.Close())
	check(json.NewEncoder(os.Stdout).Encode(r))
	if r.Delivered != r.Jobs || r.Acked != uint64(r.Jobs) {
		os.Exit(1)
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	check(err)
	return n
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

type bench struct {
	queue    *wq.Queue
	level    wq.Durability
	batch    int
	payload  []byte
	specs    []wq.Spec
	underWay []*wq.Pending // the oldest first
	leased   wq.JobBuffer
}

// settleDown waits for the oldest changes, until so many are left.
func (b *bench) settleDown(left int) {
	for len(b.underWay) > left {
		check(b.underWay[0].Wait(ctx))
		b.underWay = b.underWay[1:]
	}
}

func (b *bench) begin() *wq.Pending {
	b.settleDown(underWayMax - 1)
	p := &wq.Pending{}
	b.underWay = append(b.underWay, p)
	return p
}

func (b *bench) enqueue() {
	if b.batch == 1 {
		_, err := b.queue.Enqueue(ctx, b.specs[0], b.level, b.begin())
		check(err)
		return
	}
	_, err := b.queue.EnqueueMany(ctx, b.specs, b.level, b.begin())
	check(err)
}

// consume leases, looks at each job and acks: how many there were.
func (b *bench) consume() int {
	jobs, _, err := b.queue.Lease(ctx, wq.LeaseOptions{Max: b.batch, Into: &b.leased}, wq.Memory)
	check(err)
	for _, job := range jobs {
		if !bytes.Equal(job.Payload, b.payload) {
			log.Fatal("a payload is not what it was")
		}
	}
	if b.batch == 1 {
		_, err = jobs[0].Ack(ctx, b.level, b.begin())
		check(err)
		return 1
	}
	_, err = b.queue.AckMany(ctx, jobs, b.level, b.begin())
	check(err)
	return len(jobs)
}
