// SPDX-License-Identifier: Apache-2.0
#include "traces/import/detect.h"

#include "simulator/core/error.h"
#include "traces/chakra.h"
#include "traces/echo_json.h"
#include "traces/gzip.h"
#include "traces/nsys.h"
#include "traces/sqlite/schema.h"
#include "traces/workload_text.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <span>
#include <vector>

namespace echosim {
namespace {

constexpr std::size_t kHead = 65'536;

constexpr std::string_view kAccepted =
    "import reads trace event JSON (Kineto, Chrome), SQLite exports of Nsight Systems, Chakra and PyTorch "
    "execution traces, workloads of SimAI, ASTRA-sim and AICB, and .etr";

std::vector<char> first_bytes(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
        throw InputError(path, "is a folder; a file is needed");
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw InputError(path, fmt::format("cannot be read: {}", std::strerror(errno)));
    }
    std::vector<char> head(kHead);
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(file.gcount()));
    return head;
}

bool is_gzip(std::string_view head) {
    return head.starts_with("\x1f\x8b");
}

// The begin of the text of a gzip file; what is damaged is told by the reader that gets the file.
std::vector<char> unpacked(const std::vector<char>& packed) {
    std::vector<char> text(kHead);
    std::span<const std::byte> in = std::as_bytes(std::span<const char>(packed));
    std::span<char> out = text;
    Gunzip gunzip;
    while (!in.empty() && !out.empty()) {
        const std::size_t left = in.size() + out.size();
        const Gunzip::Status status = gunzip.run(in, out);
        if (status == Gunzip::Status::damaged || status == Gunzip::Status::trailing ||
            left == in.size() + out.size()) {
            break;
        }
    }
    text.resize(kHead - out.size());
    return text;
}

char first_letter(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) {
        text.remove_prefix(3);
    }
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first == std::string_view::npos ? '\0' : text[first];
}

// Archives and compressions that no reader unpacks.
void refuse_packed(const std::string& path, std::string_view head) {
    struct Packed {
        std::string_view magic;
        std::string_view what;
        std::string_view command;
    };
    using namespace std::string_view_literals;
    constexpr std::array<Packed, 4> kPacked{
        Packed{"\x28\xb5\x2f\xfd", "zstd", "unzstd"}, Packed{"PK\x03\x04", "a zip archive", "unzip"},
        Packed{"\xfd\x37zXZ\0"sv, "xz", "unxz"}, Packed{"BZh", "bzip2", "bunzip2"}};
    for (const Packed& packed : kPacked) {
        if (head.starts_with(packed.magic)) {
            throw InputError(path + ":0", fmt::format("is {}; only gzip is unpacked", packed.what),
                             fmt::format("run: {} {}", packed.command, path));
        }
    }
    if (head.size() > 262 && head.substr(257, 5) == "ustar") {
        throw InputError(path + ":0", "is a tar archive", fmt::format("run: tar xf {}", path));
    }
}

// By the application id, four bytes big-endian at 68 of the header (SQLite's file format, 1.3).
TraceFormat of_sqlite(std::string_view head) {
    std::uint32_t application = 0;
    for (std::size_t i = 68; i < 72 && i < head.size(); ++i) {
        application = application << 8U | static_cast<unsigned char>(head[i]);
    }
    return application == kSqliteApplication ? TraceFormat::own_sqlite : TraceFormat::nsys;
}

TraceFormat of_text(const std::string& path, const std::vector<char>& head) {
    const std::string_view text(head.data(), head.size());
    const char first = first_letter(text);
    if (is_echo_json(text)) {
        return TraceFormat::echo_json;
    }
    if (is_chakra(std::as_bytes(std::span<const char>(head)))) {
        return TraceFormat::chakra;
    }
    if (is_workload_text(text)) {
        return TraceFormat::workload_text;
    }
    if (first == '{' || first == '[') {
        return TraceFormat::trace_events;
    }
    throw InputError(path + ":0", "is no trace that is known", std::string(kAccepted));
}

} // namespace

std::string_view to_string(TraceFormat value) {
    switch (value) {
    case TraceFormat::etr:
        return ".etr";
    case TraceFormat::trace_events:
        return "trace event JSON";
    case TraceFormat::nsys:
        return "Nsight Systems SQLite";
    case TraceFormat::own_sqlite:
        return "echosim SQLite";
    case TraceFormat::chakra:
        return "execution trace";
    case TraceFormat::workload_text:
        return "workload description";
    case TraceFormat::echo_json:
        return "Echo graph";
    }
    return "unknown";
}

TraceFormat detect_format(const std::string& path) {
    if (is_nsys_report(path)) {
        refuse_nsys_report(path);
    }
    std::vector<char> head = first_bytes(path);
    if (head.empty()) {
        throw InputError(path + ":0", "is empty", std::string(kAccepted));
    }
    if (is_gzip({head.data(), head.size()})) {
        head = unpacked(head);
        if (head.empty()) {
            return TraceFormat::trace_events; // damaged at its begin: its reader names the place
        }
    }
    const std::string_view text(head.data(), head.size());
    refuse_packed(path, text);
    if (text.starts_with("ECHOTRC1")) {
        return TraceFormat::etr;
    }
    if (text.starts_with("SQLite format 3")) {
        return of_sqlite(text);
    }
    return of_text(path, head);
}

} // namespace echosim
