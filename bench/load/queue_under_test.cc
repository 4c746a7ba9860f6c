#include "queue_under_test.h"

#include "support.h"

namespace wq::bench {

const char* durability_name(Durability durability) {
  switch (durability) {
    case Durability::memory:
      return "memory";
    case Durability::process:
      return "process";
    case Durability::power:
      return "power";
  }
  fail("unknown durability");
}

Durability parse_durability(const std::string& name) {
  for (const Durability level : {Durability::memory, Durability::process, Durability::power}) {
    if (name == durability_name(level)) return level;
  }
  fail("unknown durability '" + name + "'; use memory, process or power");
}

std::unique_ptr<QueueUnderTest> open_queue(const std::string& system,
                                           const QueueSettings& settings) {
  if (system == "wq") return open_wq(settings);
  if (system == "rocksdb") return open_rocksdb_peer(settings);
  if (system == "sqlite") return open_sqlite_peer(settings);
  fail("unknown system '" + system + "'; use wq, rocksdb or sqlite");
}

}  // namespace wq::bench
