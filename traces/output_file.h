// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>

namespace echosim {

// A file that appears whole or not at all: it is written under another name in the same folder and takes its
// place at commit(). Pipes and devices are written directly. Without commit() nothing is left behind. Throws
// InputError with the path and the reason of the system.
class OutputFile {
  public:
    explicit OutputFile(const std::string& path);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;
    void write(std::span<const std::byte> bytes);
    void commit();

  private:
    [[noreturn]] void fail(const std::string& what) const;
    std::string path_;
    std::string target_;    // path_ with symbolic links followed
    std::string temporary_; // empty: written directly
    std::FILE* file_ = nullptr;
};

} // namespace echosim
