// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ostream>
#include <string>
#include <vector>

namespace echosim {

// The whole program: runs one command line (without the program's name) and returns the exit code. Every
// exception ends here as one message on `err`.
int run_cli(const std::vector<std::string>& words, std::ostream& out, std::ostream& err);

} // namespace echosim
