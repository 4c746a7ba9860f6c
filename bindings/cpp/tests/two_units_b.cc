// two_units_b.cc: see two_units_a.cc.
#include <wq.hpp>

std::size_t units_b();
std::size_t units_b() {
  return sizeof(wq::Store);
}
