// SPDX-License-Identifier: Apache-2.0
#include "traces/nsys/payload.h"

#include "traces/nsys/table.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

// Bytes of the whole numbers among NVTX's payload types; 0: of another kind. 1 char, 2 unsigned char, then
// short, int, long, long long with their unsigned partners (3 to 10), int8 to uint64 (11 to 18), 22 size_t.
std::uint64_t bytes_of_type(std::int64_t type) {
    constexpr std::array<std::uint64_t, 19> kBytes{0, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 1, 1, 2, 2, 4, 4, 8, 8};
    if (type == 22) {
        return 8;
    }
    return type > 0 && type < 19 ? kBytes[static_cast<std::size_t>(type)] : 0;
}

std::uint64_t little_endian(std::string_view bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i > 0; --i) {
        value = value << 8U | static_cast<unsigned char>(bytes[i - 1]);
    }
    return value;
}

std::optional<std::uint64_t> number_of(const nlohmann::json& value) {
    if (value.is_number_unsigned()) {
        return value.get<std::uint64_t>();
    }
    if (!value.is_string()) {
        return std::nullopt;
    }
    std::uint64_t number = 0;
    for (const char sign : value.get_ref<const std::string&>()) {
        if (sign == ',') {
            continue;
        }
        const auto digit = static_cast<std::uint64_t>(sign - '0');
        if (sign < '0' || sign > '9' || number > (UINT64_MAX - digit) / 10) {
            return std::nullopt;
        }
        number = number * 10 + digit;
    }
    return number;
}

} // namespace

void NsysPayloadSchemas::read(SqliteDatabase& database) {
    NsysTable rows(database, "NVTX_PAYLOAD_SCHEMA_ENTRIES",
                   {"domainId", "schemaId", "type", "name", "offset"});
    while (rows.next()) {
        const std::uint64_t bytes = bytes_of_type(rows.integer(2, 0));
        const std::int64_t offset = rows.integer(4, 0); // NULL: at the beginning
        const std::string name(rows.text(3).value_or(""));
        std::vector<Field>& fields = schemas_[{rows.integer(0, 0), rows.integer(1, 0)}];
        const bool known =
            std::any_of(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
        if (bytes > 0 && offset >= 0 && !known) { // each process repeats the schemas
            fields.push_back({name, static_cast<std::uint64_t>(offset), bytes});
        }
    }
}

NsysPayload NsysPayloadSchemas::decode(std::int64_t domain, std::string_view bytes) const {
    constexpr std::size_t kHead = 32;
    if (bytes.size() < kHead) {
        return {};
    }
    const std::uint64_t number = little_endian(bytes.substr(8, 8));
    const std::uint64_t size = little_endian(bytes.substr(16, 8));
    const auto schema = schemas_.find({domain, static_cast<std::int64_t>(number)});
    if (schema == schemas_.end() || size != bytes.size() - kHead) {
        return {};
    }
    NsysPayload payload;
    for (const Field& field : schema->second) {
        if (field.offset <= size && field.bytes <= size - field.offset) {
            payload.emplace_back(field.name, little_endian(bytes.substr(kHead + field.offset, field.bytes)));
        }
    }
    return payload;
}

NsysPayload NsysPayloadSchemas::decode_json(std::string_view json) {
    NsysPayload payload;
    const auto object = nlohmann::json::parse(json, nullptr, false);
    if (object.is_object()) {
        for (const auto& [name, value] : object.items()) {
            if (const std::optional<std::uint64_t> number = number_of(value)) {
                payload.emplace_back(name, *number);
            }
        }
    }
    return payload;
}

std::optional<std::uint64_t> payload_field(const NsysPayload& payload, std::string_view name) {
    const auto field =
        std::find_if(payload.begin(), payload.end(), [&](const auto& f) { return f.first == name; });
    return field == payload.end() ? std::nullopt : std::optional(field->second);
}

} // namespace echosim
