// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"
#include "traces/kineto/header.h"
#include "traces/kineto/table.h"

#include <string>
#include <vector>

namespace echosim {

// The timeline of a recorder's file: streams for threads and for streams of the GPU, times from the first
// event on.
Imported build_recorded(KinetoTable& table, const KinetoHeader& header, const std::string& path);

// The timeline that we wrote, as it was.
Imported build_own(KinetoTable& table, const KinetoHeader& header, const std::string& path);

// Samples of counters and of the allocator as counters of the builder. `class_of_track`: class of each track.
void add_counters(KinetoTable& table, const std::vector<std::uint32_t>& class_of_track, TimeNs t0);

// Stream of each row and the plan of all streams, in the order in which they are to be made.
class KinetoStreams {
  public:
    struct Stream {
        std::uint32_t rank_class = 0;
        KinetoLane lane = KinetoLane::thread;
        std::int32_t device = -1;
        std::int64_t number = -1;
        std::string name;
        std::vector<std::uint64_t> rows; // refs in the order of the file
        StreamKind kind = StreamKind::host;
    };

    KinetoStreams(KinetoTable& table, const KinetoHeader& header, const std::string& path);

    std::vector<Stream> streams;
    std::vector<std::uint32_t> stream_of_track; // kNoRow: the track has no events
    std::vector<std::uint32_t> class_of_track;

  private:
    void make_classes(KinetoTable& table, const KinetoHeader& header, const std::string& path);
    void collect(KinetoTable& table);
    std::uint32_t device_stream(const KinetoRow& row, std::uint32_t rank_class);
    std::uint32_t thread_stream(KinetoTable& table, const KinetoRow& row);
    std::uint32_t async_stream(KinetoTable& table, const KinetoRow& row);
    void order();
    void name_threads(KinetoTable& table);
    StreamKind kind_of(KinetoTable& table, const Stream& stream) const;

    std::map<std::vector<std::int64_t>, std::uint32_t> rows_; // key of a device or asynchronous stream -> row
    std::vector<std::int64_t> last_key_;
    std::uint32_t last_row_ = 0;
};

} // namespace echosim
