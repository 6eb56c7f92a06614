// SPDX-License-Identifier: Apache-2.0
#include "traces/workloads/simai_table.h"

#include "traces/workloads/lines.h"

#include <array>
#include <fmt/format.h>
#include <utility>

namespace echosim {
namespace {

constexpr std::uint64_t kMostLayers = 1U << 22U;
constexpr std::uint64_t kMostGpus = 1U << 22U;
constexpr std::uint64_t kMostTime = 1'000'000'000'000'000; // ns: 11 days
constexpr std::uint64_t kMostBytes = 1ULL << 60U;
constexpr std::size_t kFields = 12;

constexpr std::array<std::pair<std::string_view, LayerPolicy>, 11> kPolicies{
    {{"DATA", LayerPolicy::data},
     {"MODEL", LayerPolicy::model},
     {"HYBRID_DATA_MODEL", LayerPolicy::hybrid_data_model},
     {"HYBRID_MODEL_DATA", LayerPolicy::hybrid_model_data},
     {"HYBRID_TRANSFORMER", LayerPolicy::transformer},
     {"HYBRID_TRANSFORMER_FWD_IN_BCKWD", LayerPolicy::transformer},
     {"HYBRID_DLRM", LayerPolicy::dlrm},
     {"HYBRID_DLRM_ENHANCED", LayerPolicy::dlrm},
     {"HYBRID_CUSTOMIZED", LayerPolicy::customized},
     {"MICRO", LayerPolicy::micro},
     {"DISTRIBUTED_INFERENCE", LayerPolicy::inference}}};

constexpr std::array<std::pair<std::string_view, CollectiveKind>, 5> kCollectives{
    {{"ALLREDUCE", CollectiveKind::all_reduce},
     {"ALLGATHER", CollectiveKind::all_gather},
     {"REDUCESCATTER", CollectiveKind::reduce_scatter},
     {"ALLTOALL", CollectiveKind::all_to_all},
     {"BROADCAST", CollectiveKind::broadcast}}};

constexpr const char* kCommWords =
    "NONE or ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL, BROADCAST, with _EP or "
    "_DP_EP behind it for groups of experts";
constexpr const char* kRowFields = "name, dependency, then compute time, collective and bytes of forward, "
                                   "input gradient and weight gradient, "
                                   "then update time";

class TableReader {
  public:
    TableReader(std::string_view text, const std::string& file) : lines_(text), file_(file) {}
    LayerTable read();

  private:
    void header(std::string_view line);
    std::size_t header_key(const std::vector<std::string_view>& words, std::size_t at);
    std::size_t layer_list(const std::vector<std::string_view>& words, std::size_t at,
                           std::vector<std::uint32_t>& layers);
    std::uint64_t count();
    LayerRow row(std::string_view line);
    LayerPass pass(const std::vector<std::string_view>& fields, std::size_t at, std::string_view name);
    std::uint64_t number(std::string_view text, const std::string& what, std::uint64_t most);

    TextLines lines_;
    const std::string& file_;
    LayerTable table_;
};

std::uint64_t TableReader::number(std::string_view text, const std::string& what, std::uint64_t most) {
    const auto value = whole_number(text, most);
    if (!value)
        refuse_line(file_, lines_.number(),
                    fmt::format("{} is {}; a whole number from 0 to {}", what, quoted(text), most));
    return *value;
}

// The layers that "checkpoints: 2 0 8" lists, their number first. Returns the words taken.
std::size_t TableReader::layer_list(const std::vector<std::string_view>& words, std::size_t at,
                                    std::vector<std::uint32_t>& layers) {
    const std::uint64_t entries =
        number(words[at], "the number of layers behind " + quoted(words[at - 1]), words.size() - at - 1);
    for (std::size_t i = 1; i <= entries; ++i)
        layers.push_back(
            static_cast<std::uint32_t>(number(words[at + i], "a layer of the header", kMostLayers - 1)));
    return entries + 1;
}

// Takes the value behind the key at `at`; returns how many words that were.
std::size_t TableReader::header_key(const std::vector<std::string_view>& words, std::size_t at) {
    std::string_view key = words[at - 1];
    if (key.ends_with(':'))
        key.remove_suffix(1);
    if (key == "checkpoints")
        return layer_list(words, at, table_.checkpoints);
    if (key == "checkpoint_initiates")
        return layer_list(words, at, table_.recompute_starters);
    if (key == "pp_comm") {
        table_.pipeline_bytes = number(words[at], "pp_comm", kMostBytes);
        return 1;
    }
    const std::array<std::pair<std::string_view, std::uint32_t*>, 7> keys{
        {{"model_parallel_NPU_group", &table_.tensor},
         {"ep", &table_.expert},
         {"pp", &table_.pipeline},
         {"vpp", &table_.virtual_pipeline},
         {"ga", &table_.micro_batches},
         {"all_gpus", &table_.gpus},
         {"DLRM_LAST_BOTTOM_LAYER", &table_.last_bottom_layer}}};
    for (const auto& [known, value] : keys)
        if (key == known) {
            *value = static_cast<std::uint32_t>(number(words[at], quoted(words[at - 1]), kMostGpus));
            return 1;
        }
    ++table_.unknown_keys;
    return words[at - 1].ends_with(':') && !words[at].ends_with(':') ? 1 : 0;
}

void TableReader::header(std::string_view line) {
    const auto words = blank_separated(line);
    table_.policy_word = words.front();
    const auto policy = layer_policy(words.front());
    if (!policy) {
        std::string known;
        for (const auto& [word, value] : kPolicies)
            known += (known.empty() ? "" : ", ") + std::string(word);
        refuse_line(file_, lines_.number(), fmt::format("unknown policy {}", quoted(words.front())),
                    "policies: " + known);
    }
    table_.policy = *policy;
    for (std::size_t at = 1; at < words.size(); ++at) {
        if (at + 1 == words.size())
            refuse_line(file_, lines_.number(),
                        fmt::format("nothing behind {} of the header", quoted(words[at])),
                        "is the line whole?");
        at += header_key(words, at + 1);
    }
}

std::uint64_t TableReader::count() {
    std::string_view line;
    if (!lines_.next_filled(line))
        refuse_line(file_, lines_.number(), "the file ends behind its header",
                    "line 2 is the number of layers");
    return number(without_blanks(line), "the number of layers", kMostLayers);
}

LayerPass TableReader::pass(const std::vector<std::string_view>& fields, std::size_t at,
                            std::string_view name) {
    LayerPass pass;
    pass.compute =
        static_cast<TimeNs>(number(fields[at], fmt::format("the {} compute time", name), kMostTime));
    pass.bytes = number(fields[at + 2], fmt::format("the {} bytes", name), kMostBytes);
    const std::string_view word = fields[at + 1];
    if (word == "NONE")
        return pass;
    const std::size_t end = word.find('_');
    const std::string_view suffix = end == std::string_view::npos ? "" : word.substr(end + 1);
    for (const auto& [known, kind] : kCollectives)
        if (word.substr(0, end) == known &&
            (end == std::string_view::npos || suffix == "EP" || suffix == "DP_EP")) {
            pass.comm = word;
            pass.kind = kind;
            pass.group_suffix = suffix;
            return pass;
        }
    refuse_line(file_, lines_.number(), fmt::format("the {} collective is {}", name, quoted(word)),
                kCommWords);
}

LayerRow TableReader::row(std::string_view line) {
    const auto fields = blank_separated(line);
    const std::size_t expected = kFields + (table_.policy == LayerPolicy::customized ? 1 : 0);
    if (fields.size() != expected)
        refuse_line(file_, lines_.number(), fmt::format("{} fields of a layer; {}", fields.size(), expected),
                    kRowFields);
    LayerRow row;
    row.name = fields[0];
    row.policy = table_.policy;
    if (fields[1] != "-1")
        row.dependency =
            static_cast<std::int64_t>(number(fields[1], "the dependency (-1: none)", kMostLayers));
    row.forward = pass(fields, 2, "forward");
    row.input_gradient = pass(fields, 5, "input-gradient");
    row.weight_gradient = pass(fields, 8, "weight-gradient");
    row.update = static_cast<TimeNs>(number(fields[11], "the update time", kMostTime));
    if (table_.policy == LayerPolicy::customized) {
        const auto policy = layer_policy(fields[12]);
        if (!policy || *policy == LayerPolicy::customized)
            refuse_line(file_, lines_.number(),
                        fmt::format("the layer's policy is {}; DATA, MODEL, HYBRID_DATA_MODEL or "
                                    "HYBRID_MODEL_DATA",
                                    quoted(fields[12])));
        row.policy = *policy;
    }
    return row;
}

LayerTable TableReader::read() {
    std::string_view line;
    if (!lines_.next_filled(line))
        refuse_line(file_, 1, "an empty file");
    header(line);
    const std::uint64_t layers = count();
    while (lines_.next_filled(line)) {
        if (table_.rows.size() == layers)
            refuse_line(file_, lines_.number(), fmt::format("more than the {} layers of line 2", layers));
        table_.rows.push_back(row(line));
    }
    if (table_.rows.size() < layers)
        refuse_line(file_, lines_.number(),
                    fmt::format("{} layers; line 2 says {}", table_.rows.size(), layers),
                    "is the file whole?");
    if (layers == 0)
        refuse_line(file_, lines_.number(), "a table without layers");
    for (const auto* list : {&table_.checkpoints, &table_.recompute_starters})
        for (const std::uint32_t layer : *list)
            if (layer >= layers)
                refuse_line(file_, 1,
                            fmt::format("layer {} of the header; the last is {}", layer, layers - 1));
    return std::move(table_);
}

} // namespace

std::optional<LayerPolicy> layer_policy(std::string_view word) {
    for (const auto& [known, policy] : kPolicies)
        if (word == known)
            return policy;
    return std::nullopt;
}

LayerTable read_layer_table(std::string_view text, const std::string& file) {
    return TableReader(text, file).read();
}

} // namespace echosim
