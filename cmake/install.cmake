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
install(TARGETS cleave_library cleave_models cleave_executor cleave_partitioner cleave_graph cleave_options EXPORT cleave
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${headers}
        FILE_SET generated DESTINATION ${headers})
install(FILES executor/host/include/cleave/host_function.h DESTINATION ${headers})

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/cleave)
configure_package_config_file(cmake/cleaveConfig.cmake.in ${PROJECT_BINARY_DIR}/cleaveConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cleaveConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT cleave FILE cleaveTargets.cmake NAMESPACE cleave:: DESTINATION ${package})
install(FILES ${PROJECT_BINARY_DIR}/cleaveConfig.cmake ${PROJECT_BINARY_DIR}/cleaveConfigVersion.cmake DESTINATION ${package})
