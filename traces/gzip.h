// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/output_file.h"

#include <memory>
#include <string_view>

namespace echosim {

// Compresses text into `file` as one gzip member without a time or a name: the same text gives the same
// bytes.
class Gzip {
  public:
    explicit Gzip(OutputFile& file);
    ~Gzip();
    Gzip(const Gzip&) = delete;
    Gzip& operator=(const Gzip&) = delete;
    void write(std::string_view text);
    void finish();

  private:
    struct State;
    void run(std::string_view text, int flush);
    std::unique_ptr<State> state_;
};

} // namespace echosim
