// SPDX-License-Identifier: Apache-2.0
#include "traces/mapped_file.h"

#include "simulator/core/error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace echosim {

MappedFile::MappedFile(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        throw InputError(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
    }
    struct stat status {};
    const bool regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    size_ = regular ? static_cast<std::size_t>(status.st_size) : 0;
    void* data = size_ > 0 ? ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0) : nullptr;
    const int reason = errno;
    static_cast<void>(::close(file));
    if (!regular) {
        throw InputError(path, "is not a regular file");
    }
    if (data == MAP_FAILED) {
        throw InputError(path, fmt::format("cannot be mapped: {}", std::strerror(reason)));
    }
    data_ = static_cast<const std::byte*>(data);
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) {
        static_cast<void>(::munmap(const_cast<std::byte*>(data_), size_));
    }
}

} // namespace echosim
