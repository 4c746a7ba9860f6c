# Compiles every header of the tree alone: one that leans on its includer does not build. The one
# place where files are globbed, because a header that nobody lists is exactly what this must catch.

file(GLOB_RECURSE wq_headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
  "${PROJECT_SOURCE_DIR}/src/*.h" "${PROJECT_SOURCE_DIR}/tests/*.h")
list(FILTER wq_headers EXCLUDE REGEX "^tests/install/")
set(wq_header_units "")
foreach(wq_header IN LISTS wq_headers)
  set(wq_unit "${PROJECT_BINARY_DIR}/header_check/${wq_header}.cc")
  file(CONFIGURE OUTPUT "${wq_unit}" @ONLY
    CONTENT "#include \"@PROJECT_SOURCE_DIR@/@wq_header@\"\n")
  list(APPEND wq_header_units "${wq_unit}")
endforeach()

add_library(wq_header_check OBJECT ${wq_header_units})
wq_use_objects(wq_header_check)
target_include_directories(wq_header_check PRIVATE "${PROJECT_SOURCE_DIR}/tests")
if(TARGET GTest::gtest)
  target_link_libraries(wq_header_check PRIVATE GTest::gtest)
endif()
