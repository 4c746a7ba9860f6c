# Install rules, in components: runtime (libwq.so.X), dev (header, archive, .pc, CMake package),
# tools (wq), relay (wq_relay: archive, headers, .pc).
include(CMakePackageConfigHelpers)

set(wq_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/wq")
set(wq_libraries "")
foreach(wq_library IN ITEMS wq_shared wq_static)
  if(TARGET ${wq_library})
    list(APPEND wq_libraries ${wq_library})
  endif()
endforeach()
if(NOT wq_libraries)
  return()
endif()

install(TARGETS ${wq_libraries} EXPORT wq-targets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT dev
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev)
install(FILES "${PROJECT_SOURCE_DIR}/include/wq.h"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev)
install(FILES "${PROJECT_SOURCE_DIR}/bindings/cpp/wq.hpp"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/bindings/cpp/wq"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev FILES_MATCHING PATTERN "*.hpp")
install(EXPORT wq-targets NAMESPACE wq:: DESTINATION "${wq_package_dir}" COMPONENT dev)

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/wq-config.cmake.in"
  "${PROJECT_BINARY_DIR}/wq-config.cmake" INSTALL_DESTINATION "${wq_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/wq-config-version.cmake"
  VERSION ${WQ_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/wq-config.cmake" "${PROJECT_BINARY_DIR}/wq-config-version.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/WqDeps.cmake"
  DESTINATION "${wq_package_dir}" COMPONENT dev)

# The .pc file finds its prefix from where it lies, so an installed tree can be moved.
cmake_path(SET wq_pc_dir NORMALIZE "/${CMAKE_INSTALL_LIBDIR}/pkgconfig")
cmake_path(RELATIVE_PATH wq_pc_dir BASE_DIRECTORY "/" OUTPUT_VARIABLE wq_pc_relative)
string(REGEX REPLACE "[^/]+" ".." WQ_PC_PREFIX "${wq_pc_relative}")
set(WQ_PC_REQUIRES "rocksdb, libxxhash, libcrypto, libzstd")
if(WQ_WITH_URING)
  string(APPEND WQ_PC_REQUIRES ", liburing")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/wq.pc.in" "${PROJECT_BINARY_DIR}/wq.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/wq.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT dev)

# Its headers include each other as "relay/...".
if(TARGET wq_relay)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/wq-relay.pc.in" "${PROJECT_BINARY_DIR}/wq-relay.pc"
    @ONLY)
  install(TARGETS wq_relay ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT relay)
  install(FILES "${PROJECT_BINARY_DIR}/wq-relay.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT relay)
  foreach(wq_header IN ITEMS breaker job layout primary redis relay)
    install(FILES "${PROJECT_SOURCE_DIR}/src/relay/${wq_header}.h"
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/wq/relay" COMPONENT relay)
  endforeach()
endif()

if(TARGET wq_cli)
  install(TARGETS wq_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
endif()
