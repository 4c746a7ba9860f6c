#include "capi/message.h"

#include <algorithm>

namespace wq {
namespace {

constexpr std::string_view elision = "...";
constexpr size_t word_bytes_min = 24;  // a shorter one tells too little of a path

bool inside_character(std::string_view text, size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

size_t edge_before(std::string_view text, size_t at) {
  while (at > 0 && inside_character(text, at)) at--;
  return at;
}

size_t edge_behind(std::string_view text, size_t at) {
  while (inside_character(text, at)) at++;
  return at;
}

// Hands out `text` in pieces, its words shortened to `word_max` bytes. The end of a path says more
// than its beginning, so more of it stays.
template <typename Visit>
void each_piece(std::string_view text, size_t word_max, Visit&& visit) {
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (word.size() > word_max) {
      const size_t kept = word_max - elision.size();
      visit(word.substr(0, edge_before(word, kept / 4)));
      visit(elision);
      visit(word.substr(edge_behind(word, word.size() - (kept - kept / 4))));
    } else {
      visit(word);
    }
    if (space == std::string_view::npos) return;
    visit(text.substr(space, 1));
    text.remove_prefix(space + 1);
  }
}

size_t size_with(std::string_view text, size_t word_max) {
  size_t size = 0;
  each_piece(text, word_max, [&](std::string_view piece) { size += piece.size(); });
  return size;
}

}  // namespace

void copy_message(char* out, size_t room, std::string_view text) noexcept {
  size_t left = room - 1;
  size_t word_max = std::max(left, word_bytes_min);
  while (word_max > word_bytes_min && size_with(text, word_max) > left) word_max--;
  each_piece(text, word_max, [&](std::string_view piece) {
    if (piece.size() > left) {
      piece = piece.substr(0, edge_before(piece, left));
      left = piece.size();  // nothing comes behind a cut
    }
    left -= piece.size();
    for (const char c : piece) {
      const auto byte = static_cast<unsigned char>(c);
      *out++ = byte < 0x20 || byte == 0x7f ? ' ' : c;
    }
  });
  *out = '\0';
}

}  // namespace wq
