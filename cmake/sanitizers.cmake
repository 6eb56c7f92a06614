# SPDX-License-Identifier: Apache-2.0
# ECHOSIM_SANITIZE is a list for -fsanitize=, for example "address,undefined" or "thread".
set(ECHOSIM_SANITIZE "" CACHE STRING "Sanitizers for all targets")
if(ECHOSIM_SANITIZE)
  add_compile_options(-fsanitize=${ECHOSIM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${ECHOSIM_SANITIZE})
endif()
