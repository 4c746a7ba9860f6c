package wq

// Backups: a copy of an open store as of one moment, its check, and a store made from it.

// #include "shim.h"
import "C"

import (
	"context"
	"strings"
	"time"
)

// BackupReport is what a backup has, and how long the call took.
type BackupReport struct {
	LSN           uint64 // it has every change up to here, and none behind
	CheckpointLSN uint64
	Files, Bytes  uint64
	CreatedAt     time.Time
	Elapsed       time.Duration
}

// Backup copies the open store into `directory`, which is made, or is there and empty. Producers and
// workers go on meanwhile. The end of ctx stops it with the error of ctx. Whatever goes wrong, the
// store is not harmed. It holds a thread while it runs.
func (s *Store) Backup(ctx context.Context, directory string) (BackupReport, error) {
	const op = "backup"
	return backup(ctx, op, s.core, func(a *arena, o *C.wq_backup_options, r *C.wq_backup_report) (Outcome, error) {
		if err := pathError(op, directory); err != nil {
			return 0, err
		}
		path := a.cString(directory)
		return s.core.read(ctx, op, a, func(f *C.wqgo_frame) C.int32_t {
			return C.wq_store_backup(s.core.handle, path, o, r, &f.err)
		})
	})
}

// VerifyBackup checks the backup in `directory`: it is complete, and each byte is as it was written.
func VerifyBackup(ctx context.Context, directory string) (BackupReport, error) {
	const op = "backup_verify"
	return backup(ctx, op, &core{}, func(a *arena, o *C.wq_backup_options, r *C.wq_backup_report) (Outcome, error) {
		if err := pathError(op, directory); err != nil {
			return 0, err
		}
		return answer(op, a, C.wq_backup_verify(a.cString(directory), o, r, &a.frame.err))
	})
}

// RestoreBackup makes the store `path`, where nothing or an empty directory is, from the backup in
// `directory`. The whole backup is checked first; a failure leaves no store.
func RestoreBackup(ctx context.Context, directory, path string) (BackupReport, error) {
	const op = "backup_restore"
	return backup(ctx, op, &core{}, func(a *arena, o *C.wq_backup_options, r *C.wq_backup_report) (Outcome, error) {
		if err := pathError(op, directory+path); err != nil {
			return 0, err
		}
		return answer(op, a, C.wq_backup_restore(a.cString(directory), a.cString(path), o, r, &a.frame.err))
	})
}

func pathError(op, path string) error {
	if strings.IndexByte(path, 0) >= 0 {
		return codeError(op, ErrInvalid, "path has a NUL byte")
	}
	return nil
}

func answer(op string, a *arena, code C.int32_t) (Outcome, error) {
	if code < 0 {
		return 0, newError(op, &a.frame.err)
	}
	return Outcome(code), nil
}

func backup(ctx context.Context, op string, c *core,
	do func(*arena, *C.wq_backup_options, *C.wq_backup_report) (Outcome, error)) (BackupReport, error) {
	a := getArena()
	defer a.put()
	o, r := one[C.wq_backup_options](a), one[C.wq_backup_report](a)
	o.struct_size, r.struct_size = C.sizeof_wq_backup_options, C.sizeof_wq_backup_report
	outcome, err := c.cancellable(ctx, op, nil, func(cancel *C.wq_cancel) (Outcome, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		o.cancel = cancel
		return do(a, o, r)
	})
	if err == nil && outcome == Cancelled {
		if err = ctx.Err(); err == nil {
			err = closedError(op)
		}
	}
	return BackupReport{
		LSN: uint64(r.lsn), CheckpointLSN: uint64(r.checkpoint_lsn), Files: uint64(r.files),
		Bytes: uint64(r.bytes), CreatedAt: fromMillis(r.created_ms), Elapsed: duration(r.elapsed_ms),
	}, err
}
