// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/topology_source.h"

#include "simulator/catalogue/network_facts.h"
#include "simulator/catalogue/network_settings.h"
#include "simulator/catalogue/topology_assembly.h"
#include "simulator/catalogue/topology_text.h"
#include "simulator/core/error.h"
#include "simulator/core/files.h"

#include <nlohmann/json.hpp>

namespace echosim {
namespace {

ImportedCluster read_kind(TopologyKind kind, std::string_view text, const std::string& name,
                          const std::string& gpu) {
    switch (kind) {
    case TopologyKind::nccl_xml:
        return assemble_cluster(kind, read_nccl_topology_xml(text, name), name, gpu);
    case TopologyKind::nvidia_smi:
        return assemble_cluster(kind, read_nvidia_smi_topology(text, name), name, gpu);
    case TopologyKind::astra_network:
        return assemble_network(kind, read_astra_network(text, name), name, gpu);
    case TopologyKind::simai_topology:
        return assemble_network(kind, read_simai_topology(text, name), name, gpu);
    case TopologyKind::nccl_log:
        break;
    }
    return assemble_cluster(kind, read_nccl_log(text, name), name, gpu);
}

} // namespace

// A log that also shows a matrix is a log.
std::optional<TopologyKind> topology_kind(std::string_view text) {
    if (text.substr(0, 1U << 20U).find("<system") != std::string_view::npos)
        return TopologyKind::nccl_xml;
    if (is_simai_topology(text))
        return TopologyKind::simai_topology;
    if (is_astra_network(text))
        return TopologyKind::astra_network;
    if (text.find("NCCL INFO ") != std::string_view::npos)
        return TopologyKind::nccl_log;
    LineReader lines(text);
    for (std::string_view line; lines.next(line);) {
        const std::size_t at = line.find("GPU0");
        if (at == std::string_view::npos || at > 64)
            continue;
        const std::string plain = without_ansi(line.substr(0, 256));
        const auto words = words_of(plain);
        if (!words.empty() && words[0] == "GPU0")
            return TopologyKind::nvidia_smi;
    }
    return std::nullopt;
}

std::string_view to_string(TopologyKind kind) {
    switch (kind) {
    case TopologyKind::nccl_xml:
        return "NCCL topology XML";
    case TopologyKind::nvidia_smi:
        return "nvidia-smi topo -m";
    case TopologyKind::nccl_log:
        return "NCCL log";
    case TopologyKind::astra_network:
        return "ASTRA-sim network";
    case TopologyKind::simai_topology:
        return "SimAI topology";
    }
    return "?";
}

ImportedCluster cluster_from_topology(std::string_view text, const std::string& name,
                                      const std::string& gpu) {
    const auto kind = topology_kind(text);
    if (!kind) {
        if (const auto foreign = foreign_setting(text, name))
            throw InputError({*foreign});
        throw InputError(
            name,
            "neither an NCCL topology XML (<system ...>), nor nvidia-smi topo -m (a line that begins with "
            "GPU0), "
            "nor a log of NCCL_DEBUG=INFO (\"NCCL INFO\"), nor a network of ASTRA-sim (npus_count) or SimAI "
            "(\"216 8 16 72 768 A100\")",
            "write one with NCCL_TOPO_DUMP_FILE=topo.xml, nvidia-smi topo -m > topo.txt, or NCCL_DEBUG=INFO; "
            "traces and workloads go to echosim import");
    }
    ImportedCluster imported = read_kind(*kind, text, name, gpu);
    // what comes out has to be a cluster file that loads
    imported.cluster = cluster_from_json(cluster_to_json(imported.cluster), name);
    return imported;
}

ImportedCluster read_topology_file(const std::string& path, const std::string& gpu) {
    return cluster_from_topology(read_text_file(path, kMaxTopologyFile), path, gpu);
}

} // namespace echosim
