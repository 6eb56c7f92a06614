// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/samples.h"
#include "interference/samples/csv_rows.h"
#include "simulator/catalogue/gpu.h"

#include <string>
#include <vector>

// The two CSV forms of interference samples (docs/formats.md).
namespace echosim {

struct SamplesForm {
    std::vector<CsvColumn> columns;
    // One row. `gpu`: what is measured where the row does not say, or null.
    InterferenceSample (*read)(CsvValues& values, const Gpu* gpu);
    std::vector<std::string> assumptions; // notes: what the form does not say
    bool has_defaults = false;            // columns that are missing are worth a note
};
const SamplesForm& echo_form(); // of Echo-slowdown
const SamplesForm& own_form();  // of interference_bench

// The GPU of the catalogue that the words mean (an id, or a product name as drivers print it); null when it
// has none.
const Gpu* catalogue_gpu(const std::string& words);

} // namespace echosim
