// Codes of wq.h against the table of the library, names, predicates, and how a Status becomes a
// wq_error.
#include <gtest/gtest.h>
#include <wq.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <set>
#include <stdexcept>
#include <string>

#include "base/check.h"
#include "base/status.h"
#include "capi/boundary.h"

namespace wq {
namespace {

struct HeaderCode {
  int32_t value;
  const char* name;
};

constexpr HeaderCode header_codes[] = {
    {WQ_OK, "OK"},
    {WQ_EMPTY, "EMPTY"},
    {WQ_TIMEOUT, "TIMEOUT"},
    {WQ_STALE, "STALE"},
    {WQ_DUPLICATE, "DUPLICATE"},
    {WQ_DISABLED, "DISABLED"},
    {WQ_PAUSED, "PAUSED"},
    {WQ_CANCELLED, "CANCELLED"},
    {WQ_CONFLICT, "CONFLICT"},
    {WQ_E_INVALID, "INVALID"},
    {WQ_E_TOO_LARGE, "TOO_LARGE"},
    {WQ_E_UNSUPPORTED, "UNSUPPORTED"},
    {WQ_E_VERSION, "VERSION"},
    {WQ_E_NOT_FOUND, "NOT_FOUND"},
    {WQ_E_CLOSED, "CLOSED"},
    {WQ_E_FORKED, "FORKED"},
    {WQ_E_LOCKED, "LOCKED"},
    {WQ_E_READ_ONLY, "READ_ONLY"},
    {WQ_E_NO_KEY, "NO_KEY"},
    {WQ_E_NO_SPACE, "NO_SPACE"},
    {WQ_E_FULL, "FULL"},
    {WQ_E_NO_MEMORY, "NO_MEMORY"},
    {WQ_E_IO, "IO"},
    {WQ_E_CORRUPT, "CORRUPT"},
    {WQ_E_POISONED, "POISONED"},
    {WQ_E_INTERNAL, "INTERNAL"},
};

TEST(CapiError, HeaderAndTableHaveTheSameCodes) {
  std::set<int32_t> in_header;
  for (const HeaderCode& row : header_codes) {
    EXPECT_TRUE(code_known(row.value)) << row.name;
    EXPECT_STREQ(wq_error_name(row.value), row.name);
    in_header.insert(row.value);
  }
  for (int32_t value = -1000; value <= 1000; value++) {
    EXPECT_EQ(code_known(value), in_header.count(value) == 1) << value;
  }
}

TEST(CapiError, UnknownCodesHaveGenericStrings) {
  for (const int32_t value : {999, -999, INT32_MAX, INT32_MIN}) {
    EXPECT_STREQ(wq_error_name(value), "UNKNOWN");
    EXPECT_STREQ(wq_strerror(value), "unknown code");
    EXPECT_EQ(wq_error_is_retryable(value), 0);
    EXPECT_EQ(wq_error_maybe_committed(value), 0);
    EXPECT_EQ(wq_error_is_fatal(value), 0);
  }
  EXPECT_STREQ(wq_strerror(WQ_E_NO_SPACE), code_text(Code::no_space));
}

TEST(CapiError, PredicatesAreWhatTheHeaderSays) {
  const std::set<int32_t> retryable = {WQ_EMPTY,      WQ_TIMEOUT, WQ_DUPLICATE,
                                       WQ_DISABLED,   WQ_PAUSED,  WQ_E_LOCKED,
                                       WQ_E_NO_SPACE, WQ_E_FULL,  WQ_E_NO_MEMORY};
  const std::set<int32_t> maybe = {WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL, WQ_E_CLOSED};
  const std::set<int32_t> fatal = {WQ_E_POISONED, WQ_E_INTERNAL};
  for (const HeaderCode& row : header_codes) {
    EXPECT_EQ(wq_error_is_retryable(row.value), retryable.count(row.value)) << row.name;
    EXPECT_EQ(wq_error_maybe_committed(row.value), maybe.count(row.value)) << row.name;
    EXPECT_EQ(wq_error_is_fatal(row.value), fatal.count(row.value)) << row.name;
  }
}

TEST(CapiError, StatusIsToldInFull) {
  wq_error err = WQ_ERROR_INIT;
  const int32_t code =
      boundary(&err, [] { return Status(Code::io, "log/1.seg: pwrite: no luck", EIO, 8192); });
  EXPECT_EQ(code, WQ_E_IO);
  EXPECT_EQ(err.code, WQ_E_IO);
  EXPECT_EQ(err.os_errno, EIO);
  EXPECT_EQ(err.offset, 8192u);
  EXPECT_EQ(err.flags, WQ_ERROR_MAYBE_COMMITTED);
  EXPECT_STREQ(err.message, "log/1.seg: pwrite: no luck");

  EXPECT_EQ(boundary(&err, [] { return Status(Code::stale); }), WQ_STALE);
  EXPECT_EQ(err.code, WQ_STALE);
  EXPECT_EQ(err.os_errno, 0);
  EXPECT_EQ(err.offset, 0u);
  EXPECT_STREQ(err.message, code_text(Code::stale));

  EXPECT_EQ(boundary(&err, [] { return Status(); }), WQ_OK);
  EXPECT_EQ(err.code, WQ_OK);
  EXPECT_EQ(err.flags, 0u);
  EXPECT_STREQ(err.message, "");
}

TEST(CapiError, NothingThrownCrosses) {
  wq_error err = WQ_ERROR_INIT;
  EXPECT_EQ(boundary(&err, []() -> Status { throw std::bad_alloc(); }), WQ_E_NO_MEMORY);
  int broken = 0;
  const auto on_broken = [&](const Status&) { broken++; };
  EXPECT_EQ(boundary(
                &err, []() -> Status { throw std::bad_alloc(); }, on_broken),
            WQ_E_NO_MEMORY);
  EXPECT_EQ(broken, 0);
  EXPECT_EQ(boundary(
                &err, []() -> Status { throw CheckFailed("a.cc:1: broken"); }, on_broken),
            WQ_E_INTERNAL);
  EXPECT_STREQ(err.message, "a.cc:1: broken");
  EXPECT_EQ(broken, 1);
  EXPECT_EQ(boundary(
                nullptr, []() -> Status { throw std::runtime_error("x"); }, on_broken),
            WQ_E_INTERNAL);
  EXPECT_EQ(boundary(
                nullptr, []() -> Status { throw 42; }, on_broken),
            WQ_E_INTERNAL);
  EXPECT_EQ(broken, 3);
}

std::string told_of(const std::string& text) {
  wq_error err = WQ_ERROR_INIT;
  boundary(&err, [&] { return Status(Code::invalid, text); });
  EXPECT_NE(std::memchr(err.message, '\0', sizeof err.message), nullptr);
  return err.message;
}

constexpr size_t message_bytes_max = sizeof(wq_error::message) - 1;

TEST(CapiError, LongPathsLoseTheirMiddle) {
  const std::string path = "/srv/" + std::string(300, 'd') + "/saved";
  const std::string told =
      told_of(path + "/log/0000000000000001.seg.tmp: ftruncate: File too large; " + path +
              " is not finished, remove it");
  EXPECT_TRUE(told.starts_with("/srv/d")) << told;
  EXPECT_NE(told.find("dd..."), std::string::npos) << told;
  EXPECT_NE(told.find("d/saved/log/0000000000000001.seg.tmp: ftruncate: "), std::string::npos)
      << told;
  EXPECT_TRUE(told.ends_with("d/saved is not finished, remove it")) << told;
  EXPECT_GT(told.size(), message_bytes_max - 4) << "more is cut than has to be";
}

TEST(CapiError, WordsAreCutAtACharacterEdge) {
  for (size_t lead = 0; lead < 4; lead++) {  // every phase of a three-byte character
    std::string text(lead, 'x');
    while (text.size() < 2 * message_bytes_max) text += "\xe2\x82\xac";
    const std::string told = told_of(text);
    EXPECT_LE(told.size(), message_bytes_max);
    EXPECT_GT(told.size(), message_bytes_max - 5);
    const size_t head = told.find("...");
    ASSERT_NE(head, std::string::npos) << told;
    EXPECT_EQ((head - lead) % 3, 0u) << "half a character before the gap";
    EXPECT_EQ((told.size() - head) % 3, 0u) << "half a character behind the gap";
  }
}

TEST(CapiError, TooManyWordsAreCutAtTheEndAtACharacterEdge) {
  for (size_t lead = 0; lead < 8; lead++) {  // every phase of a word of two characters
    std::string text(lead, 'x');
    while (text.size() < 2 * message_bytes_max) text += " \xe2\x82\xac\xe2\x82\xac";
    const std::string told = told_of(text);
    EXPECT_GT(told.size(), message_bytes_max - 3);
    EXPECT_EQ(told, text.substr(0, told.size()));
    EXPECT_NE(static_cast<unsigned char>(text[told.size()]) & 0xc0, 0x80) << "half a character";
  }
}

TEST(CapiError, MessagesThatFitAreWhole) {
  for (const size_t size : {size_t{1}, message_bytes_max}) {
    const std::string text(size, 'y');
    EXPECT_EQ(told_of(text), text);
  }
}

TEST(CapiError, FieldsOfANewerHeaderAreZeroed) {
  struct Newer {
    wq_error known;
    char more[64];
  };
  Newer newer{WQ_ERROR_INIT, {}};
  newer.known.struct_size = sizeof newer;
  std::memset(newer.more, 0xff, sizeof newer.more);
  EXPECT_EQ(wq_store_open(nullptr, nullptr, nullptr, &newer.known), WQ_E_INVALID);
  for (const char byte : newer.more) EXPECT_EQ(byte, 0);
}

TEST(CapiError, MessagesStayOneLine) {
  wq_error err = WQ_ERROR_INIT;
  boundary(&err, [] { return Status(Code::invalid, std::string("a\nb\tc\0d\x7f", 8)); });
  EXPECT_STREQ(err.message, "a b c d ");
}

TEST(CapiError, AnErrorThatIsNotInitialisedIsRefusedUntouched) {
  bool ran = false;
  const auto body = [&] {
    ran = true;
    return Status();
  };
  for (const uint32_t size : {0u, 8u, static_cast<uint32_t>(sizeof(wq_error)) - 1, UINT32_MAX}) {
    wq_error err = WQ_ERROR_INIT;
    err.struct_size = size;
    err.code = 77;
    EXPECT_EQ(boundary(&err, body), WQ_E_INVALID) << size;
    EXPECT_EQ(err.code, 77);
    EXPECT_FALSE(ran);
  }
}

TEST(CapiError, StructInit) {
  wq_job job;
  std::memset(&job, 0xff, sizeof job);
  wq_struct_init(&job, sizeof job);
  const wq_job expected = WQ_JOB_INIT;
  EXPECT_EQ(std::memcmp(&job, &expected, sizeof job), 0);
  wq_struct_init(nullptr, 100);
  uint32_t untouched = 7;
  wq_struct_init(&untouched, sizeof untouched);
  EXPECT_EQ(untouched, 7u);
}

TEST(CapiVersion, IsTheHeaders) {
  EXPECT_EQ(wq_version(), static_cast<uint32_t>(WQ_VERSION_MAJOR << 16 | WQ_VERSION_MINOR << 8 |
                                                WQ_VERSION_PATCH));
  const std::string text = std::to_string(WQ_VERSION_MAJOR) + "." +
                           std::to_string(WQ_VERSION_MINOR) + "." +
                           std::to_string(WQ_VERSION_PATCH);
  EXPECT_EQ(wq_version_string(), text);
  EXPECT_EQ(wq_format_version(), 1u);
  const std::string info = wq_build_info();
  EXPECT_NE(info.find("wq " + text), std::string::npos) << info;
  EXPECT_NE(info.find("RocksDB "), std::string::npos) << info;
  EXPECT_EQ(info.find('\n'), std::string::npos) << info;
  EXPECT_EQ(info, wq_build_info());
}

}  // namespace
}  // namespace wq
