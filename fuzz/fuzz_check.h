// What a fuzz target says when it found something.
#pragma once

#include <cstdio>
#include <cstdlib>

#define FUZZ_CHECK(expression)                                                        \
  do {                                                                                \
    if (!(expression)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #expression); \
      std::abort();                                                                   \
    }                                                                                 \
  } while (0)
