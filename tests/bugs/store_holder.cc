// Opens a store, says so on standard output, and holds it until standard input ends or it is
// killed: the other process of bug case 43. Usage: store_holder DIRECTORY
#include <cstdio>

#include "base/clock.h"
#include "engine/engine.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  wq::Result<std::unique_ptr<wq::Io>> io = wq::make_io();
  if (!io.ok()) return 3;
  wq::EngineOptions options;
  options.directory = argv[1];
  wq::Environment environment;
  environment.io = io.value().get();
  environment.clock = &wq::system_clock();
  wq::Result<std::unique_ptr<wq::Engine>> engine = wq::Engine::open(options, environment);
  if (!engine.ok()) {
    std::fprintf(stderr, "%s\n", engine.status().message().c_str());
    return 4;
  }
  wq::CallOptions call;
  const wq::Result<wq::QueueId> queue = engine.value()->open_queue("q", {}, 0, true, call);
  wq::JobSpec spec;
  wq::JobId id = 0;
  if (!queue.ok() || !engine.value()->enqueue(queue.value(), spec, call, id).ok()) return 5;
  std::printf("open\n");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return engine.value()->close().ok() ? 0 : 6;
}
