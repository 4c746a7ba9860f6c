package outbox

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redis is Redis as the primary.
type Redis struct {
	client *redis.Client
	name   string
	hashes map[string]string // of scripts; one goroutine at a time
}

// NewRedis makes the client. A connection is made when it is needed. Of the options, times that are
// 0 are 500 ms to connect and 1 s for an answer, and nothing is ever sent twice by the client
// itself: MaxRetries does not count.
func NewRedis(options *redis.Options) *Redis {
	o := *options
	o.MaxRetries = -1
	o.ContextTimeoutEnabled = true
	o.DisableIdentity = true
	if o.DialTimeout == 0 {
		o.DialTimeout = 500 * time.Millisecond
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = time.Second
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = time.Second
	}
	client := redis.NewClient(&o)
	return &Redis{client: client, name: "redis " + client.Options().Addr + ": ", hashes: map[string]string{}}
}

var _ Primary = (*Redis)(nil)

// Close closes its connections.
func (r *Redis) Close() error { return r.client.Close() }

// Send sends the requests in one write.
func (r *Redis) Send(ctx context.Context, requests []Request) []Answer {
	answers := make([]Answer, len(requests))
	all := make([]int, len(requests))
	for i := range all {
		all[i] = i
	}
	// A server that has lost its scripts, or never had them, does nothing but say so.
	unloaded := r.send(ctx, requests, all, answers)
	if len(unloaded) == 0 {
		return answers
	}
	seen := map[string]bool{}
	for _, i := range unloaded {
		script := requests[i].Script
		if seen[script] {
			continue
		}
		seen[script] = true
		if err := r.client.ScriptLoad(ctx, script).Err(); err != nil {
			for _, i := range unloaded {
				answers[i] = Answer{Unavailable, r.name + err.Error()}
			}
			return answers
		}
	}
	r.send(ctx, requests, unloaded, answers)
	return answers
}

// send sends those requests, and returns the ones whose script the server does not have.
func (r *Redis) send(ctx context.Context, requests []Request, which []int, answers []Answer) (unloaded []int) {
	pipe := r.client.Pipeline()
	calls := make([]*redis.Cmd, len(which))
	for n, i := range which {
		arguments := make([]any, len(requests[i].Arguments))
		for a, argument := range requests[i].Arguments {
			arguments[a] = argument
		}
		calls[n] = pipe.EvalSha(ctx, r.hash(requests[i].Script), requests[i].Keys, arguments...)
	}
	_, failure := pipe.Exec(ctx)
	for n, i := range which {
		answers[i] = r.answer(calls[n], failure)
		if err := calls[n].Err(); calls[n].Val() == nil && err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
			unloaded = append(unloaded, i)
		}
	}
	return unloaded
}

func (r *Redis) hash(script string) string {
	hash, found := r.hashes[script]
	if !found {
		sum := sha1.Sum([]byte(script))
		hash = hex.EncodeToString(sum[:])
		r.hashes[script] = hash
	}
	return hash
}

// answer goes by the value first: the client gives the error of the first call of a pipeline to
// those behind it that have none, though they were answered; and one that it never sent may have no
// error of its own, then failure is that of the whole.
func (r *Redis) answer(call *redis.Cmd, failure error) Answer {
	if number, ok := call.Val().(int64); ok {
		if number == 1 {
			return Answer{Verdict: Applied}
		}
		return Answer{Verdict: Known}
	}
	err := call.Err()
	if err == nil {
		err = failure
	}
	if err == nil {
		return Answer{Rejected, r.name + "an answer of an unknown kind"}
	}
	text := r.name + err.Error()
	var said redis.Error
	var operation *net.OpError
	switch {
	case errors.As(err, &said):
		if isPassing(err.Error()) {
			return Answer{Unavailable, text}
		}
		return Answer{Rejected, text}
	case errors.As(err, &operation) && operation.Op == "dial", errors.Is(err, redis.ErrPoolTimeout),
		errors.Is(err, redis.ErrClosed):
		return Answer{Unavailable, text}
	}
	return Answer{Unknown, text}
}

// passingWords begin errors of a server in a state that ends, or of a configuration that somebody
// will mend: nothing was done, and later it may be. Before Redis 7 the word of an error in a script
// stands further back, behind a minus.
var passingWords = []string{"OOM", "LOADING", "BUSY", "READONLY", "MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN",
	"NOREPLICAS", "MISCONF", "NOAUTH", "WRONGPASS", "NOPERM", "NOSCRIPT", "MOVED"}

func isPassing(text string) bool {
	first, _, _ := strings.Cut(text, " ")
	for _, word := range passingWords {
		if first == word || strings.Contains(text, "-"+word+" ") {
			return true
		}
	}
	return false
}
