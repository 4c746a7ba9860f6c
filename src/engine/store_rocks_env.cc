// The environment that RocksDB's files are touched through. It adds one barrier of ours. RocksDB
// syncs a new manifest's bytes, then renames CURRENT to point at it, and syncs the directory only
// after both: a crash may keep the second name and lose the first, since a directory's names reach
// the disk in any order (R7), and the database could not be opened ever after. So the directory is
// synced before CURRENT changes.
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "engine/store_rocks_internal.h"

#include "base/planted.h"

namespace wq {
namespace {

class NamesFirst final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;

  const char* Name() const override { return "wq"; }

  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override {
    if (to.ends_with("/CURRENT") && !WQ_PLANTED(manifest_name_unsynced)) {
      std::unique_ptr<rocksdb::FSDirectory> directory;
      rocksdb::IOStatus synced =
          target()->NewDirectory(to.substr(0, to.rfind('/')), options, &directory, context);
      if (synced.ok()) synced = directory->Fsync(options, context);
      if (!synced.ok()) return synced;
    }
    return target()->RenameFile(from, to, options, context);
  }
};

class NamesFirstEnv final : public rocksdb::EnvWrapper {
 public:
  explicit NamesFirstEnv(rocksdb::Env* base) : EnvWrapper(base) {
    file_system_ = std::make_shared<NamesFirst>(base->GetFileSystem());
    system_clock_ = base->GetSystemClock();
  }
};

}  // namespace

std::unique_ptr<rocksdb::Env> make_rocks_env(rocksdb::Env& base) {
  return std::make_unique<NamesFirstEnv>(&base);
}

}  // namespace wq
