# wq_add_test and wq_add_bench.

if(WQ_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(WQ_BUILD_BENCH)
  find_package(benchmark REQUIRED)
endif()

# What is tested is built as the build type says; the tests themselves are not worth an optimiser,
# which takes two thirds of the time to compile them.
set(wq_test_flags "")
if(WQ_SANITIZE)
  set(wq_test_flags -Og -g1)
elseif(CMAKE_BUILD_TYPE MATCHES "^Rel")
  set(wq_test_flags -O1 -g1)
endif()

# Some sixty programs contain the whole library: gold links them in a third of the time.
set(wq_test_link_flags "")
find_program(WQ_GOLD ld.gold)
if(WQ_GOLD)
  set(wq_test_link_flags -fuse-ld=gold)
endif()

# ctest's own environment for every test: sanitizers stop at the first finding. What ASan keeps of
# frames, to see a use after return, is 64 KiB of each size and not 1 MiB: that fits into a cache.
string(JOIN ":" wq_asan_options detect_container_overflow=0 detect_stack_use_after_return=1
  max_uar_stack_size_log=16)
set(WQ_TEST_ENVIRONMENT
  "TEST_TMPDIR=${PROJECT_BINARY_DIR}/tmp"
  "ASAN_OPTIONS=${wq_asan_options}"
  "UBSAN_OPTIONS=print_stacktrace=1"
  "TSAN_OPTIONS=halt_on_error=1:suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp")

# wq_set_test_properties(<test> [LABELS ...] [TIMEOUT seconds]): what every test of ours carries.
# Those that may take long start first. Without that the bindings, which are listed last and run one
# at a time, would leave a core idle at the end of a first run, which knows no times.
function(wq_set_test_properties name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "LABELS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
    COST ${arg_TIMEOUT} ENVIRONMENT "${WQ_TEST_ENVIRONMENT}")
endfunction()

# wq_add_test(NAME n SOURCES a.cc ... [LIBS target...] [LABELS unit] [TIMEOUT 60] [ARGS ...])
# One GoogleTest program and one ctest test of it. It gets a fresh directory in $TEST_TMPDIR.
function(wq_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT" "SOURCES;LIBS;LABELS;ARGS")
  if(NOT arg_NAME OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "wq_add_test: NAME and SOURCES are needed (unparsed: '${arg_UNPARSED_ARGUMENTS}')")
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  wq_use_objects(${arg_NAME})
  target_compile_options(${arg_NAME} PRIVATE ${wq_test_flags})
  target_link_options(${arg_NAME} PRIVATE ${wq_test_link_flags})
  target_include_directories(${arg_NAME} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${arg_NAME} PRIVATE wq_test_main ${arg_LIBS})
  if(TARGET wq_test_support)
    target_link_libraries(${arg_NAME} PRIVATE wq_test_support)
  endif()
  add_test(NAME ${arg_NAME} COMMAND ${arg_NAME} ${arg_ARGS})
  wq_set_test_properties(${arg_NAME} LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT})
endfunction()

# wq_add_bench(NAME n SOURCES a.cc ... [LIBS target...]): a Google Benchmark program, not run by
# ctest.
function(wq_add_bench)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;LIBS")
  if(NOT arg_NAME OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "wq_add_bench: NAME and SOURCES are needed (unparsed: '${arg_UNPARSED_ARGUMENTS}')")
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  wq_use_objects(${arg_NAME})
  target_link_libraries(${arg_NAME} PRIVATE benchmark::benchmark ${arg_LIBS})
endfunction()
