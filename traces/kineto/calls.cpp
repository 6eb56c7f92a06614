// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/calls.h"

#include <array>
#include <utility>

namespace echosim {

std::optional<SyncKind> sync_of_call(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, SyncKind>, 6> kCalls{{
        {"EventRecord", SyncKind::event_record},
        {"StreamWaitEvent", SyncKind::stream_wait_event},
        {"EventSynchronize", SyncKind::event_synchronize},
        {"StreamSynchronize", SyncKind::stream_synchronize},
        {"DeviceSynchronize", SyncKind::device_synchronize},
        {"CtxSynchronize", SyncKind::device_synchronize},
    }};
    constexpr std::array<std::pair<std::string_view, SyncKind>, 5> kRecords{{
        {"Stream Wait Event", SyncKind::stream_wait_event},
        {"Event Sync", SyncKind::event_synchronize},
        {"Stream Sync", SyncKind::stream_synchronize},
        {"Context Sync", SyncKind::device_synchronize},
        {"Device Sync", SyncKind::device_synchronize},
    }};
    std::string_view call = name;
    for (const std::string_view prefix : {"cuda", "hip", "cu"}) {
        if (call.starts_with(prefix)) {
            call.remove_prefix(prefix.size());
            break;
        }
    }
    if (call.size() < name.size()) {
        for (const auto& [text, kind] : kCalls) {
            if (call.starts_with(text)) {
                return kind;
            }
        }
        return std::nullopt;
    }
    for (const auto& [text, kind] : kRecords) {
        if (name.starts_with(text)) {
            return kind;
        }
    }
    return std::nullopt;
}

CopyKind copy_of_name(std::string_view name) {
    if (name.starts_with("Memset")) {
        return CopyKind::memset;
    }
    for (const CopyKind kind : {CopyKind::host_to_device, CopyKind::device_to_host,
                                CopyKind::device_to_device, CopyKind::peer_to_peer, CopyKind::host_to_host}) {
        if (name.find(to_string(kind)) != std::string_view::npos) {
            return kind;
        }
    }
    return CopyKind::unknown;
}

} // namespace echosim
