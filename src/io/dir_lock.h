// One opener per directory: an OS lock on the file LOCK, and a registry for openers within the
// process.
//
// The lock is flock() on an O_CLOEXEC descriptor: the kernel drops it when the process dies, so a
// left-over LOCK file blocks nothing, and closing some other descriptor of the file does not drop
// it, as it would with POSIX record locks. The pid and start time inside are for the message only.
// The registry is keyed by device and inode of the directory, so that a symlink, a bind mount or a
// relative path does not hide that it is the same one.
//
// A forked child shares the locked descriptor: the directory stays locked until the child, too, has
// closed it (by exec or exit). The child must not use what it inherited; the engine remembers its
// pid. Thread model: any thread.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "io/io.h"

namespace wq {

// LOCKED with the owner's pid; NOT_FOUND when there is no such directory. A refused caller has
// changed no file.
Result<std::unique_ptr<DirLock>> acquire_dir_lock(const std::string& directory);

}  // namespace wq
