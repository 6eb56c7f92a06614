// SPDX-License-Identifier: Apache-2.0
#include "traces/import/ranks.h"

#include "simulator/core/error.h"
#include "traces/import/names.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <numeric>

namespace echosim {
namespace {

// How the rank of each file was told, for messages.
using Sources = std::vector<std::string>;

bool lacks_rank(const Trace& trace) {
    return trace.classes.size() == 1 && trace.classes.front().ranks.empty();
}

Sources name_ranks(const std::vector<std::string>& files, std::vector<Imported>& parts,
                   std::vector<std::string>& notes) {
    Sources sources(parts.size(), "as the file says");
    std::vector<std::size_t> unknown;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (lacks_rank(parts[i].trace)) {
            unknown.push_back(i);
            names.push_back(files[i]);
        }
    }
    if (unknown.empty()) {
        return sources;
    }
    std::vector<int> ranks = ranks_of_names(names);
    const bool by_name = !ranks.empty();
    if (!by_name) {
        ranks.resize(unknown.size());
        std::iota(ranks.begin(), ranks.end(), 0);
    }
    for (std::size_t i = 0; i < unknown.size(); ++i) {
        Trace& trace = parts[unknown[i]].trace;
        sources[unknown[i]] = by_name ? "by its name" : "by its place among the files that do not say theirs";
        trace.classes.front().ranks = compact_ranks({ranks[i]});
        trace.classes.front().name = trace.strings.intern(fmt::format("rank {}", ranks[i]));
    }
    notes.push_back(fmt::format("{} of {} files do not say their rank: taken from {}", unknown.size(),
                                parts.size(), by_name ? "their names" : "the order of their names"));
    return sources;
}

void refuse_same_file(const std::string& file, const std::string& other) {
    std::error_code error;
    if (std::filesystem::equivalent(file, other, error)) {
        throw InputError(file, file == other ? std::string("is given twice") : "is the same file as " + other,
                         "give one recording of each rank");
    }
}

void refuse_duplicates(const std::vector<std::string>& files, const std::vector<Imported>& parts,
                       const Sources& sources) {
    std::map<int, std::size_t> file_of;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        for (const TraceClass& cls : parts[i].trace.classes) {
            for (const int rank : expand_ranks(cls.ranks)) {
                const auto [known, added] = file_of.emplace(rank, i);
                if (!added && known->second != i) {
                    const std::size_t other = known->second;
                    refuse_same_file(files[i], files[other]);
                    throw InputError(files[i],
                                     fmt::format("is rank {} ({}); so is {} ({})", rank, sources[i],
                                                 files[other], sources[other]),
                                     "give one recording of each rank of one job");
                }
            }
        }
    }
}

std::uint32_t first_rank(const Imported& part) {
    std::uint32_t first = std::numeric_limits<std::uint32_t>::max();
    for (const TraceClass& cls : part.trace.classes) {
        if (!cls.ranks.empty()) {
            first = std::min(first, cls.ranks.front().first);
        }
    }
    return first;
}

} // namespace

std::vector<std::uint32_t> arrange_ranks(std::vector<std::string>& files, std::vector<Imported>& parts,
                                         std::vector<std::string>& notes) {
    const Sources sources = name_ranks(files, parts, notes);
    refuse_duplicates(files, parts, sources);
    std::vector<std::size_t> order(parts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return first_rank(parts[a]) < first_rank(parts[b]);
    });
    std::vector<std::string> sorted_files;
    std::vector<Imported> sorted;
    std::vector<std::uint32_t> clocks;
    for (const std::size_t from : order) {
        clocks.insert(clocks.end(), parts[from].trace.classes.size(),
                      static_cast<std::uint32_t>(sorted.size()));
        sorted_files.push_back(files[from]);
        sorted.push_back(std::move(parts[from]));
    }
    files = std::move(sorted_files);
    parts = std::move(sorted);
    return clocks;
}

} // namespace echosim
