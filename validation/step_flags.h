// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace echosim {

class RowFields;
class FlagWriter;

// The fields of a step row as Megatron flags. Fields that are null are left to Megatron's defaults; `notes`
// names those of the layout that matter.
void write_step_flags(RowFields& fields, const std::string& software, FlagWriter& writer,
                      std::vector<std::string>& notes);

} // namespace echosim
