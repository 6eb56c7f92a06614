// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"
#include "traces/kineto/scan.h"
#include "traces/trace.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace echosim {

// A process group as the document lists it, or a communicator of our own files.
struct HeaderGroup {
    std::string name;
    std::string description;
    std::vector<RankRange> ranks;
};

struct HeaderThread {
    std::int64_t pid = 0;
    std::int64_t tid = 0;
};

// A stream of our own files.
struct HeaderStream {
    std::uint32_t rank_class = 0;
    std::uint32_t id = 0;
    std::string name;
    StreamKind kind = StreamKind::compute;
    std::int32_t device = -1;
    std::int64_t number = -1;
    std::vector<HeaderThread> threads;
};

struct HeaderClass {
    std::string name;
    std::int32_t stage = -1;
    std::vector<RankRange> ranks;
};

struct HeaderCounter {
    std::uint32_t rank_class = 0;
    std::string name;
    std::string unit;
};

// otherData.echosim_trace of our own files.
struct OwnTables {
    TimeNs t0 = 0;
    bool timed = true;
    std::vector<HeaderClass> classes;
    std::vector<HeaderStream> streams;
    std::vector<HeaderCounter> counters;
};

// The document around the events.
struct KinetoHeader {
    TimeNs base = 0; // baseTimeNanoseconds
    std::optional<int> rank;
    std::vector<HeaderGroup> groups;
    std::string meta; // JSON object: the members of the document, without those that are large
    bool kineto = false;
    std::optional<OwnTables> own;
};

// Mends the document where it is not JSON, counted in `report`. Throws InputError "FILE:OFFSET", also for a
// document that is no trace.
KinetoHeader read_kineto_header(const DocumentText& document, const std::string& path, ImportReport& report);

// Whether the text in front of the events says that we wrote them.
bool is_own_document(const DocumentText& document);

} // namespace echosim
