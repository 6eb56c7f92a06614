// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/kineto/rows.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace echosim {

// The pieces of a file in order, their names in one pool (that of the builder) and their tracks in one table.
class KinetoTable {
  public:
    void join(KinetoPiece&& piece);

    KinetoRow& row(std::uint64_t ref) { return rows[ref >> 32U][ref & 0xffffffffU]; }
    std::string text(NameId name) const { return std::string(builder.so_far().text(name)); }
    // Calls visit(ref, row) for each row in the order of the file.
    template <class Visit> void each(const Visit& visit) {
        for (std::size_t block = 0; block < rows.size(); ++block) {
            for (std::size_t i = 0; i < rows[block].size(); ++i) {
                visit((std::uint64_t{block} << 32U) | i, rows[block][i]);
            }
        }
    }

    TraceBuilder builder;
    std::vector<std::vector<KinetoRow>> rows; // a block a piece; then those that ends of events make
    std::vector<OwnRow> own;
    std::vector<KinetoMark> marks;
    std::vector<KinetoTrack> tracks;
    std::vector<KernelLaunch> launches;
    std::vector<CopyOp> copies;
    std::vector<SyncOp> syncs;
    std::vector<KinetoComm> comms;
    std::vector<KinetoMemory> memory;
    std::vector<KinetoSample> samples;
    std::vector<KinetoName> names;
    std::vector<Flow> flows;
    std::vector<std::uint64_t> launched;
    std::vector<std::uint64_t> arrived;
    std::map<std::string, std::uint64_t> dropped_fields;
    ImportReport report;
    bool kineto = false;
    bool recognised = false;

  private:
    struct TrackHash {
        std::size_t operator()(const KinetoTrack& track) const noexcept;
    };
    std::vector<NameId> join_names(const StringPool& strings);
    std::vector<std::uint32_t> join_tracks(const std::vector<KinetoTrack>& added,
                                           const std::vector<NameId>& ids);
    void join_rows(KinetoPiece& piece, const std::vector<NameId>& ids,
                   const std::vector<std::uint32_t>& places);
    void join_details(KinetoPiece& piece, const std::vector<NameId>& ids);
    void join_marks(KinetoPiece& piece, const std::vector<NameId>& ids,
                    const std::vector<std::uint32_t>& places);

    std::unordered_map<KinetoTrack, std::uint32_t, TrackHash> track_rows_;
};

} // namespace echosim
