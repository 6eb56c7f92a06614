// SPDX-License-Identifier: Apache-2.0
#include "traces/output_file.h"

#include "simulator/core/error.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace echosim {

namespace fs = std::filesystem;

OutputFile::OutputFile(const std::string& path) : path_(path), target_(path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status)) {
        throw InputError(path, "is a folder; a file name is needed");
    }
    if (!fs::exists(status) || fs::is_regular_file(status)) {
        const fs::path followed = fs::weakly_canonical(path, error);
        if (!error && !followed.empty()) {
            target_ = followed.string();
        }
        temporary_ = fmt::format("{}.{}.part", target_, ::getpid());
    }
    file_ = std::fopen(temporary_.empty() ? target_.c_str() : temporary_.c_str(), "wb");
    if (file_ == nullptr) {
        fail("cannot be created");
    }
}

OutputFile::~OutputFile() {
    if (file_ != nullptr) {
        static_cast<void>(std::fclose(file_));
    }
    if (!temporary_.empty()) {
        std::error_code error;
        fs::remove(temporary_, error);
    }
}

void OutputFile::fail(const std::string& what) const {
    throw InputError(path_, fmt::format("{}: {}", what, std::strerror(errno)));
}

void OutputFile::write(std::span<const std::byte> bytes) {
    if (!bytes.empty() && std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
        fail("cannot be written");
    }
}

void OutputFile::commit() {
    const int failed = std::fclose(file_);
    file_ = nullptr;
    if (failed != 0) {
        fail("cannot be written");
    }
    if (temporary_.empty()) {
        return;
    }
    if (std::rename(temporary_.c_str(), target_.c_str()) != 0) {
        fail("cannot be put in place");
    }
    temporary_.clear();
}

} // namespace echosim
