// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"
#include "traces/kineto/bytes.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace echosim {

// The text of one node and where it begins: "FILE:OFFSET" (of gzip, in what is inflated).
struct JsonNode {
    std::string_view text; // an object without white space, valid UTF-8
    std::string where;
};

// Walks through an execution trace in JSON from front to end, plain or gzip: no more than one node and a few
// MiB are held, no tree is built.
//
// Mended and counted: a comma in front of a closing bracket (trailing_comma), a file that ends behind a whole
// node, as a program that was killed leaves it (missing_closing_bracket), bytes that are no UTF-8
// (invalid_utf8) and raw control characters (control_character) in strings. Everything else that is not JSON
// is an InputError with its byte offset.
class JsonWalk {
  public:
    JsonWalk(const std::string& path, ImportReport& report);
    // Calls `node` with each element of the list of nodes. Returns the other members as the inside of a JSON
    // object: "\"schema\":\"1.0.1\",...".
    std::string run(const std::function<void(const JsonNode&)>& node);
    // The key under which the nodes are, empty before they begin.
    const std::string& list() const { return list_; }

  private:
    bool refill();
    char peek(); // the next character that is no space, '\0' at the end
    std::string_view value();
    void clean();
    void walk_list(const std::function<void(const JsonNode&)>& node);
    bool more(char closing); // steps over a comma; false: behind the closing bracket
    std::uint64_t offset() const { return base_ + at_; }
    [[noreturn]] void refuse_value();
    [[noreturn]] void refuse(const std::string& message);

    std::string path_;
    ImportReport& report_;
    std::unique_ptr<TraceBytes> bytes_;
    std::string buffer_;
    std::size_t at_ = 0;
    std::uint64_t base_ = 0; // offset of buffer_[0]
    bool ended_ = false;
    std::string list_;
    std::string value_;
};

} // namespace echosim
