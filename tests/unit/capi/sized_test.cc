// Sized structs: shorter, equal and longer ones, with clean and with dirty tails, in and out. The
// types are of this test, grown by one field over a first release of 16 bytes, so that "shorter"
// can be tried although no struct of wq.h has grown yet.
#include "capi/sized.h"

#include <gtest/gtest.h>

#include <cstring>

namespace wq {

struct Grown {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t old_field;
  uint64_t new_field;
};
template <>
constexpr size_t first_release_bytes<Grown> = 16;

namespace {

constexpr auto full_bytes = static_cast<uint32_t>(sizeof(Grown));

struct Longer {
  Grown grown;
  uint64_t future_field;
};

TEST(SizedIn, EqualSizeIsReadInPlace) {
  const Grown in{full_bytes, 1, 2, 3};
  SizedIn<Grown> read;
  ASSERT_TRUE(read.read(&in, "grown").ok());
  EXPECT_EQ(&*read, &in);
}

TEST(SizedIn, NullIsAllDefaults) {
  SizedIn<Grown> read;
  ASSERT_TRUE(read.read(nullptr, "grown").ok());
  EXPECT_EQ(read->flags, 0u);
  EXPECT_EQ(read->old_field, 0u);
  EXPECT_EQ(read->new_field, 0u);
}

TEST(SizedIn, ShorterMissesFieldsThatAreZero) {
  Grown in{16, 1, 2, 0xdeadbeef};  // what lies behind a short struct is not the caller's to mean
  SizedIn<Grown> read;
  ASSERT_TRUE(read.read(&in, "grown").ok());
  EXPECT_EQ(read->flags, 1u);
  EXPECT_EQ(read->old_field, 2u);
  EXPECT_EQ(read->new_field, 0u);
  in.struct_size = 20;  // half a field: its lower half counts
  ASSERT_TRUE(read.read(&in, "grown").ok());
  EXPECT_EQ(read->new_field, 0xdeadbeefu);
}

TEST(SizedIn, BelowTheFirstReleaseOrAbsurdIsInvalid) {
  for (const uint32_t size : {0u, 1u, 4u, 15u, 65'537u, UINT32_MAX}) {
    const Grown in{size, 1, 2, 3};
    SizedIn<Grown> read;
    const Status status = read.read(&in, "grown");
    EXPECT_EQ(status.code(), Code::invalid) << size;
    EXPECT_NE(status.message().find("grown.struct_size"), std::string::npos) << status.message();
  }
}

TEST(SizedIn, LongerIsTakenWhileItsTailIsZero) {
  Longer in{{sizeof(Longer), 1, 2, 3}, 0};
  SizedIn<Grown> read;
  ASSERT_TRUE(read.read(&in.grown, "grown").ok());
  EXPECT_EQ(read->new_field, 3u);
  auto* tail = reinterpret_cast<unsigned char*>(&in.future_field);
  for (size_t i = 0; i < sizeof in.future_field; i++) {
    tail[i] = 1;
    EXPECT_EQ(read.read(&in.grown, "grown").code(), Code::unsupported) << i;
    tail[i] = 0;
  }
  EXPECT_TRUE(read.read(&in.grown, "grown").ok());
}

TEST(SizedIn, ElementsFollowTheStride) {
  const Longer array[3] = {{{full_bytes, 1, 10, 100}, 7},  // the tail is not part of this element
                           {{16, 2, 20, 200}, 0},
                           {{sizeof(Longer), 3, 30, 300}, 0}};
  const Grown* first = &array[0].grown;
  SizedIn<Grown> read;
  ASSERT_TRUE(read.read_element(first, 0, sizeof(Longer), "grown").ok());
  EXPECT_EQ(read->old_field, 10u);
  ASSERT_TRUE(read.read_element(first, 1, sizeof(Longer), "grown").ok());
  EXPECT_EQ(read->old_field, 20u);
  EXPECT_EQ(read->new_field, 0u);
  ASSERT_TRUE(read.read_element(first, 2, sizeof(Longer), "grown").ok());
  EXPECT_EQ(read->new_field, 300u);
}

TEST(SizedIn, AnElementLargerThanItsStrideIsInvalid) {
  const Grown array[2] = {{full_bytes + 8, 1, 2, 3}, {full_bytes, 1, 2, 3}};
  SizedIn<Grown> read;
  EXPECT_EQ(read.read_element(array, 0, sizeof(Grown), "grown").code(), Code::invalid);
  EXPECT_TRUE(read.read_element(array, 1, sizeof(Grown), "grown").ok());
}

TEST(SizedOut, WritesNoMoreThanTheCallerHas) {
  Longer out;
  for (uint32_t room = 16; room <= sizeof(Longer); room++) {
    std::memset(&out, 0xee, sizeof out);
    out.grown.struct_size = room;
    ASSERT_TRUE(check_out(&out.grown, "grown").ok());
    write_struct(&out.grown, room, Grown{0, 1, 2, 0x0303030303030303});
    EXPECT_EQ(out.grown.struct_size, room);
    EXPECT_EQ(out.grown.old_field, 2u);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&out);
    for (size_t i = 16; i < sizeof out; i++) {
      const unsigned char expected = i >= room ? 0xee : (i < sizeof(Grown) ? 0x03 : 0x00);
      EXPECT_EQ(bytes[i], expected) << "room " << room << " byte " << i;
    }
  }
}

TEST(SizedOut, NullAndWrongSizesAreInvalid) {
  EXPECT_EQ(check_out<Grown>(nullptr, "grown").code(), Code::invalid);
  for (const uint32_t size : {0u, 15u, UINT32_MAX}) {
    const Grown out{size, 0, 0, 0};
    EXPECT_EQ(check_out(&out, "grown").code(), Code::invalid) << size;
  }
}

}  // namespace
}  // namespace wq
