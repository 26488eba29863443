# Programs that need no more of the machine they run on than glibc: everything else is linked statically.
find_library(CLEAVE_YAML_CPP_ARCHIVE libyaml-cpp.a REQUIRED)
find_package(yaml-cpp REQUIRED GLOBAL)
get_target_property(configurations yaml-cpp IMPORTED_CONFIGURATIONS)
foreach(configuration ${configurations})
  set_target_properties(yaml-cpp PROPERTIES IMPORTED_LOCATION_${configuration} ${CLEAVE_YAML_CPP_ARCHIVE})
endforeach()
add_link_options(-static-libstdc++ -static-libgcc)
