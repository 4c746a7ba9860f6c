// Ids of jobs. They must differ between processes and machines, so the system draws them.
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "relay/relay.h"

namespace wq::relay {

std::string draw_id() {
  // Without the letters that look like digits.
  constexpr std::string_view letters = "0123456789abcdefghjkmnpqrstvwxyz";
  std::array<unsigned char, 26> bytes;
  ssize_t got = 0;
  do {
    got = ::getrandom(bytes.data(), bytes.size(), 0);
  } while (got < 0 && errno == EINTR);
  // So few bytes come whole, or not at all.
  if (got != static_cast<ssize_t>(bytes.size())) {
    throw Error(WQ_E_IO, std::string("getrandom: ") + std::strerror(errno));
  }
  std::string id;
  for (const unsigned char byte : bytes) id += letters[byte % letters.size()];
  return id;
}

}  // namespace wq::relay
