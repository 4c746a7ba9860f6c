# How our own targets are compiled, and the two libraries.

set(WQ_GENERATED_DIR "${PROJECT_BINARY_DIR}/generated")

set(wq_warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
set(wq_sanitize_flags "")
if(WQ_SANITIZE)
  list(JOIN WQ_SANITIZE "," wq_sanitize_list)
  set(wq_sanitize_flags
    -fsanitize=${wq_sanitize_list} -fno-sanitize-recover=all -fno-omit-frame-pointer)
endif()
if(WQ_BUILD_FUZZ)
  list(APPEND wq_sanitize_flags -fsanitize=fuzzer-no-link)
endif()
if(WQ_COVERAGE)
  list(APPEND wq_sanitize_flags --coverage)
endif()

# Language, warnings, visibility and instrumentation of one of our own targets.
function(wq_configure_target target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF CXX_STANDARD_REQUIRED ON
    CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE ${wq_warnings}
    $<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-Wthread-safety>
    $<$<BOOL:${WQ_WERROR}>:-Werror>
    ${wq_sanitize_flags}
    # Neither messages nor debug information name the build's directory. gcov needs the real paths.
    $<$<NOT:$<BOOL:${WQ_COVERAGE}>>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>)
  target_compile_definitions(${target} PRIVATE $<$<BOOL:${WQ_INVARIANTS}>:WQ_INVARIANTS>
    $<$<BOOL:${WQ_WITH_URING}>:WQ_WITH_URING>)
  target_link_options(${target} PRIVATE ${wq_sanitize_flags})
endfunction()

# Object libraries do not hand on their instrumentation; whoever links them needs the run-time too.
function(wq_use_objects target)
  wq_configure_target(${target})
  target_link_libraries(${target} PRIVATE wq_objects)
endfunction()

function(wq_add_shared_library)
  set(map "${PROJECT_SOURCE_DIR}/src/capi/libwq.map")
  add_library(wq_shared SHARED $<TARGET_OBJECTS:wq_objects>)
  add_library(wq::wq ALIAS wq_shared)
  wq_configure_target(wq_shared)
  target_link_libraries(wq_shared PRIVATE ${WQ_LINK_DEPS})
  target_link_options(wq_shared PRIVATE "-Wl,--version-script=${map}" -Wl,--exclude-libs,ALL)
  # clang's sanitizer run-time is in the executable only, so a shared object has undefined symbols.
  if(NOT (WQ_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang"))
    target_link_options(wq_shared PRIVATE -Wl,--no-undefined)
  endif()
  set_target_properties(wq_shared PROPERTIES OUTPUT_NAME wq EXPORT_NAME wq
    VERSION ${WQ_VERSION} SOVERSION ${WQ_SOVERSION} LINK_DEPENDS "${map}")
  wq_set_public_includes(wq_shared)
endfunction()

function(wq_add_static_library)
  add_library(wq_static STATIC $<TARGET_OBJECTS:wq_objects>)
  add_library(wq::static ALIAS wq_static)
  wq_configure_target(wq_static)
  target_link_libraries(wq_static PRIVATE ${WQ_LINK_DEPS})
  set_target_properties(wq_static PROPERTIES OUTPUT_NAME wq EXPORT_NAME static)
  wq_set_public_includes(wq_static)
endfunction()

function(wq_set_public_includes target)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()
