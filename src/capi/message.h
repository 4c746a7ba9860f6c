// Text for people in a struct of fixed size. Thread model: free functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace wq {

// Writes `text`, of any origin, as one line of at most `room` - 1 bytes and a NUL. A text that is
// too long loses the middle of its longest words first: those are paths, and what to do comes
// behind them. Only then its end is cut. Neither leaves half a character.
void copy_message(char* out, size_t room, std::string_view text) noexcept;

}  // namespace wq
