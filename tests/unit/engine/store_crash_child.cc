// The process that store_crash_test kills. Commits numbered checkpoints into the store of argv[1],
// by both roads in turn, and writes each number to standard output once commit() has returned. Each
// checkpoint writes its number into four families, appends rows and erases the ones of an older
// number.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/codec.h"
#include "engine/store.h"

namespace wq {
namespace {

// Rows that each checkpoint appends, and how many checkpoints they live.
constexpr uint64_t rows_each = 20;
constexpr uint64_t life = 5;

std::string row_key(uint64_t number, uint64_t row) {
  std::string key = "r";
  put_be64(key, number);
  put_be64(key, row);
  return key;
}

Status write_checkpoint(Store& store, uint64_t number) {
  const bool by_files = number % 3 == 0;
  WQ_TRY_SET(const auto checkpoint, store.begin_checkpoint(by_files ? 1'000'000 : 1));
  const std::string value = std::to_string(number);
  for (const Family family : {Family::meta, Family::job, Family::ready, Family::lease}) {
    WQ_TRY(checkpoint->put(family, "last", value));
    if (number > life) {
      WQ_TRY(checkpoint->erase_range(family, row_key(number - life, 0),
                                     row_key(number - life, rows_each)));
    }
    for (uint64_t row = 0; row < rows_each; ++row) {
      WQ_TRY(checkpoint->put(family, row_key(number, row), value));
    }
  }
  return checkpoint->commit();
}

Status run(const std::string& directory) {
  StoreOptions options;
  options.directory = directory + "/db";
  options.temp_directory = directory + "/tmp";
  WQ_TRY_SET(const auto store, open_rocks_store(options));
  WQ_TRY_SET(const auto last, store->get(Family::meta, "last"));
  uint64_t number = last ? std::strtoull(last->c_str(), nullptr, 10) : 0;
  for (;;) {
    WQ_TRY(write_checkpoint(*store, ++number));
    if (write(STDOUT_FILENO, &number, sizeof number) != sizeof number) return {};
  }
}

}  // namespace
}  // namespace wq

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const wq::Status status = wq::run(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "store_crash_child: %s\n", status.message().c_str());
  return 1;
}
