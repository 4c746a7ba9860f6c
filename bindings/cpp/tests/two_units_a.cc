// two_units_a.cc: wq.hpp in two units of one program, without exceptions and run-time types.
#include <wq.hpp>

std::size_t units_b();

int main() {
  const wq::Error error(wq::Errc::full);
  return error.retryable() && units_b() == sizeof(wq::Store) ? 0 : 1;
}
