# SPDX-License-Identifier: Apache-2.0
# echosim_library(NAME SOURCES a.cpp ... [LINKS target ...] [PRIVATE_LINKS target ...])
#   One static library a directory, target echosim_NAME, alias echosim::NAME. Includes are written from the
#   root of the source tree ("simulator/core/units.h").
function(echosim_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(echosim_${name} STATIC ${arg_SOURCES})
  add_library(echosim::${name} ALIAS echosim_${name})
  target_include_directories(echosim_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(echosim_${name} PUBLIC ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS} echosim_warnings)
endfunction()

# echosim_test(NAME SOURCES a_test.cpp ... [LINKS target ...])
#   One GoogleTest binary a module, target NAME_test; the tests run from the root of the source tree.
function(echosim_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name}_test ${arg_SOURCES})
  target_include_directories(${name}_test PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name}_test PRIVATE ${arg_LINKS} GTest::gtest GTest::gmock GTest::gtest_main echosim_warnings)
  # the time of a test is spent in the libraries, that of a build in the tests' templates
  target_compile_options(${name}_test PRIVATE "$<$<CONFIG:RelWithDebInfo>:-O0;-g0>")
  gtest_discover_tests(${name}_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} NO_PRETTY_VALUES PROPERTIES LABELS unit DISCOVERY_TIMEOUT 60)
endfunction()
