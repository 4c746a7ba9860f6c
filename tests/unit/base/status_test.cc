// Status and the table of codes. The numbers are pinned for ever, so they stand here a second time,
// written by hand: a change of errors.def that moves one fails.
#include "base/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

namespace wq {
namespace {

struct PinnedCode {
  int32_t value;
  const char* name;
  CodeClass kind;
};

constexpr PinnedCode pinned_codes[] = {
    {0, "ok", CodeClass::outcome},         {1, "empty", CodeClass::outcome},
    {2, "timeout", CodeClass::outcome},    {3, "stale", CodeClass::outcome},
    {4, "duplicate", CodeClass::outcome},  {5, "disabled", CodeClass::outcome},
    {6, "paused", CodeClass::outcome},     {7, "cancelled", CodeClass::outcome},
    {8, "conflict", CodeClass::outcome},   {-1, "invalid", CodeClass::usage},
    {-2, "too_large", CodeClass::usage},   {-3, "unsupported", CodeClass::usage},
    {-4, "version", CodeClass::usage},     {-20, "not_found", CodeClass::state},
    {-21, "closed", CodeClass::state},     {-22, "forked", CodeClass::state},
    {-23, "locked", CodeClass::state},     {-24, "read_only", CodeClass::state},
    {-25, "no_key", CodeClass::state},     {-40, "no_space", CodeClass::limit},
    {-41, "full", CodeClass::limit},       {-42, "no_memory", CodeClass::limit},
    {-60, "io", CodeClass::storage},       {-61, "corrupt", CodeClass::storage},
    {-62, "poisoned", CodeClass::storage}, {-80, "internal", CodeClass::internal},
};

TEST(Code, ValuesNamesAndClassesArePinned) {
  for (const PinnedCode& pinned : pinned_codes) {
    const Code code = static_cast<Code>(pinned.value);
    EXPECT_TRUE(code_known(pinned.value)) << pinned.name;
    EXPECT_STREQ(code_name(code), pinned.name);
    EXPECT_EQ(code_class(code), pinned.kind) << pinned.name;
    EXPECT_GT(std::string(code_text(code)).size(), 1u) << pinned.name;
  }
}

TEST(Code, EveryCodeOfTheTableIsPinned) {
  std::set<int32_t> pinned;
  for (const PinnedCode& row : pinned_codes) pinned.insert(row.value);
  for (int32_t value = -1000; value <= 1000; ++value) {
    EXPECT_EQ(code_known(value), pinned.count(value) == 1) << value;
  }
}

TEST(Code, UnknownCodesHaveTextToo) {
  EXPECT_STREQ(code_name(static_cast<Code>(-999)), "unknown");
  EXPECT_STREQ(code_text(static_cast<Code>(-999)), "unknown code");
  EXPECT_EQ(code_class(static_cast<Code>(-999)), CodeClass::internal);
  EXPECT_EQ(code_class(static_cast<Code>(999)), CodeClass::outcome);
}

TEST(Status, DefaultIsOk) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_FALSE(status.is_error());
  EXPECT_EQ(status.os_errno(), 0);
  EXPECT_EQ(status.offset(), 0u);
}

TEST(Status, OutcomesAreNeitherOkNorErrors) {
  const Status status = Code::stale;
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(status.is_error());
  EXPECT_EQ(status.message(), code_text(Code::stale));
}

TEST(Status, CopiesAndMovesKeepTheDetail) {
  const Status original(Code::corrupt, "log/1.seg: bad checksum", EBADMSG, 8192);
  Status copy = original;
  const Status& itself = copy;
  copy = itself;  // must be harmless
  const Status moved = std::move(copy);
  Status assigned;
  assigned = original;
  for (const Status* status : {&original, &moved, static_cast<const Status*>(&assigned)}) {
    EXPECT_TRUE(status->is_error());
    EXPECT_EQ(status->code(), Code::corrupt);
    EXPECT_EQ(status->message(), "log/1.seg: bad checksum");
    EXPECT_EQ(status->os_errno(), EBADMSG);
    EXPECT_EQ(status->offset(), 8192u);
  }
}

TEST(Status, MovesDoNotThrow) {
  EXPECT_TRUE(std::is_nothrow_move_constructible_v<Status>);
  EXPECT_TRUE(std::is_nothrow_move_assignable_v<Status>);
}

TEST(Status, FromErrnoTellsFullDiskAndMemoryApart) {
  EXPECT_EQ(status_from_errno(ENOSPC, "f", "pwrite").code(), Code::no_space);
  EXPECT_EQ(status_from_errno(EDQUOT, "f", "pwrite").code(), Code::no_space);
  EXPECT_EQ(status_from_errno(EFBIG, "f", "pwrite").code(), Code::no_space);
  EXPECT_EQ(status_from_errno(ENOMEM, "f", "mmap").code(), Code::no_memory);
  EXPECT_EQ(status_from_errno(EIO, "f", "pwrite").code(), Code::io);
  EXPECT_EQ(status_from_errno(EACCES, "f", "open").code(), Code::io);
}

TEST(Status, FromErrnoSaysWhatAndWhere) {
  const Status status = status_from_errno(ENOSPC, "log/0001.seg", "pwrite", 4096);
  EXPECT_EQ(status.message(), "log/0001.seg: pwrite: No space left on device");
  EXPECT_EQ(status.os_errno(), ENOSPC);
  EXPECT_EQ(status.offset(), 4096u);
}

}  // namespace
}  // namespace wq
