// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/kineto/args.h"
#include "traces/kineto/rows.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace echosim {

// The members of one trace event, as tokens of the text; empty: not there. `args` begins with '{' and goes on
// behind the event.
struct RecordFields {
    std::string_view phase;
    std::string_view category;
    std::string_view name;
    std::string_view pid;
    std::string_view tid;
    std::string_view time;
    std::string_view duration;
    std::string_view id;
    std::string_view bind;
    std::string_view counter; // of our own files: row of the table of counters
    std::string_view args;
};

// Turns events into rows of a piece. One parser of the meaning for all dialects and for mended text.
class KinetoRecords {
  public:
    // `own`: the file is one that we wrote (docs/formats.md).
    explicit KinetoRecords(bool own) : own_(own) {}

    // False where a token is not JSON: the piece is then of no use.
    bool add(const RecordFields& fields);
    KinetoPiece& piece() { return piece_; }

  private:
    enum class Use : std::uint8_t { event, arrow };
    struct Category {
        std::string text;
        NameId id = kNoName;
        EventKind kind = EventKind::other;
        Use use = Use::event;
        bool known = false;
        bool on_device = false;
    };

    const Category& category(std::string_view token);
    std::uint32_t track(const RecordFields& fields);
    KinetoPlace place(std::string_view token);
    NameId text(std::string_view token);
    bool time(std::string_view token, TimeNs& to, bool& known);
    bool start_row(const RecordFields& fields, const Category& found, KinetoRow& row);
    bool read_args(const RecordFields& fields, KinetoRow& row);
    void add_detail(KinetoRow& row);
    void add_comm(KinetoRow& row);
    void add_sync(KinetoRow& row);
    bool complete(const RecordFields& fields, const Category& found);
    bool instant(const RecordFields& fields, const Category& found);
    bool mark(const RecordFields& fields, const Category& found, KinetoMarkKind kind);
    bool arrow(const RecordFields& fields, bool begins);
    bool sample(const RecordFields& fields);
    bool metadata(const RecordFields& fields);
    bool own_event(const RecordFields& fields, KinetoRow& row);
    bool own_flow(const RecordFields& fields);
    void memory(const KinetoRow& row);

    bool own_ = false;
    KinetoPiece piece_;
    EventArgs args_;
    std::string scratch_;
    std::string row_name_;
    std::vector<Category> categories_;
    std::unordered_map<std::string, std::size_t> category_rows_;
    std::unordered_map<std::string, std::uint32_t> tracks_; // by the tokens of pid and tid
    std::string track_key_;
    std::uint32_t last_track_ = 0;
    std::string last_track_key_;
};

} // namespace echosim
