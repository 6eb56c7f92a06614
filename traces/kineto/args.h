// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/kineto/rows.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The args of an event: values that columns of the trace hold are taken out, what remains is one compact JSON
// text. Which keys are taken depends on the kind of the event.
namespace echosim {

// Values that were taken; negative: not there.
struct EventArgs {
    std::string rest; // compact JSON object, empty: nothing remains
    std::optional<std::int64_t> external_id;
    std::optional<std::int64_t> correlation;
    std::optional<std::int64_t> device;
    std::optional<std::int64_t> stream;
    std::optional<std::int64_t> bytes;
    std::optional<std::int64_t> wait_stream;
    std::optional<std::int64_t> wait_event;
    std::optional<std::int64_t> wait_correlation;
    std::optional<std::int64_t> allocated;
    std::optional<std::int64_t> reserved;
    std::optional<std::int64_t> device_type;
    KernelLaunch launch;
    bool has_launch = false;
    KinetoComm comm;
    std::optional<CollectiveKind> collective;
    Bytes element = 0; // bytes of an element, 0: not known

    void clear();
};

// Reads the object that begins at text[0]. `row`: what is known of the event so far (kind and name). Names go
// to `strings`. Returns false where the text is not valid JSON.
bool read_event_args(std::string_view text, const KinetoRow& row, std::string_view name, StringPool& strings,
                     EventArgs& out);

} // namespace echosim
