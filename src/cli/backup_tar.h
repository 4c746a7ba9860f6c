// A backup as one tar file: plain, without compression, which is for other programs to do. What is
// read may be anybody's: only regular files with the names that a backup has are taken, each once,
// none through a link, and none with holes, so that what is written is never more than was read.
// Thread model: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace wq::cli {

// Called with the bytes moved so far; throws to stop.
using TarProgress = std::function<void(uint64_t bytes)>;

// Writes the files of the backup in `directory` to a descriptor, the manifest first.
void write_tar(const std::string& directory, int fd, const TarProgress& progress);

// Reads a tar from a descriptor into `directory`, which is empty. A usage or storage Failure for
// what is no tar of a backup.
void read_tar(int fd, const std::string& directory, const TarProgress& progress);

}  // namespace wq::cli
