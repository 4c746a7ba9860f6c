# The version lives once, in the macros of include/wq.h.
#   WQ_VERSION    0.1.0
#   WQ_SOVERSION  0.MINOR before 1.0 (each minor may change the ABI), MAJOR from 1.0 on

set(wq_header "${CMAKE_CURRENT_LIST_DIR}/../include/wq.h")
set(wq_version_major 0)
set(wq_version_minor 1)
set(wq_version_patch 0)
if(EXISTS "${wq_header}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${wq_header}")
  foreach(wq_part IN ITEMS MAJOR MINOR PATCH)
    file(STRINGS "${wq_header}" wq_line REGEX "^#define[ \t]+WQ_VERSION_${wq_part}[ \t]+[0-9]+")
    if(NOT wq_line MATCHES "WQ_VERSION_${wq_part}[ \t]+([0-9]+)")
      message(FATAL_ERROR
        "include/wq.h: WQ_VERSION_${wq_part} is missing; define it as a plain number")
    endif()
    string(TOLOWER ${wq_part} wq_lower)
    set(wq_version_${wq_lower} "${CMAKE_MATCH_1}")
  endforeach()
endif()

set(WQ_VERSION "${wq_version_major}.${wq_version_minor}.${wq_version_patch}")
if(wq_version_major EQUAL 0)
  set(WQ_SOVERSION "0.${wq_version_minor}")
else()
  set(WQ_SOVERSION "${wq_version_major}")
endif()
