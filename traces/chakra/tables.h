// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/chakra/messages.h"
#include "traces/import_report.h"

#include <string>

// What the schema of Chakra has no field for, in attributes of our own ("echosim_..."): the tables of the
// trace in GlobalMetadata, the row of an event in its node. docs/formats.md lists them.
namespace echosim {

namespace chakra {
class GlobalMetadata;
class Node;
} // namespace chakra

bool has_trace_tables(const chakra::GlobalMetadata& metadata);
void put_trace_tables(chakra::GlobalMetadata& metadata, const Trace& trace);
void put_event_row(chakra::Node& node, std::uint32_t stream, const Event& event);

// The trace of a file with such tables; `messages` stands behind the metadata. Throws InputError.
Imported read_own_chakra(const chakra::GlobalMetadata& metadata, DelimitedMessages& messages,
                         const std::string& path);

} // namespace echosim
