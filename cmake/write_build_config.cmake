# Run by WqBuildConfig.cmake at build time.
set(WQ_COMMIT "unknown")
find_program(git_program git)
if(git_program)
  execute_process(COMMAND "${git_program}" -C "${WQ_SOURCE_DIR}" rev-parse --short=12 HEAD
    OUTPUT_VARIABLE commit ERROR_QUIET RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed)
    set(WQ_COMMIT "${commit}")
  endif()
endif()
configure_file("${WQ_TEMPLATE}" "${WQ_OUTPUT}" @ONLY)
