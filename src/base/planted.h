// Planted bugs: a build with WQ_PLANTED=ON has one hook at each barrier and check of wq, and the
// environment variable WQ_PLANTED=name switches one of them off. The tests must notice: `make
// planted` tries all of planted.def. In every other build the hook is the constant false and
// nothing of it is left in the library.
//
// Hooks stand in .cc files only: headers are compiled into the tests as well, which know nothing of
// them. Thread model: the choice is made before main() and never changes.
#pragma once

#ifdef WQ_WITH_PLANTED

#include <cstdint>

namespace wq {

enum class Plant : uint8_t {
  none,
#define X(name, breaks, rule) name,
#include "base/planted.def"
#undef X
};

extern const Plant planted;

}  // namespace wq

#define WQ_PLANTED(name) (::wq::planted == ::wq::Plant::name)

#else

#define WQ_PLANTED(name) false

#endif
