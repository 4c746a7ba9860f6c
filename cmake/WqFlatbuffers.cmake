# wq_flatbuffers(<target> <file.fbs>...): compiles schemas into the build tree.
# src/engine/schema/x.fbs is included as "engine/schema/x_generated.h".
function(wq_flatbuffers target)
  # Schemas include each other, so each output depends on all of them.
  list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" OUTPUT_VARIABLE schemas)
  foreach(schema IN LISTS schemas)
    cmake_path(RELATIVE_PATH schema BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/src"
      OUTPUT_VARIABLE relative)
    cmake_path(GET relative PARENT_PATH directory)
    cmake_path(GET relative STEM name)
    set(output "${WQ_GENERATED_DIR}/${directory}/${name}_generated.h")
    add_custom_command(OUTPUT "${output}"
      COMMAND "${WQ_FLATC}" --cpp --scoped-enums -o "${WQ_GENERATED_DIR}/${directory}" "${schema}"
      DEPENDS ${schemas} COMMENT "flatc ${relative}" VERBATIM)
    # The target may be of another directory, which sees custom targets but not custom commands.
    string(MAKE_C_IDENTIFIER "wq_schema_${directory}_${name}" step)
    add_custom_target(${step} DEPENDS "${output}")
    add_dependencies(${target} ${step})
  endforeach()
endfunction()
