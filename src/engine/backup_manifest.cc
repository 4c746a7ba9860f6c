// The manifest of a backup: lines of text, so that a person can read and compare it.
//
//   wq backup 1
//   format <version> <compatible> <read-only compatible> <incompatible>    features in hex
//   uuid <16 hex digits> <16 hex digits>
//   checkpoint_lsn <n>
//   last_lsn <n>
//   created_ms <n>
//   file <bytes> <XXH3-64, 16 hex digits> <name>                           one line each
//   end <number of files> <XXH3-64 of all lines before>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>

#include "base/hash.h"
#include "base/planted.h"
#include "engine/backup_internal.h"
#include "io/segment.h"

namespace wq {
namespace {

constexpr std::string_view title = "wq backup ";
constexpr uint64_t manifest_version = 1;
constexpr uint64_t manifest_hash_seed = 0x77712d6261636b75;  // "wq-backu"
constexpr size_t file_name_bytes_max = 255;

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

// Takes words off a text that was split at single blanks and newlines.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  // Up to `end`, which is taken as well.
  std::optional<std::string_view> next(char end) {
    const size_t at = rest_.find(end);
    if (at == rest_.npos) return std::nullopt;
    const std::string_view word = rest_.substr(0, at);
    rest_.remove_prefix(at + 1);
    return word;
  }
  bool is(std::string_view expected, char end) {
    const auto word = next(end);
    return word && *word == expected;
  }
  // One spelling per number: no signs, no leading zeros; in hex always 16 digits.
  std::optional<uint64_t> number(char end) {
    const auto word = next(end);
    const auto value = word ? parse(*word, 10) : std::nullopt;
    return value && std::to_string(*value) == *word ? value : std::nullopt;
  }
  std::optional<uint64_t> hex_number(char end) {
    const auto word = next(end);
    const auto value = word ? parse(*word, 16) : std::nullopt;
    return value && hex(*value) == *word ? value : std::nullopt;
  }
  bool labelled(std::string_view label, uint64_t* value) {
    if (!is(label, ' ')) return false;
    const auto found = number('\n');
    if (found) *value = *found;
    return found.has_value();
  }
  std::string_view rest() const { return rest_; }

 private:
  static std::optional<uint64_t> parse(std::string_view word, int base) {
    uint64_t value = 0;
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, value, base);
    return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
  }

  std::string_view rest_;
};

bool read_format_line(Words& words, StoreFormat& format) {
  if (!words.is("format", ' ')) return false;
  const auto version = words.number(' ');
  const auto compatible = words.hex_number(' ');
  const auto read_only = words.hex_number(' ');
  const auto incompatible = words.hex_number('\n');
  if (!version || *version > UINT32_MAX || !compatible || !read_only || !incompatible) return false;
  format.version = static_cast<uint32_t>(*version);
  format.compatible = *compatible;
  format.read_only_compatible = *read_only;
  format.incompatible = *incompatible;
  return true;
}

bool read_uuid_line(Words& words, StoreUuid& uuid) {
  if (!words.is("uuid", ' ')) return false;
  const auto first = words.hex_number(' ');
  const auto second = words.hex_number('\n');
  if (!first || !second) return false;
  store_le(uuid.data(), *first);
  store_le(uuid.data() + sizeof(uint64_t), *second);
  return true;
}

bool read_file_line(Words& words, BackupFile& file) {
  const auto bytes = words.number(' ');
  const auto hash = words.hex_number(' ');
  const auto name = words.next('\n');
  if (!bytes || !hash || !name) return false;
  if (!is_backup_file_name(*name) && !WQ_PLANTED(manifest_names_unchecked)) return false;
  file = {std::string(*name), *bytes, *hash};
  return true;
}

// Everything behind the title line and before the line `end`.
bool read_body(Words& words, BackupManifest& out) {
  uint64_t created_ms = 0;
  if (!read_format_line(words, out.format) || !read_uuid_line(words, out.format.uuid) ||
      !words.labelled("checkpoint_lsn", &out.checkpoint_lsn) ||
      !words.labelled("last_lsn", &out.last_lsn) || !words.labelled("created_ms", &created_ms)) {
    return false;
  }
  out.created_ms = static_cast<int64_t>(created_ms);
  std::string last_name;
  while (!words.rest().empty()) {
    BackupFile file;
    if (!words.is("file", ' ') || !read_file_line(words, file)) return false;
    // In order, none twice.
    if (file.name <= last_name && !WQ_PLANTED(manifest_order_unchecked)) return false;
    last_name = file.name;
    out.files.push_back(std::move(file));
  }
  const bool fits = out.last_lsn > 0 && out.checkpoint_lsn <= out.last_lsn;
  return out.created_ms >= 0 && (fits || WQ_PLANTED(manifest_lsns_unchecked));
}

}  // namespace

uint64_t BackupManifest::bytes() const {
  uint64_t sum = 0;
  for (const BackupFile& file : files) sum += file.bytes;
  return sum;
}

// Only what a backup consists of, so that no manifest, whoever wrote it, names a file outside.
bool is_backup_file_name(std::string_view name) {
  const size_t slash = name.find('/');
  if (slash == name.npos || name.size() > file_name_bytes_max) return false;
  const std::string_view directory = name.substr(0, slash);
  const std::string_view file = name.substr(slash + 1);
  if (directory == log_directory_name) return parse_segment_name(file).has_value();
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
           c == '_' || c == '.';
  };
  return directory == db_directory_name && !file.empty() && file.front() != '.' &&
         std::all_of(file.begin(), file.end(), plain);
}

std::string encode_manifest(const BackupManifest& manifest) {
  const StoreFormat& format = manifest.format;
  std::string text = std::string(title) + std::to_string(manifest_version) + "\n";
  text += "format " + std::to_string(format.version) + " " + hex(format.compatible) + " " +
          hex(format.read_only_compatible) + " " + hex(format.incompatible) + "\n";
  text += "uuid " + hex(load_le<uint64_t>(format.uuid.data())) + " " +
          hex(load_le<uint64_t>(format.uuid.data() + sizeof(uint64_t))) + "\n";
  text += "checkpoint_lsn " + std::to_string(manifest.checkpoint_lsn) + "\n";
  text += "last_lsn " + std::to_string(manifest.last_lsn) + "\n";
  text += "created_ms " + std::to_string(manifest.created_ms) + "\n";
  for (const BackupFile& file : manifest.files) {
    text += "file " + std::to_string(file.bytes) + " " + hex(file.hash) + " " + file.name + "\n";
  }
  return text + "end " + std::to_string(manifest.files.size()) + " " +
         hex(hash64(as_bytes(text), manifest_hash_seed)) + "\n";
}

Result<BackupManifest> decode_manifest(std::string_view text, const std::string& path) {
  const auto corrupt = [&](const std::string& what) {
    return Status(Code::corrupt, path + ": " + what + "; take another backup");
  };
  if (!text.starts_with(title)) return corrupt("is not the manifest of a backup");
  Words head(text.substr(title.size()));
  const auto version = head.number('\n');
  if (!version || *version == 0) return corrupt("the first line is damaged");
  if (*version > manifest_version && !WQ_PLANTED(newer_manifest_taken)) {
    return Status(Code::version, path + ": backup of version " + std::to_string(*version) +
                                     ", this library knows up to " +
                                     std::to_string(manifest_version) + "; use a newer library");
  }
  const size_t end = text.rfind("\nend ");
  if (end == text.npos) return corrupt("the last line is missing");
  const std::string_view checked = text.substr(0, end + 1);
  Words tail(text.substr(end + 1));
  tail.next(' ');
  const auto count = tail.number(' ');
  const auto hash = tail.hex_number('\n');
  if (!count || !hash || !tail.rest().empty()) return corrupt("the last line is damaged");
  if (*hash != hash64(as_bytes(checked), manifest_hash_seed) && !WQ_PLANTED(manifest_unchecked)) {
    return corrupt("does not match its checksum");
  }
  BackupManifest manifest;
  Words body(checked.substr(checked.find('\n') + 1));
  const bool read = read_body(body, manifest);
  if (!read || (manifest.files.size() != *count && !WQ_PLANTED(manifest_count_unchecked))) {
    return corrupt("impossible lines under a good checksum");
  }
  if (!WQ_PLANTED(newer_backup_taken)) WQ_TRY(check_known(path, manifest.format, Access::write));
  return manifest;
}

}  // namespace wq
