// SPDX-License-Identifier: Apache-2.0
// `nvidia-smi topo -m`: a matrix of GPUs and NICs. A cell names the worst part of the way: NV# (# NVLinks),
// PIX (one PCIe bridge), PXB (several), PHB (host bridge of a CPU), NODE (between host bridges), SYS (between
// sockets; older drivers: SOC). Behind the cells of a GPU stand its CPUs and its NUMA node; below the matrix,
// in newer drivers, which device NIC0 is. nvidia-smi says neither the GPU type nor the speed of a NIC.
#include "simulator/catalogue/topology_gpus.h"
#include "simulator/catalogue/topology_text.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <map>
#include <set>

namespace echosim {
namespace {

constexpr std::string_view kHint = "give the whole output of nvidia-smi topo -m, from the line of GPU0 on";

bool is_gpu(std::string_view label) {
    return label.starts_with("GPU") && label.size() > 3 &&
           std::all_of(label.begin() + 3, label.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_cell(std::string_view word) {
    static const std::set<std::string_view> names = {"X", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC", "N/A"};
    return names.count(word) != 0 || (word.starts_with("NV") && leading_int(word.substr(2)));
}

int links_of(std::string_view cell) {
    return cell.starts_with("NV") ? leading_int(cell.substr(2)).value_or(0) : 0;
}

struct Row {
    int line = 0;
    std::vector<std::string> cells;
    std::string numa;
};

struct Matrix {
    int line = 0;
    std::vector<std::string> columns; // "GPU0", "NIC0" or, in older drivers, "mlx5_0"
    std::map<std::string, Row> rows;
    std::map<std::string, std::string> legend; // "NIC0" -> "mlx5_0"
};

// Terminals and mails break long lines: the header and a row go on until they are complete.
class Reader {
  public:
    Reader(const std::string& name, TopologyFacts& facts) : name_(name), facts_(facts) {}

    Matrix read(std::string_view text) {
        LineReader lines(text);
        for (std::string_view line; lines.next(line);) {
            line_ = lines.number();
            take(line);
        }
        finish_row();
        return std::move(matrix_);
    }

  private:
    void take(std::string_view line) {
        const auto words = words_of(line);
        if (words.empty() || matrix_done_)
            return read_legend(words);
        const bool row = words.size() > 1 && is_cell(words[1]) && known(words[0]);
        if (row)
            return begin_row(words);
        if (rows_begun_ && is_cell(words[0]) && !complete())
            return continue_row(words, 0);
        if (rows_begun_ && words[0] == "Legend:") {
            matrix_done_ = true;
            return;
        }
        if (!rows_begun_ && (words[0] == "GPU0" || !matrix_.columns.empty()))
            return header(words);
        if (matrix_.columns.empty())
            product(line);
    }

    // "GPU 0: NVIDIA H100 80GB HBM3 (UUID: ...)" of nvidia-smi -L, often pasted along.
    void product(std::string_view line) {
        const std::string_view text = trimmed(line);
        if (text.starts_with("GPU ") && leading_int(text.substr(4)) &&
            text.find(':') != std::string_view::npos)
            note_product(text, line_, facts_);
    }

    void header(const std::vector<std::string_view>& words) {
        if (matrix_.columns.empty())
            matrix_.line = line_;
        for (const std::string_view word : words) {
            header_done_ = header_done_ || word == "CPU" || word == "NUMA" || word == "Affinity";
            if (!header_done_ && matrix_.columns.size() < 4096)
                matrix_.columns.emplace_back(word);
        }
    }

    bool known(std::string_view label) const {
        return std::find(matrix_.columns.begin(), matrix_.columns.end(), label) != matrix_.columns.end();
    }

    bool complete() const { return row_.cells.size() >= matrix_.columns.size(); }

    void begin_row(const std::vector<std::string_view>& words) {
        finish_row();
        rows_begun_ = true;
        label_ = words[0];
        row_ = {.line = line_, .cells = {}, .numa = {}};
        continue_row(words, 1);
    }

    void continue_row(const std::vector<std::string_view>& words, std::size_t from) {
        std::size_t i = from;
        for (; i < words.size() && !complete() && is_cell(words[i]); ++i)
            row_.cells.emplace_back(words[i]);
        if (complete() && i + 1 < words.size())
            row_.numa = words[i + 1];
    }

    void finish_row() {
        if (label_.empty())
            return;
        if (!complete())
            throw InputError(fmt::format("{}:{}", name_, row_.line),
                             fmt::format("the row of {} has {} of {} cells", label_, row_.cells.size(),
                                         matrix_.columns.size()),
                             std::string(kHint));
        matrix_.rows.emplace(label_, std::move(row_));
        label_.clear();
    }

    void read_legend(const std::vector<std::string_view>& words) {
        if (words.size() == 2 && words[0].starts_with("NIC") && words[0].ends_with(':'))
            matrix_.legend.emplace(words[0].substr(0, words[0].size() - 1), words[1]);
    }

    const std::string& name_;
    TopologyFacts& facts_;
    Matrix matrix_;
    int line_ = 0;
    bool header_done_ = false;
    bool rows_begun_ = false;
    bool matrix_done_ = false;
    std::string label_;
    Row row_;
};

// NVLinks of every GPU row. Through a switch each cell states all links of the GPU, so that their sum is more
// than any GPU has (18); with direct links each states those of one pair.
void note_nvlinks(const Matrix& matrix, int gpus, TopologyFacts& facts) {
    constexpr int kMostLinks = 18;
    std::map<int, int> totals; // links -> GPUs
    int peers = 0;
    int line = 0;
    bool through_switch = false;
    for (const auto& [label, row] : matrix.rows) {
        if (!is_gpu(label))
            continue;
        int sum = 0, widest = 0, linked = 0;
        for (const std::string& cell : row.cells) {
            sum += links_of(cell);
            widest = std::max(widest, links_of(cell));
            linked += links_of(cell) > 0 ? 1 : 0;
        }
        const bool switched = sum > kMostLinks || (widest == kMostLinks && linked == 1);
        through_switch = through_switch || switched;
        ++totals[switched ? widest : sum];
        peers = std::max(peers, linked);
        line = line == 0 ? row.line : std::min(line, row.line);
    }
    if (gpus < 2)
        return; // one GPU has nobody to show links to
    const auto most = std::max_element(totals.begin(), totals.end(), [](const auto& a, const auto& b) {
        return a.second < b.second || (a.second == b.second && a.first < b.first);
    });
    if (totals.size() > 1)
        facts.warnings.push_back(fmt::format("GPUs have different numbers of NVLinks ({} to {}): {} is taken",
                                             totals.begin()->first, totals.rbegin()->first, most->first));
    facts.nvlinks.note(most->first, line);
    facts.nvswitch.note(through_switch, line);
    facts.nvlink_peers = through_switch ? 0 : peers;
}

FabricKind kind_of(std::string_view device) {
    if (device.starts_with("rdmap") || device.starts_with("efa"))
        return FabricKind::efa;
    if (device.starts_with("hfi1"))
        return FabricKind::omnipath;
    if (device.starts_with("mlx5_bond") || device.starts_with("bnxt_re") || device.starts_with("irdma") ||
        device.starts_with("rocep"))
        return FabricKind::roce;
    return device.starts_with("ibp") ? FabricKind::infiniband : FabricKind::none;
}

void note_nics(const Matrix& matrix, TopologyFacts& facts) {
    for (std::size_t i = 0; i < matrix.columns.size(); ++i) {
        const std::string& column = matrix.columns[i];
        if (is_gpu(column))
            continue;
        const auto found = matrix.legend.find(column);
        SeenNic nic{.name = found == matrix.legend.end() ? column : found->second, .line = matrix.line};
        nic.kind = kind_of(nic.name);
        for (const auto& [label, row] : matrix.rows)
            nic.near_gpu =
                nic.near_gpu || (is_gpu(label) && (row.cells[i] == "PIX" || row.cells[i] == "PXB"));
        if (const auto row = matrix.rows.find(column); row != matrix.rows.end())
            nic.line = row->second.line;
        facts.nics.push_back(std::move(nic));
    }
}

void note_sockets(const Matrix& matrix, TopologyFacts& facts) {
    std::set<std::string> numa;
    int line = 0;
    for (const auto& [label, row] : matrix.rows)
        if (is_gpu(label) && leading_int(row.numa)) {
            numa.insert(row.numa);
            line = line == 0 ? row.line : std::min(line, row.line);
        }
    if (!numa.empty() && numa.size() <= 2) // more of them are parts of two sockets
        facts.sockets.note(static_cast<int>(numa.size()), line);
}

} // namespace

TopologyFacts read_nvidia_smi_topology(std::string_view text, const std::string& name) {
    TopologyFacts facts;
    const std::string plain = without_ansi(text);
    const Matrix matrix = Reader(name, facts).read(plain);
    int gpus = 0;
    std::vector<std::string> missing;
    for (const std::string& column : matrix.columns)
        if (is_gpu(column)) {
            ++gpus;
            if (matrix.rows.count(column) == 0)
                missing.push_back(column);
        }
    if (!missing.empty())
        throw InputError(fmt::format("{}:{}", name, matrix.line),
                         fmt::format("the matrix has {} GPUs, but no row of {}", gpus, missing.front()),
                         std::string(kHint));
    facts.gpus.note(gpus, matrix.line);
    note_nvlinks(matrix, gpus, facts);
    note_nics(matrix, facts);
    note_sockets(matrix, facts);
    return facts;
}

} // namespace echosim
