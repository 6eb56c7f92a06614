// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/bytes.h"

#include "simulator/core/error.h"
#include "traces/gzip.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <fmt/format.h>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace echosim {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{4} << 20U;
constexpr std::size_t kBlocksAhead = 3;
constexpr std::size_t kMagicBytes = 16;

// An open file. Its first bytes are read at once, to tell what it is.
class FileBytes : public TraceBytes {
  public:
    explicit FileBytes(const std::string& path)
        : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        struct stat info = {};
        if (file_ < 0 || fstat(file_, &info) != 0) {
            const std::string reason = std::strerror(errno);
            close();
            throw InputError(path, fmt::format("cannot be read: {}", reason));
        }
        if (S_ISDIR(info.st_mode)) {
            close();
            throw InputError(path, "is a folder, not a trace file");
        }
        try {
            front_size_ = fill(front_.data(), front_.size());
        } catch (...) {
            close();
            throw;
        }
    }
    ~FileBytes() override { close(); }
    FileBytes(const FileBytes&) = delete;
    FileBytes& operator=(const FileBytes&) = delete;

    std::string_view front() const { return {front_.data(), front_size_}; }

    std::size_t read(char* to, std::size_t most) override {
        const std::size_t kept = std::min(most, front_size_ - front_used_);
        std::memcpy(to, front_.data() + front_used_, kept);
        front_used_ += kept;
        return kept + fill(to + kept, most - kept);
    }

  private:
    void close() {
        if (file_ >= 0) {
            ::close(std::exchange(file_, -1));
        }
    }

    std::size_t fill(char* to, std::size_t most) {
        std::size_t done = 0;
        while (done < most) {
            const ssize_t got = ::read(file_, to + done, most - done);
            if (got < 0 && errno == EINTR) {
                continue;
            }
            if (got < 0) {
                throw InputError(path_, fmt::format("cannot be read: {}", std::strerror(errno)));
            }
            if (got == 0) {
                break;
            }
            done += static_cast<std::size_t>(got);
        }
        return done;
    }

    std::string path_;
    int file_ = -1;
    std::array<char, kMagicBytes> front_{};
    std::size_t front_size_ = 0;
    std::size_t front_used_ = 0;
};

// Inflates on a thread of its own into blocks that the reader takes.
class GzipBytes : public TraceBytes {
  public:
    GzipBytes(const std::string& path, std::unique_ptr<FileBytes> file)
        : path_(path), file_(std::move(file)),
          worker_([this](const std::stop_token& stop) { inflate_all(stop); }) {}
    ~GzipBytes() override {
        worker_.request_stop();
        room_.notify_all();
    }
    GzipBytes(const GzipBytes&) = delete;
    GzipBytes& operator=(const GzipBytes&) = delete;

    std::size_t read(char* to, std::size_t most) override {
        std::size_t done = 0;
        while (done < most) {
            if (used_ == block_.size() && !take_block()) {
                break;
            }
            const std::size_t part = std::min(most - done, block_.size() - used_);
            std::memcpy(to + done, block_.data() + used_, part);
            used_ += part;
            done += part;
        }
        return done;
    }

  private:
    bool take_block() {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [&] { return !blocks_.empty() || finished_; });
        if (blocks_.empty()) {
            if (error_) {
                std::rethrow_exception(error_);
            }
            return false;
        }
        block_ = std::move(blocks_.front());
        blocks_.pop_front();
        used_ = 0;
        room_.notify_all();
        return true;
    }

    bool give_block(std::vector<char> block, const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [&] { return blocks_.size() < kBlocksAhead || stop.stop_requested(); });
        if (!block.empty()) {
            blocks_.push_back(std::move(block));
        }
        ready_.notify_all();
        return !stop.stop_requested();
    }

    void inflate_all(const std::stop_token& stop) {
        std::exception_ptr error;
        try {
            inflate_members(stop);
        } catch (...) {
            error = std::current_exception();
        }
        const std::scoped_lock lock(mutex_);
        error_ = error;
        finished_ = true;
        ready_.notify_all();
    }

    void inflate_members(const std::stop_token& stop) {
        Gunzip gunzip;
        std::vector<std::byte> packed(std::size_t{1} << 20U);
        std::span<const std::byte> in;
        std::vector<char> text(kBlockBytes);
        std::span<char> out(text);
        std::uint64_t offset = 0; // of the end of `in`
        bool end = false;
        Gunzip::Status status = Gunzip::Status::more;
        const auto give = [&] {
            text.resize(text.size() - out.size());
            const bool wanted = give_block(std::exchange(text, std::vector<char>(kBlockBytes)), stop);
            out = text;
            return wanted;
        };
        while (!end || !in.empty()) {
            if (in.empty()) {
                const std::size_t got = file_->read(reinterpret_cast<char*>(packed.data()), packed.size());
                in = std::span<const std::byte>(packed).first(got);
                offset += got;
                end = got < packed.size();
            }
            status = gunzip.run(in, out);
            check(status, offset - in.size());
            if (out.empty() && !give()) {
                return;
            }
        }
        drain(gunzip, out, give);
        give();
        if (gunzip.run(in, out) != Gunzip::Status::end_of_member) {
            throw InputError(fmt::format("{}:{}", path_, offset),
                             "the compressed data end before their end mark: the file was cut off",
                             "copy the trace again, or record it again");
        }
    }

    // What the last bytes still inflate to.
    template <class Give> static void drain(Gunzip& gunzip, std::span<char>& out, const Give& give) {
        std::span<const std::byte> nothing;
        do {
            static_cast<void>(gunzip.run(nothing, out));
        } while (out.empty() && give());
    }

    void check(Gunzip::Status status, std::uint64_t offset) const {
        if (status == Gunzip::Status::damaged) {
            throw InputError(fmt::format("{}:{}", path_, offset),
                             "the compressed data are damaged near this byte of the .gz file",
                             "copy the trace again, or record it again");
        }
        if (status == Gunzip::Status::trailing) {
            throw InputError(fmt::format("{}:{}", path_, offset),
                             "bytes that are not gzip follow the compressed trace");
        }
    }

    std::string path_;
    std::unique_ptr<FileBytes> file_;
    std::vector<char> block_; // that the reader is in
    std::size_t used_ = 0;
    std::mutex mutex_;
    std::condition_variable ready_;
    std::condition_variable room_;
    std::deque<std::vector<char>> blocks_;
    std::exception_ptr error_;
    bool finished_ = false;
    std::jthread worker_; // last: the rest exists while it runs
};

[[noreturn]] void refuse(const std::string& path, std::string_view what, std::string_view hint = {}) {
    throw InputError(path + ":0", fmt::format("{}; a trace is JSON text or gzip of it", what),
                     std::string(hint));
}

void check_magic(const std::string& path, std::string_view front) {
    if (front.empty()) {
        throw InputError(path + ":0", "the file is empty: zero bytes");
    }
    if (path.ends_with(".nsys-rep") || path.ends_with(".qdrep")) {
        refuse(path, "this is a report of Nsight Systems in its own format",
               fmt::format("export it first: nsys export --type sqlite --output trace.sqlite {}", path));
    }
    if (front.starts_with("SQLite format 3")) {
        refuse(path, "this is an SQLite database");
    }
    if (front.starts_with("PK\x03\x04")) {
        refuse(path, "this is a ZIP archive", "unpack it first");
    }
    if (front.starts_with("\x28\xb5\x2f\xfd")) {
        refuse(path, "this is compressed with zstd", "unpack it first: zstd -d");
    }
    if (front.starts_with("\xff\xfe") || front.starts_with("\xfe\xff")) {
        refuse(path, "this text is UTF-16", "save it as UTF-8");
    }
    if (front.starts_with("\x7f"
                          "ELF") ||
        front.find('\0') != std::string_view::npos) {
        refuse(path, "this is a binary file");
    }
}

} // namespace

std::unique_ptr<TraceBytes> open_trace_bytes(const std::string& path) {
    auto file = std::make_unique<FileBytes>(path);
    if (file->front().starts_with("\x1f\x8b")) {
        return std::make_unique<GzipBytes>(path, std::move(file));
    }
    check_magic(path, file->front());
    return file;
}

} // namespace echosim
