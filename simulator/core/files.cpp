// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/files.h"

#include "simulator/core/error.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace echosim {
namespace {

std::string reason(int error) {
    return std::strerror(error);
}

// An open file descriptor, closed at the end of its scope.
class Descriptor {
  public:
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { close(); }
    int get() const { return fd_; }
    // 0, or the error that a delayed write reports.
    int close() {
        const int fd = std::exchange(fd_, -1);
        return fd < 0 || ::close(fd) == 0 ? 0 : errno;
    }

  private:
    int fd_;
};

// A file that is removed at the end of its scope unless it was kept.
class Temporary {
  public:
    explicit Temporary(std::string path) : path_(std::move(path)) {}
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;
    ~Temporary() {
        if (!kept_)
            ::unlink(path_.c_str());
    }
    void keep() { kept_ = true; }

  private:
    std::string path_;
    bool kept_ = false;
};

std::string temporary_name(const std::string& path) {
    static std::atomic<unsigned> counter{0};
    return fmt::format("{}.{}.{}.tmp", path, ::getpid(), counter++);
}

// 0 or errno.
int write_all(int fd, std::string_view content) {
    while (!content.empty()) {
        const ssize_t written = ::write(fd, content.data(), content.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

std::string read_all(const Descriptor& file, const std::string& path, Bytes max_bytes) {
    std::string text;
    char block[1U << 16U];
    while (true) {
        const ssize_t got = ::read(file.get(), block, sizeof block);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            throw InputError(path, "cannot be read: " + reason(errno));
        if (got == 0)
            return text;
        text.append(block, static_cast<std::size_t>(got));
        if (text.size() > max_bytes)
            throw InputError(path, fmt::format("is larger than {}, the most that is read of such a file",
                                               format_bytes(max_bytes)));
    }
}

void write_directly(const std::string& path, std::string_view content) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0)
        throw InputError(path, "cannot be written: " + reason(errno));
    const int error = write_all(file.get(), content);
    if (error != 0)
        throw InputError(path, "cannot be written: " + reason(error));
}

[[noreturn]] void refuse_folder(const std::string& path, int error) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    const std::string name = folder.empty() ? "." : folder;
    std::error_code ignored;
    if (error == ENOENT && !std::filesystem::exists(name, ignored))
        throw InputError(path, fmt::format("cannot be written: there is no folder \"{}\"", name),
                         "create the folder first, or give another file name");
    throw InputError(path, fmt::format("cannot be written in folder \"{}\": {}", name, reason(error)),
                     "choose a folder that you may write to");
}

// The file that a symbolic link stands for, also when that file does not exist yet.
std::string link_target(const std::string& path) {
    constexpr int kMostLinks = 40; // as Linux follows them
    std::filesystem::path target = path;
    std::error_code error;
    for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(target, error); ++i)
        target = target.parent_path() / std::filesystem::read_symlink(target, error);
    return target.string();
}

void write_beside(const std::string& path, std::string_view content, const struct stat* replaced) {
    const std::string name = temporary_name(path);
    Descriptor file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.get() < 0)
        refuse_folder(path, errno);
    Temporary temporary(name);
    int error = write_all(file.get(), content);
    if (error == 0 && replaced != nullptr && ::fchmod(file.get(), replaced->st_mode & 07777U) != 0)
        error = errno;
    if (error == 0 && ::fsync(file.get()) != 0)
        error = errno;
    const int closed = file.close();
    if (error == 0)
        error = closed;
    if (error == 0 && ::rename(name.c_str(), path.c_str()) != 0)
        error = errno;
    if (error != 0)
        throw InputError(path, "cannot be written: " + reason(error));
    temporary.keep();
}

} // namespace

std::string read_text_file(const std::string& path, Bytes max_bytes) {
    if (path.empty())
        throw InputError("", "the file name is empty");
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0)
        throw InputError(path,
                         errno == ENOENT ? "there is no such file" : "cannot be read: " + reason(errno));
    if (S_ISDIR(info.st_mode))
        throw InputError(path, "is a folder, not a file");
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0)
        throw InputError(path, "cannot be read: " + reason(errno));
    std::string text = read_all(file, path, max_bytes);
    if (text.empty())
        throw InputError(path, "is empty");
    const std::size_t nul = text.find('\0');
    if (nul != std::string::npos)
        throw InputError(path, fmt::format("is not a text file: byte {} is NUL", nul));
    return text;
}

void write_file_atomically(const std::string& path, std::string_view content) {
    if (path.empty())
        throw InputError("", "the file name is empty");
    struct stat info {};
    const bool exists = ::stat(path.c_str(), &info) == 0;
    if (exists && S_ISDIR(info.st_mode))
        throw InputError(path, "cannot be written: it is a folder");
    if (exists && !S_ISREG(info.st_mode))
        return write_directly(path, content);
    if (path.back() == '/')
        throw InputError(path, "cannot be written: it is the name of a folder");
    write_beside(link_target(path), content, exists ? &info : nullptr);
}

} // namespace echosim
