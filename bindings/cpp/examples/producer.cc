// producer: puts each line of standard input into a queue as one job.
//
//   producer STORE QUEUE < lines.txt
//
// Changes go through a completion queue, up to 1,000 under way; "N jobs" is printed when all of
// them are on the device.
#include <cstdio>
#include <deque>
#include <iostream>
#include <string>
#include <wq.hpp>

namespace {

constexpr std::size_t under_way_max = 1000;

int run(const std::string& path, const std::string& name) {
  const wq::Store store = wq::Store::open(path).value();
  const wq::Queue queue = store.queue(name).value();
  const wq::Completions completions = wq::Completions::open(store).value();
  std::deque<wq::Pending<wq::Result<wq::Enqueued>>> under_way;
  std::size_t jobs = 0;
  const auto finish_one = [&] {
    under_way.front().wait().value();
    under_way.pop_front();
    jobs++;
  };
  for (std::string line; std::getline(std::cin, line);) {
    under_way.push_back(completions.enqueue(queue, line));
    if (under_way.size() == under_way_max) finish_one();
  }
  while (!under_way.empty()) finish_one();
  std::printf("%zu jobs\n", jobs);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s STORE QUEUE\n", argv[0]);
    return 2;
  }
  try {
    return run(argv[1], argv[2]);
  } catch (const wq::Exception& error) {
    std::fprintf(stderr, "producer: %s\n", error.what());
    return 1;
  }
}
