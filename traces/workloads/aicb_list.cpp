// SPDX-License-Identifier: Apache-2.0
#include "traces/workloads/aicb_list.h"

#include "traces/workloads/lines.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>

namespace echosim {
namespace {

constexpr std::uint64_t kMostRanks = 1U << 22U;
constexpr std::uint64_t kMostBytes = 1ULL << 60U;
constexpr double kMostElapsed = 1e15;

constexpr std::array<std::string_view, 13> kTypes = {"all_reduce",
                                                     "all_gather",
                                                     "all_gather_into_tensor",
                                                     "reduce_scatter",
                                                     "reduce_scatter_tensor",
                                                     "all_to_all",
                                                     "broadcast",
                                                     "reduce",
                                                     "barrier",
                                                     "isend",
                                                     "irecv",
                                                     "computation",
                                                     "epoch_end"};
constexpr std::array<std::string_view, 9> kGroups = {"tp_group", "dp_group",        "pp_group",
                                                     "ep_group", "ep_tp_group",     "ep_dp_group",
                                                     "cp_group", "embedding_group", "all"};

// Columns that are read, and where they stand in this file; -1: nowhere.
struct Columns {
    int type = -1;
    int group = -1;
    int group_size = -1;
    int bytes = -1;
    int stage = -1;
    int destination = -1;
    int source = -1;
    int additional = -1;
    int elapsed = -1;
    int repeats = -1;
    std::size_t count = 0;
};

bool none(std::string_view field) {
    return field.empty() || field == "None";
}

std::string listed(const auto& words) {
    std::string all;
    for (const std::string_view word : words)
        all += (all.empty() ? "" : ", ") + std::string(word);
    return all;
}

class ListReader {
  public:
    ListReader(std::string_view text, const std::string& file) : lines_(text), file_(file) {}
    std::vector<AicbSection> read();

  private:
    void ranks_line(std::string_view line);
    void header(std::string_view line);
    AicbOp op(std::string_view line);
    void message(std::string_view field, AicbOp& op);
    std::string_view enumerator(std::string_view field, std::string_view prefix, const char* what);
    std::int32_t rank(std::string_view field, const char* what);
    void number(std::string_view field, const char* what, double& value);
    [[noreturn]] void refuse(std::string message, std::string hint = {}) {
        refuse_line(file_, lines_.number(), std::move(message), std::move(hint));
    }

    TextLines lines_;
    const std::string& file_;
    Columns columns_;
    std::vector<AicbSection> sections_;
    std::size_t rank_count_ = 0; // of all sections
};

// The numbers behind each "rank" of the line.
std::vector<std::uint64_t> rank_numbers(std::string_view line) {
    std::vector<std::uint64_t> numbers;
    for (std::size_t at = line.find("rank"); at != std::string_view::npos; at = line.find("rank", at)) {
        at += 4;
        const std::size_t end = std::min(line.find_first_not_of("0123456789", at), line.size());
        numbers.push_back(whole_number(line.substr(at, end - at), kMostRanks - 1).value_or(kMostRanks));
    }
    return numbers;
}

void ListReader::ranks_line(std::string_view line) {
    AicbSection section;
    const std::vector<std::uint64_t> numbers = rank_numbers(line);
    if (numbers.empty() || *std::max_element(numbers.begin(), numbers.end()) >= kMostRanks)
        refuse(fmt::format("ranks {}: no number, or one above {}", quoted(line), kMostRanks - 1),
               "\"[rank0 ~ rank127]\" or \"[ pp_stage0: [rank0, rank1] ]\"");
    if (line.find('~') == std::string_view::npos) {
        for (const std::uint64_t number : numbers)
            section.ranks.push_back(static_cast<int>(number));
    } else {
        if (numbers.size() != 2 || numbers[1] < numbers[0])
            refuse(fmt::format("ranks {}: not from one to another", quoted(line)), "\"[rank0 ~ rank127]\"");
        for (std::uint64_t number = numbers[0]; number <= numbers[1]; ++number)
            section.ranks.push_back(static_cast<int>(number));
    }
    rank_count_ += section.ranks.size();
    if (rank_count_ > kMostRanks)
        refuse(fmt::format("more than {} ranks in all", kMostRanks));
    const std::size_t stage = line.find("pp_stage");
    if (stage != std::string_view::npos) {
        const std::size_t begin = stage + 8;
        const std::size_t end = std::min(line.find_first_not_of("0123456789", begin), line.size());
        const auto number = whole_number(line.substr(begin, end - begin), 1U << 20U);
        section.stage = number ? static_cast<std::int32_t>(*number) : -1;
    }
    sections_.push_back(std::move(section));
    columns_ = {};
}

void ListReader::header(std::string_view line) {
    columns_ = {};
    const auto names = comma_separated(line);
    columns_.count = names.size();
    for (std::size_t i = 0; i < names.size(); ++i) {
        const int at = static_cast<int>(i);
        const std::array<std::pair<std::string_view, int*>, 10> known{
            {{"comm_type", &columns_.type},
             {"comm_group", &columns_.group},
             {"comm_group_size", &columns_.group_size},
             {"msg_size", &columns_.bytes},
             {"stage", &columns_.stage},
             {"dst", &columns_.destination},
             {"src", &columns_.source},
             {"additional", &columns_.additional},
             {"_elapsed_time", &columns_.elapsed},
             {"count", &columns_.repeats}}};
        for (const auto& [name, column] : known)
            if (names[i] == name) {
                if (*column >= 0)
                    refuse(fmt::format("the column {} is there twice", quoted(name)));
                *column = at;
            }
    }
    const std::array<std::pair<int, const char*>, 4> needed{{{columns_.type, "comm_type"},
                                                             {columns_.group, "comm_group"},
                                                             {columns_.bytes, "msg_size"},
                                                             {columns_.stage, "stage"}}};
    for (const auto& [column, name] : needed)
        if (column < 0)
            refuse(fmt::format("no column \"{}\"", name), "AICB writes comm_type,comm_group,comm_group_size,"
                                                          "msg_size,stage,dst,src,additional,...");
    if (sections_.empty() || !sections_.back().ops.empty())
        sections_.emplace_back();
}

// "CommType.all_reduce" without its prefix; "None" is empty.
std::string_view ListReader::enumerator(std::string_view field, std::string_view prefix, const char* what) {
    if (field == "None")
        return {};
    if (!field.starts_with(prefix))
        refuse(fmt::format("{} is {}; {}... or None", what, quoted(field), prefix));
    return field.substr(prefix.size());
}

std::int32_t ListReader::rank(std::string_view field, const char* what) {
    if (none(field))
        return -1;
    const auto number = whole_number(field, kMostRanks - 1);
    if (!number)
        refuse(fmt::format("{} is {}; a rank or None", what, quoted(field)));
    return static_cast<std::int32_t>(*number);
}

// Leaves the value as it is where the field is None.
void ListReader::number(std::string_view field, const char* what, double& value) {
    if (none(field))
        return;
    const auto read = decimal_number(field, kMostElapsed);
    if (!read)
        refuse(fmt::format("{} is {}; a number from 0 or None", what, quoted(field)));
    value = *read;
}

void ListReader::message(std::string_view field, AicbOp& op) {
    if (op.type == "computation") {
        op.shapes = field;
        return;
    }
    // Python writes large sizes as floats where a division made them
    const auto bytes = decimal_number(field, static_cast<double>(kMostBytes));
    if (!bytes)
        refuse(fmt::format("msg_size is {}; bytes from 0 to {}", quoted(field), kMostBytes));
    op.bytes = static_cast<Bytes>(*bytes);
}

AicbOp ListReader::op(std::string_view line) {
    const auto fields = comma_separated(line);
    if (fields.size() != columns_.count)
        refuse(fmt::format("{} fields; the header has {}", fields.size(), columns_.count));
    const auto field = [&](int column) {
        return column < 0 ? std::string_view{} : fields[static_cast<std::size_t>(column)];
    };
    AicbOp op;
    op.stage = field(columns_.stage);
    op.type = enumerator(field(columns_.type), "CommType.", "comm_type");
    if (std::find(kTypes.begin(), kTypes.end(), op.type) == kTypes.end())
        refuse(fmt::format("unknown comm_type {}", quoted(field(columns_.type))),
               "CommType.* of: " + listed(kTypes));
    op.group = enumerator(field(columns_.group), "CommGroup.", "comm_group");
    if (!op.group.empty() && std::find(kGroups.begin(), kGroups.end(), op.group) == kGroups.end())
        refuse(fmt::format("unknown comm_group {}", quoted(field(columns_.group))),
               "CommGroup.* of: " + listed(kGroups));
    if (!none(field(columns_.group_size))) {
        const auto size = whole_number(field(columns_.group_size), kMostRanks);
        if (!size)
            refuse(fmt::format("comm_group_size is {}; a number up to {} or None",
                               quoted(field(columns_.group_size)), kMostRanks));
        op.group_size = static_cast<std::uint32_t>(*size);
    }
    message(field(columns_.bytes), op);
    op.destination = rank(field(columns_.destination), "dst");
    op.source = rank(field(columns_.source), "src");
    op.additional = none(field(columns_.additional)) ? std::string_view{} : field(columns_.additional);
    number(field(columns_.elapsed), "_elapsed_time", op.elapsed);
    number(field(columns_.repeats), "count", op.repeats);
    return op;
}

std::vector<AicbSection> ListReader::read() {
    bool any = false;
    for (std::string_view line; lines_.next_filled(line);) {
        line = without_blanks(line);
        if (is_aicb_ranks_line(line)) {
            ranks_line(line);
        } else if (is_aicb_header(line)) {
            header(line);
        } else if (columns_.count == 0) {
            refuse(fmt::format("{} where a header belongs", quoted(line)),
                   "AICB writes comm_type,comm_group,...");
        } else {
            sections_.back().ops.push_back(op(line));
            any = true;
        }
    }
    if (!any)
        refuse("no operation in the file");
    return std::move(sections_);
}

} // namespace

bool is_aicb_ranks_line(std::string_view line) {
    if (!line.starts_with('['))
        return false;
    const std::string_view rest = without_blanks(line.substr(1));
    return rest.starts_with("rank") || rest.starts_with("pp_stage");
}

bool is_aicb_header(std::string_view line) {
    return line.starts_with("comm_type,") || line.starts_with("comm_group,");
}

std::vector<AicbSection> read_aicb_list(std::string_view text, const std::string& file) {
    return ListReader(text, file).read();
}

} // namespace echosim
