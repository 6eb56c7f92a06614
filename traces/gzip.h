// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/output_file.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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

// Text of gzip members one after the other, piece by piece. Zeros behind a member are padding.
class Gunzip {
  public:
    enum class Status : std::uint8_t { more, end_of_member, damaged, trailing };

    Gunzip();
    ~Gunzip();
    Gunzip(const Gunzip&) = delete;
    Gunzip& operator=(const Gunzip&) = delete;
    // Takes bytes from the front of `in`, fills `out` from its front; both are cut down to what is left.
    Status run(std::span<const std::byte>& in, std::span<char>& out);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace echosim
