// Command producer puts each line of standard input into a queue as a job, a hundred with one call,
// and ends when all of them survive power loss: producer STORE < lines
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"

	"wq.internal/wq"
)

const linesPerCall = 100

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: producer STORE < lines")
	}
	n, err := produce(context.Background(), os.Args[1], bufio.NewScanner(os.Stdin))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("enqueued", n)
}

func produce(ctx context.Context, path string, lines *bufio.Scanner) (n int, err error) {
	store, err := wq.Open(path, nil)
	if err != nil {
		return 0, err
	}
	defer store.Close()
	queue, err := store.Queue(ctx, "lines", nil)
	if err != nil {
		return 0, err
	}
	defer queue.Close()
	var batch []wq.Spec
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		many, err := queue.EnqueueMany(ctx, batch)
		n += many.Accepted
		batch = batch[:0]
		return err
	}
	for lines.Scan() {
		batch = append(batch, wq.Spec{
			Payload: append([]byte(nil), lines.Bytes()...),
			Headers: []wq.Header{{Name: "type", Value: []byte("print")}},
		})
		if len(batch) == linesPerCall {
			if err := flush(); err != nil {
				return n, err
			}
		}
	}
	if err := flush(); err != nil {
		return n, err
	}
	return n, lines.Err()
}
