// SPDX-License-Identifier: Apache-2.0
#include "traces/gzip.h"

#include "simulator/core/error.h"

#include <vector>
#include <zlib.h>

namespace echosim {
namespace {

constexpr int kLevel = 6;
constexpr int kWindowBits = MAX_WBITS + 16; // + 16: a gzip header and trailer
constexpr std::size_t kBufferBytes = std::size_t{1} << 18U;

} // namespace

struct Gzip::State {
    OutputFile& file;
    std::vector<std::byte> out = std::vector<std::byte>(kBufferBytes);
    z_stream stream = {};
};

Gzip::Gzip(OutputFile& file) : state_(new State{file}) {
    const int code = deflateInit2(&state_->stream, kLevel, Z_DEFLATED, kWindowBits, 8, Z_DEFAULT_STRATEGY);
    ECHOSIM_CHECK(code == Z_OK, "zlib cannot start");
}

Gzip::~Gzip() {
    static_cast<void>(deflateEnd(&state_->stream));
}

void Gzip::write(std::string_view text) {
    run(text, Z_NO_FLUSH);
}

void Gzip::finish() {
    run({}, Z_FINISH);
}

void Gzip::run(std::string_view text, int flush) {
    z_stream& stream = state_->stream;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    do {
        stream.next_out = reinterpret_cast<Bytef*>(state_->out.data());
        stream.avail_out = static_cast<uInt>(state_->out.size());
        const int code = deflate(&stream, flush);
        ECHOSIM_CHECK(code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR, "zlib failed");
        state_->file.write(std::span(state_->out).first(state_->out.size() - stream.avail_out));
    } while (stream.avail_out == 0);
}

struct Gunzip::State {
    z_stream stream = {};
    bool between = true; // members: nothing of the next one has been read
    bool any = false;    // a member came before
};

Gunzip::Gunzip() : state_(new State) {
    const int code = inflateInit2(&state_->stream, kWindowBits);
    ECHOSIM_CHECK(code == Z_OK, "zlib cannot start");
}

Gunzip::~Gunzip() {
    static_cast<void>(inflateEnd(&state_->stream));
}

Gunzip::Status Gunzip::run(std::span<const std::byte>& in, std::span<char>& out) {
    if (state_->between && state_->any) {
        while (!in.empty() && in.front() == std::byte{0}) {
            in = in.subspan(1);
        }
        if (!in.empty() && in.front() != std::byte{0x1f}) {
            return Status::trailing;
        }
    }
    if (in.empty() && state_->between) {
        return state_->any ? Status::end_of_member : Status::more;
    }
    z_stream& stream = state_->stream;
    state_->between = false;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int code = inflate(&stream, Z_NO_FLUSH);
    in = in.last(stream.avail_in);
    out = out.last(stream.avail_out);
    if (code == Z_STREAM_END) {
        state_->between = true;
        state_->any = true;
        const int again = inflateReset(&stream);
        ECHOSIM_CHECK(again == Z_OK, "zlib cannot start again");
        return Status::end_of_member;
    }
    return code == Z_OK || code == Z_BUF_ERROR ? Status::more : Status::damaged;
}

} // namespace echosim
