// SPDX-License-Identifier: Apache-2.0
#include "traces/chrome_json/keys.h"

#include "traces/trace.h"

#include <array>
#include <initializer_list>

namespace echosim {
namespace {

constexpr std::uint16_t kinds(std::initializer_list<EventKind> list) {
    unsigned bits = 0;
    for (const EventKind kind : list) {
        bits |= 1U << static_cast<unsigned>(kind);
    }
    return static_cast<std::uint16_t>(bits);
}

constexpr std::uint16_t kAll = 0xfff;
constexpr std::uint16_t kComm = kinds({EventKind::comm});
constexpr std::uint16_t kKernel = kinds({EventKind::kernel});
constexpr std::uint16_t kCopy = kinds({EventKind::memcpy, EventKind::memset});
constexpr std::uint16_t kSync = kinds({EventKind::sync, EventKind::api});
constexpr std::uint16_t kDevice = kinds({EventKind::kernel, EventKind::memcpy, EventKind::memset,
                                         EventKind::comm, EventKind::graph, EventKind::sync});
constexpr std::uint16_t kCalls = kDevice | kinds({EventKind::api});

struct ReservedKey {
    std::string_view key;
    std::uint16_t kinds;
};

constexpr std::array<ReservedKey, 44> kReserved{{{"kind", kAll},
                                                 {"phase", kAll},
                                                 {"iteration", kAll},
                                                 {"micro_batch", kAll},
                                                 {"chunk", kAll},
                                                 {"layer", kAll},
                                                 {"module", kAll},
                                                 {"alone_us", kAll},
                                                 {"slowdown", kAll},
                                                 {"binding_pred", kAll},
                                                 {"provenance", kAll},
                                                 {"recorded", kAll},
                                                 {"External id", kAll & ~kCalls},
                                                 {"correlation", kCalls},
                                                 {"device", kDevice},
                                                 {"stream", kDevice},
                                                 {"grid", kKernel},
                                                 {"block", kKernel},
                                                 {"registers per thread", kKernel},
                                                 {"shared memory", kKernel},
                                                 {"bytes", kCopy | kComm},
                                                 {"copy", kCopy},
                                                 {"own_name", kCopy | kComm},
                                                 {"sync", kSync},
                                                 {"wait_on_stream", kSync},
                                                 {"wait_on_cuda_event_id", kSync},
                                                 {"wait_on_cuda_event_record_corr_id", kSync},
                                                 {"collective", kComm},
                                                 {"dtype", kComm},
                                                 {"In msg nelems", kComm},
                                                 {"Out msg nelems", kComm},
                                                 {"Group size", kComm},
                                                 {"Seq", kComm},
                                                 {"group", kComm},
                                                 {"algorithm", kComm},
                                                 {"protocol", kComm},
                                                 {"channels", kComm},
                                                 {"peer", kComm},
                                                 {"direction", kComm},
                                                 {"communicator", kComm},
                                                 {"Collective name", kComm},
                                                 {"Process Group Name", kComm},
                                                 {"Process Group Description", kComm},
                                                 {"Process Group Ranks", kComm}}};

std::uint16_t kinds_of(std::string_view key) {
    for (const ReservedKey& reserved : kReserved) {
        if (reserved.key == key) {
            return reserved.kinds;
        }
    }
    return 0;
}

// Length of the string at the front of `text`, with its quotes.
std::size_t string_length(std::string_view text) {
    std::size_t i = 1;
    while (i < text.size() && text[i] != '"') {
        i += text[i] == '\\' ? 2 : 1;
    }
    return i + 1;
}

} // namespace

std::optional<std::uint16_t> reserved_keys(std::string_view object) {
    unsigned found = 0;
    int depth = 0;
    for (std::size_t i = 0; i < object.size();) {
        const char c = object[i];
        if (c == '"') {
            const std::size_t length = string_length(object.substr(i));
            const bool key = depth == 1 && (object[i - 1] == '{' || object[i - 1] == ',');
            found |= key ? kinds_of(object.substr(i + 1, length - 2)) : 0U;
            i += length;
            continue;
        }
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            return std::nullopt;
        }
        depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
        ++i;
    }
    return static_cast<std::uint16_t>(found);
}

} // namespace echosim
