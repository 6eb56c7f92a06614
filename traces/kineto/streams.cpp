// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/build.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <tuple>
#include <utility>

namespace echosim {
namespace {

std::string file_stem(const std::string& path) {
    std::string name = path.substr(path.find_last_of('/') + 1);
    return name.substr(0, std::min(name.find(".json"), name.size()));
}

std::string trimmed(std::string text) {
    while (!text.empty() && text.back() == ' ') {
        text.pop_back();
    }
    return text;
}

// What a process group is for, by the words of Megatron's descriptions.
StreamKind kind_of_group(std::string_view description) {
    constexpr std::pair<std::string_view, StreamKind> kWords[] = {
        {"EXPERT_DATA", StreamKind::dp_comm},   {"EXPERT", StreamKind::ep_comm},
        {"TENSOR", StreamKind::tp_comm},        {"PIPELINE", StreamKind::p2p},
        {"DATA_PARALLEL", StreamKind::dp_comm}, {"CONTEXT", StreamKind::cp_comm},
    };
    for (const auto& [word, kind] : kWords) {
        if (description.find(word) != std::string_view::npos) {
            return kind;
        }
    }
    return StreamKind::comm;
}

} // namespace

KinetoStreams::KinetoStreams(KinetoTable& table, const KinetoHeader& header, const std::string& path) {
    make_classes(table, header, path);
    collect(table);
    name_threads(table);
    for (Stream& stream : streams) {
        stream.kind = kind_of(table, stream);
    }
    order();
}

// One class for a file of Kineto, one a process else.
void KinetoStreams::make_classes(KinetoTable& table, const KinetoHeader& header, const std::string& path) {
    class_of_track.assign(table.tracks.size(), 0);
    stream_of_track.assign(table.tracks.size(), kNoRow);
    if (header.kineto || table.kineto) {
        std::string name = file_stem(path);
        bool found = false;
        table.each([&](std::uint64_t, const KinetoRow& row) {
            const std::int64_t pid = table.tracks[row.track].pid.number;
            if (!found && pid > 0 && (row.kind == EventKind::host || row.kind == EventKind::api)) {
                name = fmt::format("process {}", pid);
                found = true;
            }
        });
        const std::vector<int> ranks = header.rank ? std::vector<int>{*header.rank} : std::vector<int>{};
        table.builder.add_class(header.rank ? fmt::format("rank {}", *header.rank) : name, -1, ranks);
        return;
    }
    std::map<std::pair<std::int64_t, std::uint32_t>, std::string> names;
    for (const KinetoName& name : table.names) {
        const KinetoPlace& pid = table.tracks[name.track].pid;
        if (table.text(name.what) == "process_name") {
            names[{pid.number, pid.text.value}] = table.text(name.text);
        }
    }
    std::map<std::pair<std::int64_t, std::uint32_t>, std::uint32_t> classes;
    for (std::size_t i = 0; i < table.tracks.size(); ++i) {
        const KinetoPlace& pid = table.tracks[i].pid;
        const std::pair key(pid.number, pid.text.value);
        const auto found = classes.find(key);
        if (found != classes.end()) {
            class_of_track[i] = found->second;
            continue;
        }
        const std::string plain = pid.text != kNoName ? table.text(pid.text)
                                  : pid.number >= 0   ? fmt::format("process {}", pid.number)
                                                      : file_stem(path);
        const auto named = names.find(key);
        class_of_track[i] = table.builder.add_class(named == names.end() ? plain : named->second, -1, {});
        classes.emplace(key, class_of_track[i]);
    }
}

void KinetoStreams::collect(KinetoTable& table) {
    table.each([&](std::uint64_t ref, const KinetoRow& row) {
        const std::uint32_t stream = row.lane == KinetoLane::thread ? thread_stream(table, row)
                                     : row.lane == KinetoLane::async
                                         ? async_stream(table, row)
                                         : device_stream(row, class_of_track[row.track]);
        streams[stream].rows.push_back(ref);
    });
}

std::uint32_t KinetoStreams::device_stream(const KinetoRow& row, std::uint32_t rank_class) {
    std::vector<std::int64_t> key{rank_class, row.device, row.stream, static_cast<std::int64_t>(row.lane)};
    if (key == last_key_) {
        return last_row_;
    }
    const auto [entry, added] = rows_.try_emplace(key, static_cast<std::uint32_t>(streams.size()));
    if (added) {
        const char* suffix = row.lane == KinetoLane::annotations ? " annotations" : "";
        streams.push_back({rank_class,
                           row.lane,
                           row.device,
                           row.stream,
                           row.stream >= 0 ? fmt::format("stream {}{}", row.stream, suffix)
                                           : fmt::format("all streams{}", suffix),
                           {}});
    }
    last_key_ = std::move(key);
    last_row_ = entry->second;
    return last_row_;
}

std::uint32_t KinetoStreams::async_stream(KinetoTable& table, const KinetoRow& row) {
    const std::uint32_t rank_class = class_of_track[row.track];
    const auto [entry, added] =
        rows_.try_emplace({rank_class, -2, row.category.value, static_cast<std::int64_t>(row.lane)},
                          static_cast<std::uint32_t>(streams.size()));
    if (added) {
        const std::string category = table.text(row.category);
        streams.push_back(
            {rank_class, row.lane, -1, -1, category.empty() ? "async" : "async " + category, {}});
    }
    return entry->second;
}

std::uint32_t KinetoStreams::thread_stream(KinetoTable& table, const KinetoRow& row) {
    std::uint32_t& stream = stream_of_track[row.track];
    if (stream == kNoRow) {
        stream = static_cast<std::uint32_t>(streams.size());
        const KinetoPlace& tid = table.tracks[row.track].tid;
        streams.push_back({class_of_track[row.track],
                           KinetoLane::thread,
                           -1,
                           tid.number,
                           tid.text != kNoName ? table.text(tid.text)
                           : tid.number >= 0   ? fmt::format("thread {}", tid.number)
                                               : std::string("events"),
                           {}});
    }
    return stream;
}

void KinetoStreams::name_threads(KinetoTable& table) {
    for (const KinetoName& name : table.names) {
        const std::uint32_t stream = stream_of_track[name.track];
        if (stream != kNoRow && table.text(name.what) == "thread_name") {
            streams[stream].name = trimmed(table.text(name.text));
        }
    }
}

// Threads in the order of their first event, then the streams of each GPU by number.
void KinetoStreams::order() {
    std::vector<std::uint32_t> places(streams.size());
    std::iota(places.begin(), places.end(), 0U);
    const auto key = [&](std::uint32_t i) {
        const Stream& stream = streams[i];
        const bool thread = stream.lane == KinetoLane::thread || stream.lane == KinetoLane::async;
        return thread ? std::tuple(stream.rank_class, 0, std::int64_t{0}, std::int64_t{i}, 0)
                      : std::tuple(stream.rank_class, 1, std::int64_t{stream.device}, stream.number,
                                   stream.lane == KinetoLane::device ? 0 : 1);
    };
    std::sort(places.begin(), places.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    std::vector<Stream> sorted;
    std::vector<std::uint32_t> moved(streams.size());
    for (const std::uint32_t from : places) {
        moved[from] = static_cast<std::uint32_t>(sorted.size());
        sorted.push_back(std::move(streams[from]));
    }
    streams = std::move(sorted);
    for (std::uint32_t& stream : stream_of_track) {
        stream = stream == kNoRow ? kNoRow : moved[stream];
    }
}

StreamKind KinetoStreams::kind_of(KinetoTable& table, const Stream& stream) const {
    std::size_t work = 0;
    std::size_t comms = 0;
    std::size_t copies = 0;
    std::size_t others = 0;
    std::map<std::string, std::size_t> groups;
    for (const std::uint64_t ref : stream.rows) {
        const KinetoRow& row = table.row(ref);
        work += is_device_work(row.kind) ? 1U : 0U;
        copies += row.kind == EventKind::memcpy || row.kind == EventKind::memset ? 1U : 0U;
        others += row.kind == EventKind::other || row.kind == EventKind::instant ? 1U : 0U;
        if (row.kind == EventKind::comm) {
            ++comms;
            ++groups[table.text(table.comms[row.detail].description)];
        }
    }
    if (stream.lane != KinetoLane::device) {
        const bool recorder = table.kineto && others == stream.rows.size() && stream.number < 0;
        return stream.lane == KinetoLane::thread && !recorder ? StreamKind::host : StreamKind::other;
    }
    if (work == 0) {
        return StreamKind::other;
    }
    if (2 * comms >= work && comms > 0) {
        const auto most = std::max_element(groups.begin(), groups.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        return kind_of_group(most->first);
    }
    return copies == work ? StreamKind::copy : StreamKind::compute;
}

} // namespace echosim
