// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

namespace echosim {

// The keys of Kineto's args that columns of the trace can hold.
enum class ArgKey : std::uint8_t {
    other,
    bookkeeping, // numbers of records in the profiler: not kept
    external_id,
    correlation,
    device,
    stream,
    bytes,
    copy_kind,
    registers,
    shared_memory,
    grid,
    block,
    collective,
    in_elements,
    out_elements,
    group_size,
    element,
    group,
    description,
    ranks,
    source,
    destination,
    sequence,
    sync_kind,
    wait_stream,
    wait_event,
    wait_correlation,
    allocated,
    reserved,
    memory_device,
    device_type
};

ArgKey arg_key(std::string_view text);

} // namespace echosim
