# SPDX-License-Identifier: Apache-2.0
# cmake -DSCAN=<layering.cmake> -DTREE=<scratch folder> -P planted.cmake
# Proves that the scan can fail: plants a small tree with good and bad includes and compares the violations, all of
# them and in order, with the ones that were planted.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${TREE})
set(expected "")

# plant(FILE INCLUDE [bad]): FILE has the one include; `bad` says that the scan must report it.
function(plant file include)
  file(APPEND ${TREE}/${file} "#include ${include}\n")
  if("bad" IN_LIST ARGN)
    string(REGEX REPLACE "^\"(.*)\"$" "\\1" header ${include})
    set(expected "${expected}${file}: may not include ${header}\n" PARENT_SCOPE)
  endif()
endfunction()

# Files in the order in which the scan meets them.
plant(simulator/core/good.h "<vector>")
plant(simulator/core/up.cpp "\"simulator/graph/graph.h\"" bad)
plant(simulator/core/with_json.h "<nlohmann/json.hpp>" bad)
plant(simulator/core/with_json_fwd.h "<nlohmann/json_fwd.hpp>")
plant(simulator/engine/seam.cpp "\"interference/slowdown.h\"")
plant(simulator/engine/seam.cpp "\"interference/fit/ridge.h\"" bad)
plant(simulator/newcomer/a.h "\"simulator/core/units.h\"" bad)
plant(simulator/run/a.cpp "\"simulator/run/result.h\"")
plant(simulator/run/a.cpp "\"result.h\"" bad)
plant(simulator/run/a.cpp "<QString>" bad)
plant(traces/chakra_a.cpp "<google/protobuf/message.h>")
plant(traces/chakra_b.cpp "<chakra.pb.h>")
plant(traces/chakra_c.cpp "<chakra.pb.h>")
plant(traces/chakra_d.cpp "<chakra.pb.h>")
plant(traces/chakra_e.cpp "<chakra.pb.h>" bad) # one file more than the table allows
plant(traces/gzip.cpp "<zlib.h>")
plant(traces/kineto/parse.cpp "<simdjson.h>")
plant(traces/nsys.cpp "<simdjson.h>" bad)
plant(traces/sqlite/database.cpp "<sqlite3.h>")
plant(traces/sqlite/read.cpp "<sqlite3.h>" bad)
plant(interference/trace_samples.cpp "\"traces/trace.h\"")
plant(interference/fit/ridge.cpp "\"traces/trace.h\"" bad)
plant(gui/window.h "<QWidget>")
plant(gui/window.h "\"simulator/engine/timeline.h\"")
plant(gui/window.h "\"simulator/engine/engine.h\"" bad)
plant(validation/fit/a.cpp "<cupti.h>" bad)
plant(validation/fit/a.cpp "<simgrid/s4u.hpp>" bad)
plant(validation/fit/b.cpp "\"simulator/cli/command.h\"" bad)
plant(tests/run/a_test.cpp "\"simulator/core/units.h\"")

execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${TREE} -P ${SCAN}
                RESULT_VARIABLE result OUTPUT_VARIABLE ignored ERROR_VARIABLE report)
string(REGEX MATCHALL "[^\n]*: may not include [^\n]*\n" found "${report}")
list(JOIN found "" found)
string(REGEX REPLACE "[<>]" "" found "${found}")
string(REGEX REPLACE "[<>]" "" expected "${expected}")
if(result EQUAL 0 OR NOT found STREQUAL expected)
  message(FATAL_ERROR "exit status ${result}\nplanted:\n${expected}\nreported:\n${found}")
endif()

execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${TREE}/nothing -P ${SCAN} RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
if(result EQUAL 0)
  message(FATAL_ERROR "a tree without sources was accepted")
endif()
