package prismgo

import (
	"context"
	"fmt"
	"time"

	"wq.internal/wq"
)

// Cache is a cache store of bytes with what the framework's atomic, bulk, touch, flush, lock and close
// interfaces ask for; with it unique, debounced, overlapping and rate-limited jobs need no other server.
// Times to live are exact, keys are any bytes up to 480, values up to 1 MiB.
type Cache struct {
	store *wq.Store
	miss  error
	level wq.Durability
}

const (
	cachePrefix = "prismgo:cache:"
	lockPrefix  = "prismgo:lock:"
)

// NewCache returns the cache of a store. miss is the error for a key that is not there. level is how
// durable changes are; 0: wq.Process, which a crash of the process does not undo.
func NewCache(store *wq.Store, miss error, level wq.Durability) *Cache {
	set(&level, wq.Process)
	return &Cache{store: store, miss: miss, level: level}
}

func (c *Cache) kv() wq.KV { return c.store.KV() }

// Get returns a value, or the miss error.
func (c *Cache) Get(ctx context.Context, key string) ([]byte, error) {
	value, _, err := c.GetWithTTL(ctx, key)
	return value, err
}

// GetWithTTL returns a value and how long it will be there; 0: for ever.
func (c *Cache) GetWithTTL(ctx context.Context, key string) ([]byte, time.Duration, error) {
	row, found, err := c.kv().Get(ctx, cachePrefix+key)
	if err != nil {
		return nil, 0, err
	}
	if !found {
		return nil, 0, c.miss
	}
	if row.Expires.IsZero() {
		return row.Value, 0, nil
	}
	return row.Value, max(time.Until(row.Expires), time.Millisecond), nil
}

// options is a TTL as the framework has it: 0 or less is for ever.
func options(ttl time.Duration) wq.RowOptions { return wq.RowOptions{TTL: max(ttl, 0)} }

// Put writes a value for ttl; 0 or less: for ever.
func (c *Cache) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, _, err := c.kv().Put(ctx, cachePrefix+key, value, options(ttl), c.level)
	return err
}

// Forget removes a value; one that is not there is no error.
func (c *Cache) Forget(ctx context.Context, key string) error {
	_, err := c.kv().Erase(ctx, cachePrefix+key, wq.RowOptions{}, c.level)
	return err
}

// Add writes a value if there is none, and reports whether it did. Of many at once one does.
func (c *Cache) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	o := options(ttl)
	o.IfAbsent = true
	_, outcome, err := c.kv().Put(ctx, cachePrefix+key, value, o, c.level)
	return outcome == wq.OK && err == nil, err
}

// Increment adds to a counter and returns the new value; one that is not there counts as 0. The time
// to live of one that is there stays.
func (c *Cache) Increment(ctx context.Context, key string, delta int64) (int64, error) {
	sum, outcome, err := c.kv().Add(ctx, cachePrefix+key, delta, wq.RowOptions{}, c.level)
	if err == nil && outcome != wq.OK {
		err = fmt.Errorf("prismgo: %q is no number, or the sum does not fit", key)
	}
	return sum, err
}

// Hit counts in a fixed window: as Increment by one, but the first hit starts a time to live.
func (c *Cache) Hit(ctx context.Context, key string, window time.Duration) (int64, error) {
	sum, outcome, err := c.kv().Add(ctx, cachePrefix+key, 1, options(window), c.level)
	if err == nil && outcome != wq.OK {
		err = fmt.Errorf("prismgo: %q is no number, or the sum does not fit", key)
	}
	return sum, err
}

// Pull reads a value and removes it, in one step for everybody else: of many at once one gets it.
func (c *Cache) Pull(ctx context.Context, key string) ([]byte, error) {
	var value []byte
	err := again(func() (wq.Outcome, error) {
		row, found, err := c.kv().Get(ctx, cachePrefix+key)
		if err != nil {
			return 0, err
		}
		if !found {
			return 0, c.miss
		}
		value = row.Value
		outcome, err := c.kv().Erase(ctx, row.Key, unchanged(row, true, 0), c.level)
		if outcome == wq.Empty {
			outcome = wq.Conflict // somebody was faster: look again
		}
		return outcome, err
	})
	if err != nil {
		return nil, err
	}
	return value, nil
}

// Touch gives a value a new time to live, and reports whether it is there.
func (c *Cache) Touch(ctx context.Context, key string, ttl time.Duration) (there bool, err error) {
	err = again(func() (wq.Outcome, error) {
		row, found, err := c.kv().Get(ctx, cachePrefix+key)
		if there = found; err != nil || !found {
			return wq.OK, err
		}
		_, outcome, err := c.kv().Put(ctx, row.Key, row.Value, unchanged(row, true, max(ttl, 0)), c.level)
		return outcome, err
	})
	return there, err
}

// GetMany returns the values that are there.
func (c *Cache) GetMany(ctx context.Context, keys []string) (map[string][]byte, error) {
	values := make(map[string][]byte, len(keys))
	for _, key := range keys {
		row, found, err := c.kv().Get(ctx, cachePrefix+key)
		if err != nil {
			return nil, err
		}
		if found {
			values[key] = row.Value
		}
	}
	return values, nil
}

// PutMany writes values for ttl, all or none of up to 10,000.
func (c *Cache) PutMany(ctx context.Context, values map[string][]byte, ttl time.Duration) error {
	var ops []wq.TxnOp
	for key, value := range values {
		ops = append(ops, wq.TxnPut(cachePrefix+key, value, options(ttl)))
	}
	return c.transact(ctx, ops)
}

// ForgetMany removes values, all or none of up to 10,000.
func (c *Cache) ForgetMany(ctx context.Context, keys []string) error {
	var ops []wq.TxnOp
	seen := map[string]bool{}
	for _, key := range keys {
		if !seen[key] {
			ops = append(ops, wq.TxnErase(cachePrefix+key, wq.RowOptions{}))
		}
		seen[key] = true
	}
	return c.transact(ctx, ops)
}

func (c *Cache) transact(ctx context.Context, ops []wq.TxnOp) error {
	if len(ops) == 0 {
		return nil
	}
	_, err := c.store.Transact(ctx, ops, c.level)
	return err
}

// Flush removes the values whose keys begin with `prefix`.
func (c *Cache) Flush(ctx context.Context, prefix string) error {
	return eraseAll(ctx, c.store, cachePrefix+prefix)
}

// Clear removes all values.
func (c *Cache) Clear(ctx context.Context) error { return c.Flush(ctx, "") }

// Acquire takes a lock for ttl (0 or less: until it is released), and reports whether it did. The owner
// of it, by token, takes it again.
func (c *Cache) Acquire(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
	outcome, err := c.store.Lock(ctx, lockPrefix+key, token, max(ttl, 0), c.level)
	return outcome == wq.OK && err == nil, err
}

// Release gives a lock up, and reports whether the token had it.
func (c *Cache) Release(ctx context.Context, key, token string) (bool, error) {
	outcome, err := c.store.Unlock(ctx, lockPrefix+key, token, c.level)
	return outcome == wq.OK && err == nil, err
}

// ForceRelease takes a lock away from whoever has it.
func (c *Cache) ForceRelease(ctx context.Context, key string) error {
	_, err := c.kv().Erase(ctx, lockPrefix+key, wq.RowOptions{}, c.level)
	return err
}

// FlushLocks takes all locks away whose keys begin with `prefix`.
func (c *Cache) FlushLocks(ctx context.Context, prefix string) error {
	return eraseAll(ctx, c.store, lockPrefix+prefix)
}

// Close does nothing: the store is its owner's to close.
func (c *Cache) Close() error { return nil }
