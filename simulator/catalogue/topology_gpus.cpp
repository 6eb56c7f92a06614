// SPDX-License-Identifier: Apache-2.0
// Sources: PCI ids of the vendors as the public PCI ID repository lists them; product names as nvidia-smi and
// nccl-tests print them; NVLinks of each product from the data sheets in gpus.json.
#include "simulator/catalogue/topology_gpus.h"

#include "simulator/core/suggest.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <utility>

namespace echosim {
namespace {

struct Product {
    std::string_view text; // part of the product name, lower case
    std::string_view gpu;
    std::string_view differs = {}; // the product, where the catalogue has only a relative of it
};

// The first one that fits counts: longer names stand before those that they contain.
constexpr auto kProducts = std::to_array<Product>({
    {"gb300", "gb300"},
    {"gb200", "gb200"},
    {"gh200", "gh200"},
    {"b300", "b300-sxm"},
    {"b200", "b200-sxm"},
    {"h200 nvl", "h200-sxm", "H200 NVL"},
    {"h200", "h200-sxm"},
    {"h100 pcie", "h100-pcie"},
    {"h100-pcie", "h100-pcie"},
    {"h100 nvl", "h100-pcie", "H100 NVL"},
    {"h100", "h100-sxm"},
    {"h800 pcie", "h100-pcie", "H800 PCIe"},
    {"h800", "h800-sxm"},
    {"h20", "h20"},
    {"a100-sxm4-40gb", "a100-sxm-40gb"},
    {"a100-sxm-40gb", "a100-sxm-40gb"},
    {"a100-sxm4-80gb", "a100-sxm-80gb"},
    {"a100-sxm-80gb", "a100-sxm-80gb"},
    {"a100-sxm-64gb", "a100-sxm-80gb", "A100 SXM 64 GB"},
    {"a100-pcie-40gb", "a100-pcie-80gb", "A100 PCIe 40 GB"},
    {"a100-pcie", "a100-pcie-80gb"},
    {"a100 80gb pcie", "a100-pcie-80gb"},
    {"a800-sxm4-80gb", "a800-sxm-80gb"},
    {"a800-sxm4-40gb", "a800-sxm-80gb", "A800 SXM4 40 GB"},
    {"a800 80gb pcie", "a100-pcie-80gb", "A800 PCIe 80 GB"},
    {"v100-sxm3", "v100-sxm3-32gb"},
    {"v100-sxm2-32gb", "v100-sxm2-32gb"},
    {"v100-sxm2-16gb", "v100-sxm2-32gb", "V100 SXM2 16 GB"},
    {"l40s", "l40s"},
    {"nvidia l40", "l40s", "L40"},
    {"rtx 4090", "rtx-4090"},
    {"mi250x", "mi250x"},
    {"mi300x", "mi300x"},
    {"mi308x", "mi300x", "MI308X"},
    {"mi325x", "mi325x"},
    {"mi350x", "mi355x", "MI350X"},
    {"mi355x", "mi355x"},
    {"gfx90a", "mi250x"},
    {"gfx942", "mi300x"},
    {"gfx950", "mi355x"},
});

struct Device {
    std::string_view id;
    std::string_view product; // as in kProducts
};

constexpr auto kDevices = std::to_array<Device>({
    {"0x1db1", "v100-sxm2-16gb"}, {"0x1db5", "v100-sxm2-32gb"}, {"0x1db8", "v100-sxm3"},
    {"0x20b0", "a100-sxm4-40gb"}, {"0x20b2", "a100-sxm4-80gb"}, {"0x20b3", "a100-sxm-64gb"},
    {"0x20b5", "a100-pcie"},      {"0x20f1", "a100-pcie-40gb"}, {"0x20bd", "a800-sxm4-40gb"},
    {"0x20f3", "a800-sxm4-80gb"}, {"0x20f5", "a800 80gb pcie"}, {"0x2321", "h100 nvl"},
    {"0x2322", "h800 pcie"},      {"0x2324", "h800"},           {"0x2329", "h20"},
    {"0x2330", "h100"},           {"0x2331", "h100 pcie"},      {"0x2335", "h200"},
    {"0x2336", "h100"},           {"0x2339", "h100"},           {"0x233a", "h800"},
    {"0x233b", "h200 nvl"},       {"0x2342", "gh200"},          {"0x2345", "gh200"},
    {"0x2348", "gh200"},          {"0x2684", "rtx 4090"},       {"0x26b5", "nvidia l40"},
    {"0x26b9", "l40s"},           {"0x2901", "b200"},           {"0x2941", "gb200"},
    {"0x3182", "b300"},           {"0x31c2", "gb300"},          {"0x31c3", "gb300"},
    {"0x7408", "mi250x"},         {"0x740c", "mi250x"},         {"0x74a1", "mi300x"},
    {"0x74a2", "mi308x"},         {"0x74a5", "mi325x"},         {"0x74b5", "mi300x"},
    {"0x74b9", "mi325x"},         {"0x75a0", "mi350x"},         {"0x75a3", "mi355x"},
    {"0x75b3", "mi355x"},
});

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

void note(const Product& product, int line, TopologyFacts& facts) {
    if (facts.gpu)
        return;
    facts.gpu.note(find_gpu(product.gpu), line);
    if (!product.differs.empty())
        facts.gpu_note = fmt::format("the file names {}, which the catalogue lacks: {} is taken",
                                     product.differs, product.gpu);
}

constexpr int kFirstCudaOfAmpere = 1100; // CUDA 11.0 and 11.8
constexpr int kFirstCudaOfHopper = 1108;

std::string_view architecture_of(int sm) {
    return sm >= 100 ? "Blackwell" : sm >= 90 ? "Hopper" : sm >= 80 ? "Ampere" : "Volta";
}

// Candidates, the likeliest first; nothing is known of the compute capability where it is 0.
std::vector<std::string> candidates(const TopologyFacts& facts) {
    const int links = facts.nvlinks.value;
    const bool board = facts.nvswitch.value || facts.nvlink_peers > 1; // not a bridge between two cards
    const bool unknown_links = !facts.nvlinks;
    switch (facts.sm ? facts.sm.value : 0) {
    case 70:
        if (facts.nvswitch.value || facts.gpus.value > 8)
            return {"v100-sxm3-32gb"};
        return {"v100-sxm2-32gb"};
    case 80:
        if (links == 8)
            return {"a800-sxm-80gb"};
        if (board || unknown_links)
            return {"a100-sxm-80gb", "a100-sxm-40gb"};
        return {"a100-pcie-80gb"};
    case 86:
    case 89:
        return {"l40s", "rtx-4090"};
    case 90:
        if (facts.superchip.value)
            return {"gh200"};
        if (links == 8)
            return {"h800-sxm"};
        if (board || unknown_links)
            return {"h100-sxm", "h200-sxm", "h20"};
        return {"h100-pcie"};
    case 100:
        return {facts.superchip.value ? "gb200" : "b200-sxm"};
    case 103:
        return {facts.superchip.value ? "gb300" : "b300-sxm"};
    default:
        break;
    }
    if (unknown_links && facts.cuda && facts.cuda.value < kFirstCudaOfAmpere)
        return {"v100-sxm2-32gb", "v100-sxm3-32gb"};
    if (unknown_links && facts.cuda && facts.cuda.value < kFirstCudaOfHopper)
        return {"a100-sxm-80gb", "a100-sxm-40gb", "v100-sxm2-32gb"};
    if (unknown_links && facts.pcie && facts.pcie.value.gen == 3)
        return {"v100-sxm2-32gb", "a100-sxm-80gb"};
    if (unknown_links && facts.pcie && facts.pcie.value.gen == 4)
        return {"a100-sxm-80gb", "a100-sxm-40gb"};
    if (unknown_links || (board && links >= 18))
        return {"h100-sxm", "h200-sxm", "h20", "b200-sxm", "gb200"};
    if (board && links == 12)
        return {"a100-sxm-80gb", "a100-sxm-40gb"};
    if (board && links == 8)
        return {"h800-sxm", "a800-sxm-80gb"};
    if (board && links == 6)
        return {facts.nvswitch.value ? "v100-sxm3-32gb" : "v100-sxm2-32gb"};
    if (links > 0)
        return {"a100-pcie-80gb", "h100-pcie"};
    return {"l40s", "a100-pcie-80gb", "h100-pcie", "rtx-4090"};
}

std::string what_is_known(const TopologyFacts& facts) {
    std::vector<std::string> known;
    if (facts.sm && facts.sm_derived)
        known.push_back(fmt::format("{} by its NVLinks or multicast", architecture_of(facts.sm.value)));
    else if (facts.sm)
        known.push_back(fmt::format("sm {}", facts.sm.value));
    if (facts.nvlinks)
        known.push_back(facts.nvlinks.value == 0
                            ? std::string("no NVLink")
                            : fmt::format("{} NVLinks{}", facts.nvlinks.value,
                                          facts.nvswitch.value ? " through a switch" : ""));
    if (facts.cuda && facts.cuda.value < kFirstCudaOfHopper)
        known.push_back(
            fmt::format("CUDA {}.{} has no Hopper", facts.cuda.value / 100, facts.cuda.value % 100));
    if (facts.pcie)
        known.push_back(fmt::format("PCIe {}", facts.pcie.value.gen));
    return known.empty() ? std::string("the file says nothing of the GPU") : join(known);
}

} // namespace

void note_device_id(std::string_view id, int line, TopologyFacts& facts) {
    const std::string wanted = lower(id);
    for (const Device& device : kDevices)
        if (device.id == wanted)
            return note_product(device.product, line, facts);
    if (!id.empty())
        facts.unknown_gpu = fmt::format("PCI device {}", id);
}

void note_product(std::string_view text, int line, TopologyFacts& facts) {
    const std::string wanted = lower(text);
    for (const Product& product : kProducts)
        if (wanted.find(product.text) != std::string::npos)
            return note(product, line, facts);
    if (!text.empty())
        facts.unknown_gpu = text.substr(0, 60);
}

GpuGuess guess_gpu(const TopologyFacts& facts) {
    std::vector<std::string> names = candidates(facts);
    GpuGuess guess{names.front(), what_is_known(facts)};
    names.erase(names.begin());
    if (!facts.unknown_gpu.empty())
        guess.reason += fmt::format("; the catalogue lacks \"{}\"", facts.unknown_gpu);
    if (!names.empty())
        guess.reason +=
            fmt::format("; could also be {}: name it with --set cluster.gpu=NAME", join(names, " or "));
    return guess;
}

} // namespace echosim
