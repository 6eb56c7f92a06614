# SPDX-License-Identifier: Apache-2.0
# Warnings of the project's own code; errors only when ECHOSIM_WERROR is on (the presets switch it on).
option(ECHOSIM_WERROR "Treat warnings as errors" OFF)
add_library(echosim_warnings INTERFACE)
target_compile_options(echosim_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion
                       $<$<BOOL:${ECHOSIM_WERROR}>:-Werror>)
