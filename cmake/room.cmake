# room(FOLDER [REGISTERS] [SUBFOLDERS ...] USES ROOM... [LIBRARIES ...]): a room of the house, a static library of its own: every .cpp
# of the folder, so that a new file needs no line anywhere. It may use the rooms that it names and no others; they must
# have been declared before it, so no two can come to need each other. What its files include is checked before they
# are compiled (check_arrows.cmake). LIBRARIES: those of others that it computes with and that its headers do not show.
# REGISTERS: its files declare things that nobody calls by name (base/registered.hpp); who links it gets all of it.
# Why the rooms are cut as they are: ARCHITECTURE.md.
function(room folder)
  cmake_parse_arguments(room "REGISTERS" "" "SUBFOLDERS;USES;LIBRARIES" ${ARGN})
  string(REPLACE "/" "_" name "dvfs_${folder}")
  set(patterns "")
  foreach(place ${folder} ${room_SUBFOLDERS})
    list(APPEND patterns ${CMAKE_SOURCE_DIR}/${place}/*.cpp ${CMAKE_SOURCE_DIR}/${place}/*.hpp)
  endforeach()
  file(GLOB files CONFIGURE_DEPENDS ${patterns})
  list(FILTER files EXCLUDE REGEX "_extension\\.cpp$")  # of another program than ours: results/CMakeLists.txt
  set(libraries "")
  foreach(used ${room_USES})
    string(REPLACE "/" "_" library "dvfs_${used}")
    if(NOT TARGET ${library})
      message(FATAL_ERROR "The room ${folder} uses ${used}, which is not declared before it. Arrows point one way: ARCHITECTURE.md")
    endif()
    list(APPEND libraries ${library})
  endforeach()
  set(checked ${CMAKE_CURRENT_BINARY_DIR}/${name}.checked)
  set(check ${CMAKE_SOURCE_DIR}/cmake/check_arrows.cmake)
  add_custom_command(OUTPUT ${checked}
    COMMAND ${CMAKE_COMMAND} -DROOM=${folder} "-DUSES=${room_USES}" "-DFILES=${files}" -DSOURCE=${CMAKE_SOURCE_DIR} -DCHECKED=${checked} -P ${check}
    DEPENDS ${files} ${check} ${CMAKE_CURRENT_LIST_FILE} COMMENT "arrows of ${folder}" VERBATIM)
  list(FILTER files INCLUDE REGEX "\\.cpp$")
  add_library(${name} STATIC ${files} ${checked})
  target_link_libraries(${name} PUBLIC ${libraries} PRIVATE ${room_LIBRARIES})
  if(room_REGISTERS)
    target_link_options(${name} INTERFACE "LINKER:--whole-archive,$<TARGET_FILE:${name}>,--no-whole-archive")
  endif()
endfunction()
