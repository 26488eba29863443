# The library as others see it: `cleave::cleave`, the same name from find_package(cleave) and from FetchContent.
include(CMakePackageConfigHelpers)

add_library(cleave_library INTERFACE)
target_link_libraries(cleave_library INTERFACE cleave_models cleave_executor cleave_partitioner cleave_graph)
set_target_properties(cleave_library PROPERTIES EXPORT_NAME cleave)
add_library(cleave::cleave ALIAS cleave_library)
include(cmake/headers.cmake)

if(NOT CLEAVE_INSTALL)
  return()
endif()

set(headers ${CMAKE_INSTALL_INCLUDEDIR}/cleave)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/cleave)
configure_package_config_file(cmake/cleaveConfig.cmake.in ${PROJECT_BINARY_DIR}/cleaveConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cleaveConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# For those who build without CMake. It finds its prefix from where it lies, so that an installation may be moved.
file(RELATIVE_PATH CLEAVE_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" CLEAVE_PC_TO_PREFIX ${CLEAVE_PC_TO_PREFIX})
list(TRANSFORM CMAKE_DL_LIBS PREPEND -l OUTPUT_VARIABLE CLEAVE_PC_DL)
configure_file(cmake/cleave.pc.in ${PROJECT_BINARY_DIR}/cleave.pc @ONLY)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
install(TARGETS cleave_library cleave_models cleave_executor cleave_partitioner cleave_graph cleave_options EXPORT cleave
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${headers}
        FILE_SET generated DESTINATION ${headers})
install(FILES executor/host/include/cleave/host_function.h DESTINATION ${headers})
install(EXPORT cleave FILE cleaveTargets.cmake NAMESPACE cleave:: DESTINATION ${package})
install(FILES ${PROJECT_BINARY_DIR}/cleaveConfig.cmake ${PROJECT_BINARY_DIR}/cleaveConfigVersion.cmake DESTINATION ${package})
install(FILES ${PROJECT_BINARY_DIR}/cleave.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libcleave-dev RENAME copyright)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME runtime)
if(CLEAVE_BUILD_TOOLS)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/cleave RENAME copyright)
  install(DIRECTORY docs/schema DESTINATION ${CMAKE_INSTALL_DATADIR}/cleave)  # of the documents that the command line writes
  install(DIRECTORY models/library/ DESTINATION ${CMAKE_INSTALL_DATADIR}/cleave)  # part of the program as well; for readers
endif()
if(PROJECT_IS_TOP_LEVEL)
  include(cmake/package.cmake)
endif()
