// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra_comms.h"
#include "traces/chakra_fields.h"
#include "traces/chakra_json.h"

#include "simulator/core/error.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kUserScope = 7; // record_function of the program

// Reads one node of either layout: attributes as keys of the node (schema 1.0.1) or in "attrs" (from 1.0.2).
class PyTorchReader {
  public:
    PyTorchReader(const JsonNode& node, GraphBuilder& graph) : node_(node), graph_(graph) {}

    GraphNode read() {
        const auto id = node_.value.find("id");
        if (id == node_.value.end()) {
            throw InputError(node_.where, "a node without an id", "every node of an execution trace has one");
        }
        out_.id = node_id(*id, node_.where);
        for (const auto& [key, value] : node_.value.items()) {
            take(key, value);
        }
        set_kind();
        if (out_.name == "record_param_comms") {
            out_.comm = recorded_comm(record_, graph_);
        } else if (out_.name.find("process_group:init") != std::string::npos && !record_.inputs.empty() &&
                   record_.inputs[0].is_string()) {
            read_process_groups(record_.inputs[0].get<std::string>(), graph_);
        }
        keep_values("inputs", record_.inputs, input_shapes_, record_.input_types);
        keep_values("outputs", record_.outputs, output_shapes_, output_types_);
        if (!out_.args.empty()) {
            out_.args += '}';
        }
        return std::move(out_);
    }

  private:
    void take(const std::string& key, const Json& value) {
        if (key == "name") {
            out_.name = value.is_string() ? value.get<std::string>() : value.dump();
        } else if (key == "parent" || key == "ctrl_deps") {
            take_ids(value, out_.control);
        } else if (key == "data_deps") {
            take_ids(value, out_.data);
        } else if (key == "ts") {
            out_.start = micros_to_ns(value, graph_.report);
        } else if (key == "inclusive_dur" || key == "dur") {
            out_.duration = micros_to_ns(value, graph_.report);
        } else if (key == "attrs" && value.is_array()) {
            for (const Json& attribute : value) {
                take_listed(attribute);
            }
        } else if (!take_values(key, value) && key != "id") {
            take_attribute(key, value);
        }
    }

    void take_listed(const Json& attribute) {
        const bool named = attribute.is_object() && attribute.contains("name") && attribute["name"].is_string() &&
                           attribute.contains("value");
        if (named) {
            take_attribute(attribute["name"].get<std::string>(), attribute["value"]);
        } else {
            graph_.report.warn("unreadable_attribute");
        }
    }

    void take_ids(const Json& value, std::vector<std::uint64_t>& ids) {
        for (const Json& id : value.is_array() ? value : Json::array({value})) {
            const std::uint64_t number = node_id(id, node_.where);
            if (number != out_.id) { // the root is its own parent
                ids.push_back(number);
            }
        }
    }

    // Inputs and outputs: an object of lists, or a list each.
    bool take_values(const std::string& key, const Json& value) {
        if (key == "inputs" || key == "outputs") {
            const bool in = key == "inputs";
            Json& values = in ? record_.inputs : record_.outputs;
            values = value.is_object() ? value.value("values", Json::array()) : value;
            if (value.is_object()) {
                (in ? input_shapes_ : output_shapes_) = value.value("shapes", Json::array());
                (in ? record_.input_types : output_types_) = value.value("types", Json::array());
            }
            return true;
        }
        Json* list = key == "input_shapes"   ? &input_shapes_
                     : key == "input_types"  ? &record_.input_types
                     : key == "output_shapes" ? &output_shapes_
                     : key == "output_types" ? &output_types_
                                             : nullptr;
        if (list != nullptr) {
            *list = value;
        }
        return list != nullptr;
    }

    // What only numbers records (rf_id) and what says "none" is not kept.
    void take_attribute(const std::string& key, const Json& value) {
        const std::optional<std::int64_t> number = whole_number(value);
        if (key == "rf_id" || (key == "seq_id" && number == -1) || (key == "fw_tid" && number == 0) ||
            (key == "op_schema" && value == "")) {
            return;
        }
        if (key == "tid" && number) {
            thread_ = *number;
        } else if (key == "stream" && number) {
            stream_ = *number;
        } else if (key == "fw_parent" && number && *number >= 0) {
            out_.forward = static_cast<std::uint64_t>(*number);
        } else if (key == "cat" && value.is_string()) {
            category_ = value.get<std::string>();
        } else if (key == "scope" && number && (*number == 0 || *number == kUserScope)) {
            scope_ = *number;
        } else if (!take_comm_attribute(record_, key, value)) {
            add_argument(out_.args, key, value.dump());
        }
    }

    void set_kind() {
        const std::string& cat = category_;
        const bool nccl = out_.name.starts_with("nccl") || out_.name.starts_with("rccl");
        if (cat == "kernel") {
            out_.kind = nccl ? EventKind::comm : EventKind::kernel;
        } else if (cat == "gpu_memcpy") {
            out_.kind = EventKind::memcpy;
            out_.copy.kind = copy_kind();
        } else if (cat == "gpu_memset") {
            out_.kind = EventKind::memset;
            out_.copy.kind = CopyKind::memset;
        } else if (cat == "cuda_runtime" || cat == "cuda_driver") {
            out_.kind = EventKind::api;
        } else if (cat.empty() || cat == "cpu_op" || cat == "user_annotation") {
            out_.kind = scope_ == kUserScope || cat == "user_annotation" ? EventKind::annotation : EventKind::host;
        } else {
            out_.kind = EventKind::other;
            out_.category = cat;
        }
        out_.on_device = is_device_work(out_.kind);
        out_.lane = out_.on_device ? stream_ : thread_;
    }

    // "Memcpy HtoD (Pageable -> Device)"
    CopyKind copy_kind() const {
        for (const CopyKind kind : {CopyKind::host_to_device, CopyKind::device_to_host, CopyKind::device_to_device,
                                    CopyKind::peer_to_peer, CopyKind::host_to_host}) {
            if (out_.name.find(to_string(kind)) != std::string::npos) {
                return kind;
            }
        }
        return CopyKind::unknown;
    }

    void keep_values(const char* key, const Json& values, const Json& shapes, const Json& types) {
        if (!values.empty() || !shapes.empty() || !types.empty()) {
            add_argument(out_.args, key,
                         fmt::format(R"({{"values":{},"shapes":{},"types":{}}})", values.dump(), shapes.dump(),
                                     types.dump()));
        }
    }

    const JsonNode& node_;
    GraphBuilder& graph_;
    GraphNode out_;
    CommRecord record_;
    Json input_shapes_ = Json::array();
    Json output_shapes_ = Json::array();
    Json output_types_ = Json::array();
    std::string category_;
    std::int64_t thread_ = -1;
    std::int64_t stream_ = -1;
    std::int64_t scope_ = 0;
};

} // namespace

void add_pytorch_node(const JsonNode& node, GraphBuilder& graph) {
    graph.add(PyTorchReader(node, graph).read());
}

} // namespace echosim
