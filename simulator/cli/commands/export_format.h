// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/trace.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace echosim {

enum class ExportFormat : std::uint8_t { perfetto, chrome, chakra, sqlite, csv };

std::optional<ExportFormat> export_format_from(std::string_view word);
bool is_one_rank_a_file(ExportFormat format);

// Refuses endings that belong to another format. Files of one rank may become a folder, which has no ending.
void check_export_path(const std::string& path, ExportFormat format);
// Where there is one rank, and so a file: refuses a name without the ending of the format.
void check_path_of_rank(const std::string& path, ExportFormat format);

// "rank_3.json.gz", "job.3.et"; a class without a rank: "process_3.json.gz".
std::string file_name_of(ExportFormat format, std::uint32_t number, bool is_rank);

void write_export(const Trace& trace, const std::string& path, ExportFormat format);

// Kernels, communication kernels among them, of a file that write_export wrote.
std::uint64_t kernels_in_file(const std::string& path, ExportFormat format);

// "; open it in https://ui.perfetto.dev"
std::string usage_of(ExportFormat format, const std::string& path);

} // namespace echosim
