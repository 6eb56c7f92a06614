// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/cli/console.h"
#include "simulator/cli/parse.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

// Where results go.
namespace echosim {

// SIGINT and SIGTERM wait while this lives, so that a file is written whole or not at all.
class HoldSignals {
  public:
    HoldSignals();
    ~HoldSignals();
    HoldSignals(const HoldSignals&) = delete;
    HoldSignals& operator=(const HoldSignals&) = delete;

  private:
    bool had_interrupt_ = false;
    bool had_terminate_ = false;
};

// SIGINT ends the process with exit code 130.
void exit_on_interrupt();

// Throws InputError when a file of this name could not be written; leaves nothing behind.
void check_writable(const std::string& path);

// A result as text and as a document, and what the options make of it: --json, -o FILE, -o -.
struct Output {
    std::string text;
    std::string json; // on stdout
    std::string file; // in a file: no wall-clock values
};
std::string document_text(const nlohmann::ordered_json& document);
// Throws InputError when `output` is one of the files that were read, under whatever name or link.
void refuse_to_overwrite(const std::string& output, const std::vector<std::string>& inputs);
void check_output(const Invocation& invocation); // before the work starts
bool prints_text(const Invocation& invocation);  // false with --json and -o -
void write_output(const Invocation& invocation, const Output& output, Console& console);

} // namespace echosim
