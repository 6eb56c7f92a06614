// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/topology_source.h"

#include "simulator/catalogue/topology_assembly.h"
#include "simulator/catalogue/topology_text.h"
#include "simulator/core/error.h"
#include "simulator/core/files.h"

#include <nlohmann/json.hpp>

namespace echosim {
namespace {

TopologyFacts facts_of(TopologyKind kind, std::string_view text, const std::string& name) {
    switch (kind) {
    case TopologyKind::nccl_xml:
        return read_nccl_topology_xml(text, name);
    case TopologyKind::nvidia_smi:
        return read_nvidia_smi_topology(text, name);
    case TopologyKind::nccl_log:
        break;
    }
    return read_nccl_log(text, name);
}

} // namespace

// A log that also shows a matrix is a log.
std::optional<TopologyKind> topology_kind(std::string_view text) {
    if (text.substr(0, 1U << 20U).find("<system") != std::string_view::npos)
        return TopologyKind::nccl_xml;
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
    }
    return "?";
}

ImportedCluster cluster_from_topology(std::string_view text, const std::string& name,
                                      const std::string& gpu) {
    const auto kind = topology_kind(text);
    if (!kind)
        throw InputError(
            name,
            "neither an NCCL topology XML (<system ...>), nor nvidia-smi topo -m (a line that begins "
            "with GPU0), nor a log of NCCL_DEBUG=INFO (\"NCCL INFO\")",
            "write one with NCCL_TOPO_DUMP_FILE=topo.xml, nvidia-smi topo -m > topo.txt, or "
            "NCCL_DEBUG=INFO");
    ImportedCluster imported = assemble_cluster(*kind, facts_of(*kind, text, name), name, gpu);
    // what comes out has to be a cluster file that loads
    imported.cluster = cluster_from_json(cluster_to_json(imported.cluster), name);
    return imported;
}

ImportedCluster read_topology_file(const std::string& path, const std::string& gpu) {
    return cluster_from_topology(read_text_file(path, kMaxTopologyFile), path, gpu);
}

} // namespace echosim
