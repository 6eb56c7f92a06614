// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/error.h"
#include "simulator/core/units.h"

#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

// JSON as users write it: // and /* */ comments are allowed, duplicate keys are not.
namespace echosim {

constexpr int kMaxJsonDepth = 64;

// Throws InputError "NAME:LINE:COLUMN: message" (both from 1, columns in bytes) for wrong syntax, a duplicate
// key, more than kMaxJsonDepth levels or a text larger than `max_bytes`.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& name, Bytes max_bytes = 64_MiB);

// The same for a file; also throws what read_text_file throws.
nlohmann::ordered_json read_json_file(const std::string& path, Bytes max_bytes = 64_MiB);

// Kinds of texts with a unit that read_quantity() takes.
enum class Quantity : std::uint8_t { bandwidth, time, flops };

// A key of an object and what its value may be (both ends included; in SI units).
struct Field {
    std::string_view key;
    bool required = false;
    double min = 0;
    double max = std::numeric_limits<double>::max();
};

// Takes the fields of one JSON object by name. Problems (missing key, wrong type, value out of range, unknown
// key) are appended to `problems`, each with the file and path; a field that is absent or wrong leaves the
// variable as it was.
//
//     ObjectReader nics(json, "cluster.json", "node.nics", problems);
//     nics.read({.key = "count", .required = true, .max = 64}, node.nics.count);
//     nics.finish();   // cluster.json: node.nics: unknown key "bandwith"; did you mean "bandwidth"?
class ObjectReader {
  public:
    ObjectReader(const nlohmann::ordered_json& json, std::string file, std::string path,
                 std::vector<Problem>& problems);

    void read(const Field& field, std::string& value);
    void read(const Field& field, bool& value);
    void read(const Field& field, int& value);    // whole number
    void read(const Field& field, double& value); // plain number
    void read(const Field& field, Bytes& value);  // "80GiB"
    void read_quantity(const Field& field, Quantity quantity, double& value);

    // The value of the key, marked as taken; nullptr when there is none (a problem when it is required) or,
    // for the last two, when it is of another type (a problem).
    const nlohmann::ordered_json* any(const Field& field);
    const nlohmann::ordered_json* object(const Field& field);
    const nlohmann::ordered_json* array(const Field& field);

    // One more problem of this object, or of a key of it.
    void fail(std::string_view key, std::string message);
    // Reports every key that was not asked for. Call it last.
    void finish();

    std::string path_of(std::string_view key) const;

  private:
    std::string where(std::string_view path) const;
    void wrong_type(const Field& field, std::string_view expected, const nlohmann::ordered_json& found);
    bool in_range(const Field& field, double value, std::string (*show)(double));

    const nlohmann::ordered_json& json_;
    std::string file_;
    std::string path_;
    std::vector<Problem>& problems_;
    std::vector<std::string> known_;
};

} // namespace echosim
