// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/arg_keys.h"

#include <array>

namespace echosim {
namespace {

struct KeyRow {
    std::string_view text;
    ArgKey key;
};

constexpr std::array<KeyRow, 35> kKeys{{
    {"Ev Idx", ArgKey::bookkeeping},
    {"Record function id", ArgKey::bookkeeping},
    {"Python id", ArgKey::bookkeeping},
    {"Python parent id", ArgKey::bookkeeping},
    {"Python module id", ArgKey::bookkeeping},
    {"External id", ArgKey::external_id},
    {"external id", ArgKey::external_id},
    {"correlation", ArgKey::correlation},
    {"device", ArgKey::device},
    {"stream", ArgKey::stream},
    {"bytes", ArgKey::bytes},
    {"kind", ArgKey::copy_kind},
    {"registers per thread", ArgKey::registers},
    {"shared memory", ArgKey::shared_memory},
    {"grid", ArgKey::grid},
    {"block", ArgKey::block},
    {"Collective name", ArgKey::collective},
    {"In msg nelems", ArgKey::in_elements},
    {"Out msg nelems", ArgKey::out_elements},
    {"Group size", ArgKey::group_size},
    {"dtype", ArgKey::element},
    {"Process Group Name", ArgKey::group},
    {"Process Group Description", ArgKey::description},
    {"Process Group Ranks", ArgKey::ranks},
    {"Src Rank", ArgKey::source},
    {"Dst Rank", ArgKey::destination},
    {"Seq", ArgKey::sequence},
    {"cuda_sync_kind", ArgKey::sync_kind},
    {"wait_on_stream", ArgKey::wait_stream},
    {"wait_on_cuda_event_id", ArgKey::wait_event},
    {"wait_on_cuda_event_record_corr_id", ArgKey::wait_correlation},
    {"Total Allocated", ArgKey::allocated},
    {"Total Reserved", ArgKey::reserved},
    {"Device Id", ArgKey::memory_device},
    {"Device Type", ArgKey::device_type},
}};

// The keys of each length.
constexpr auto kByLength = [] {
    std::array<std::array<std::int8_t, 6>, 40> table{};
    for (auto& row : table) {
        for (auto& index : row) {
            index = -1;
        }
    }
    for (std::size_t i = 0; i < kKeys.size(); ++i) {
        for (auto& index : table[kKeys[i].text.size()]) {
            if (index < 0) {
                index = static_cast<std::int8_t>(i);
                break;
            }
        }
    }
    return table;
}();

} // namespace

ArgKey arg_key(std::string_view text) {
    if (text.size() < kByLength.size()) {
        for (const std::int8_t index : kByLength[text.size()]) {
            if (index < 0) {
                break;
            }
            const KeyRow& row = kKeys[static_cast<std::size_t>(index)];
            if (row.text == text) {
                return row.key;
            }
        }
    }
    return text == "Bytes" ? ArgKey::bytes : ArgKey::other;
}

} // namespace echosim
