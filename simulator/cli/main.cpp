// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/cli.h"
#include "simulator/cli/output.h"

#include <iostream>

int main(int argc, char** argv) {
    echosim::exit_on_interrupt();
    return echosim::run_cli({argv + 1, argv + argc}, std::cout, std::cerr);
}
