// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/sqlite/database.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace echosim {

// The fields of an NVTX payload that are whole numbers, by their names in the schema.
using NsysPayload = std::vector<std::pair<std::string, std::uint64_t>>;

// Tables NVTX_PAYLOAD_SCHEMAS and NVTX_PAYLOAD_SCHEMA_ENTRIES: where the fields of a binary payload lie.
class NsysPayloadSchemas {
  public:
    void read(SqliteDatabase& database);
    // Column binaryData: a head of 32 bytes (little-endian; at 8 the number of the schema, at 16 the size of
    // the payload), then the payload. Empty when it does not fit the head or has no schema.
    NsysPayload decode(std::int64_t domain, std::string_view bytes) const;
    // Column jsonText: an object of numbers, or of texts of digits with commas between them.
    static NsysPayload decode_json(std::string_view json);

  private:
    struct Field {
        std::string name;
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
    };
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Field>> schemas_; // by domain, number
};

std::optional<std::uint64_t> payload_field(const NsysPayload& payload, std::string_view name);

} // namespace echosim
