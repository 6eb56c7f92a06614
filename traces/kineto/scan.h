// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/kineto/bytes.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Cuts a trace into the array of its events, in pieces of a few MiB at the borders between events, and the
// rest: the document without its events. One pass over the bytes that knows strings and brackets, no more:
// whether a piece is JSON is found where it is parsed.
namespace echosim {

// Bytes with room behind them, as the parser wants it, and reusable: nothing is zeroed.
class TextBuffer {
  public:
    static constexpr std::size_t kPadding = 64;

    explicit TextBuffer(std::size_t capacity);
    char* data() { return bytes_.get(); }
    std::string_view text() const { return {bytes_.get(), size_}; }
    std::size_t size() const { return size_; }
    std::size_t capacity() const { return capacity_; }
    void resize(std::size_t size) { size_ = size; } // within the capacity
    void grow(std::size_t capacity);                // keeps the text

  private:
    std::unique_ptr<char[]> bytes_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

// Some events in a row as a JSON array of their own.
struct EventText {
    TextBuffer buffer;
    std::uint64_t offset = 0; // in the file's text, of the first byte
    bool whole = true;        // false: the array does not end within the piece
    bool ended = true;        // not whole: the file ends; false: an event is too large to be read
};

// The document around its events, which became "[]".
struct DocumentText {
    std::string text;
    std::vector<std::pair<std::size_t, std::uint64_t>> pieces; // index in text -> offset in the file's text
    std::vector<std::string> omitted; // members at the top that are too large to be kept; they became null
    bool is_array = false;            // an array of events, no object around
    bool has_events = false;          // there was a traceEvents array
    std::uint64_t offset_of(std::size_t index) const;
};

class TraceScanner {
  public:
    TraceScanner(TraceBytes& bytes, std::string path);
    // The next piece; empty behind the last one. `spare`: a buffer to be used again. Throws InputError.
    std::optional<EventText> next(std::optional<TextBuffer> spare);
    const DocumentText& document() const { return document_; } // whole once next() returned nothing

  private:
    enum class Place : std::uint8_t { before, document, events, after, done };

    bool read_more();
    void skip_mark();
    void scan_document();
    void document_byte(char c);
    void string_byte(char c);
    void structure_byte(char c);
    void put(char c);
    void end_member();
    void enter_events();
    bool scan_events();
    void between_events(char c);
    EventText cut(std::size_t end, std::optional<TextBuffer> spare);
    std::optional<EventText> last_piece();
    [[noreturn]] void refuse(std::uint64_t offset, const std::string& message) const;

    TraceBytes& bytes_;
    std::string path_;
    TextBuffer buffer_;
    std::uint64_t offset_ = 0; // of buffer_'s first byte
    std::size_t at_ = 0;       // next byte to be looked at
    bool ended_ = false;
    Place place_ = Place::before;
    DocumentText document_;
    // Of the document:
    std::size_t depth_ = 0;
    bool in_string_ = false;
    bool escaped_ = false;
    bool is_key_ = false; // the string at the top level that is being read, or the last one
    bool after_colon_ = false;
    std::string key_;
    std::size_t value_begin_ = 0; // in document_.text, of the member's value
    bool omitting_ = false;
    // Of the events:
    std::size_t event_depth_ = 0;
    char last_ = 0;          // significant byte between events
    std::size_t comma_ = 0;  // in buffer_
    std::size_t border_ = 0; // in buffer_: an event begins here; 0: none
    std::size_t border_comma_ = 0;
};

} // namespace echosim
