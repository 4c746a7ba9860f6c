# build_config.h: what wq_build_info() tells. The commit is read at build time and the header is
# rewritten only when something in it changes, so a build without changes stays without work.

set(WQ_BUILD_CONFIG_HEADER "${WQ_GENERATED_DIR}/build_config.h")

function(wq_add_build_config target)
  string(REPLACE ";" "+" sanitizers "${WQ_SANITIZE}")
  add_custom_target(wq_build_config
    COMMAND "${CMAKE_COMMAND}"
      "-DWQ_OUTPUT=${WQ_BUILD_CONFIG_HEADER}"
      "-DWQ_TEMPLATE=${PROJECT_SOURCE_DIR}/cmake/build_config.h.in"
      "-DWQ_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
      "-DWQ_BUILD_TYPE=${CMAKE_BUILD_TYPE}"
      "-DWQ_COMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
      "-DWQ_SANITIZERS=${sanitizers}"
      "-DWQ_URING_VERSION=${WQ_uring_VERSION}"
      "-DWQ_WITH_INVARIANTS=${WQ_INVARIANTS}"
      -P "${PROJECT_SOURCE_DIR}/cmake/write_build_config.cmake"
    BYPRODUCTS "${WQ_BUILD_CONFIG_HEADER}"
    COMMENT "Checking build_config.h" VERBATIM)
  add_dependencies(${target} wq_build_config)
endfunction()
