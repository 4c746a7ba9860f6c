package wq_test

import (
	"bytes"
	"fmt"
	"testing"

	"wq.internal/wq"
)

// fill is n bytes that only this job has.
func fill(job, n int) []byte { return bytes.Repeat([]byte{byte(job + 1)}, n) }

func TestLeaseInto(t *testing.T) {
	_, q := fresh(t, nil)
	// Small and large ones by turns, over what a block takes and over what a buffer keeps.
	sizes := []int{100, 0, 3000, 17, 2 << 20, 40000, 1, 300000, 5}
	var buffer wq.JobBuffer
	var before *wq.Job
	for round := range 4 {
		for i, n := range sizes {
			push(t, q, wq.Spec{Payload: fill(i, n), Group: fmt.Sprint("g", i),
				Headers: []wq.Header{{Name: "size", Value: []byte(fmt.Sprint(n))}}})
		}
		push(t, q, wq.Spec{}) // nothing of an earlier job shows through
		jobs, outcome, err := q.Lease(ctx, wq.LeaseOptions{Max: 20, Into: &buffer})
		ok(t, err)
		equal(t, outcome, wq.OK)
		equal(t, len(jobs), len(sizes)+1)
		for i, n := range sizes {
			equal(t, bytes.Equal(jobs[i].Payload, fill(i, n)), true)
			equal(t, string(jobs[i].Header("size")), fmt.Sprint(n))
			equal(t, jobs[i].Group, fmt.Sprint("g", i))
		}
		last := jobs[len(sizes)]
		equal(t, len(last.Payload)+len(last.Headers), 0)
		equal(t, last.Group, "")
		equal(t, last.From(), q)
		if round > 0 {
			equal(t, jobs[0], before) // it is the same memory
		}
		before = jobs[0]
		_, err = q.AckMany(ctx, jobs, wq.Memory)
		ok(t, err)
		clear(jobs) // what the caller does to its slice is forgotten
	}
	jobs, outcome, err := q.Lease(ctx, wq.LeaseOptions{Into: &buffer})
	ok(t, err)
	equal(t, outcome, wq.Empty)
	equal(t, len(jobs), 0)
}

func TestLeaseIntoMakesNoGarbage(t *testing.T) {
	_, q := fresh(t, nil)
	const most, runs = 200, 20
	specs := make([]wq.Spec, most)
	for i := range specs {
		specs[i] = wq.Spec{Payload: fill(i, 100)}
	}
	var buffer wq.JobBuffer
	perTurn := testing.AllocsPerRun(runs, func() {
		_, err := q.EnqueueMany(ctx, specs, wq.Memory)
		ok(t, err)
		jobs, _, err := q.Lease(ctx, wq.LeaseOptions{Max: most, Into: &buffer}, wq.Memory)
		ok(t, err)
		equal(t, len(jobs), most)
		_, err = q.AckMany(ctx, jobs, wq.Memory)
		ok(t, err)
	})
	if perTurn > most/4 {
		t.Errorf("%v allocations for the lives of %d jobs", perTurn, most)
	}
}
