// Reads the choice; empty in a build without plants. A name that nobody knows ends the program: a
// test run that breaks nothing would pass for one that noticed nothing.
#include "base/planted.h"

#ifdef WQ_WITH_PLANTED

#include <cstdlib>
#include <string>

#include "base/check.h"

namespace wq {
namespace {

struct PlantName {
  Plant plant;
  const char* name;
};

constexpr PlantName plant_names[] = {
#define X(name, breaks, rule) {Plant::name, #name},
#include "base/planted.def"
#undef X
};

Plant read_choice() {
  const char* const asked = std::getenv("WQ_PLANTED");
  if (asked == nullptr || *asked == '\0') return Plant::none;
  std::string known;
  for (const PlantName& row : plant_names) {
    if (asked == std::string(row.name)) return row.plant;
    known += std::string(" ") + row.name;
  }
  const std::string complaint = std::string("WQ_PLANTED=") + asked + " is none of" + known;
  check_failed(complaint.c_str(), __FILE__, __LINE__);
}

}  // namespace

const Plant planted = read_choice();

}  // namespace wq

#endif
