// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "traces/chakra/comms.h"
#include "traces/chakra/fields.h"
#include "traces/chakra/json.h"
#include "traces/kineto/calls.h"
#include "traces/kineto/text.h"
#include "traces/nccl_names.h"

#include <algorithm>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr std::int64_t kUserScope = 7; // record_function of the program

// Inputs or outputs of an operator: lists as JSON text.
struct Values {
    std::string values = "[]";
    std::string shapes = "[]";
    std::string types = "[]";
};

// Reads one node of either layout: attributes as keys of the node (schema 1.0.1) or in "attrs" (from 1.0.2).
class PyTorchReader {
  public:
    PyTorchReader(const JsonNode& node, GraphBuilder& graph) : node_(node), graph_(graph) {}

    GraphNode read() {
        JsonMembers members(node_.text);
        bool named = false;
        while (members.next()) {
            named = named || members.key() == "id";
            take(members.key(), members.value());
        }
        if (!named) {
            throw InputError(node_.where, "a node without an id", "every node of an execution trace has one");
        }
        const auto root = std::remove(out_.control.begin(), out_.control.end(), out_.id);
        out_.control.erase(root, out_.control.end()); // the root is its own parent
        set_kind();
        if (out_.name == "record_param_comms") {
            out_.comm = recorded_comm(record_, {inputs_.values, inputs_.types, outputs_.values}, graph_);
        } else if (out_.name.find("process_group:init") != std::string::npos) {
            // the first input is a text that holds JSON
            const std::string_view list = inputs_.values;
            read_process_groups(text_of(list.substr(1, list.size() - 2)), graph_);
        }
        keep("inputs", inputs_);
        keep("outputs", outputs_);
        if (!out_.args.empty()) {
            out_.args += '}';
        }
        return std::move(out_);
    }

  private:
    void take(std::string_view key, std::string_view value) {
        if (key == "id") {
            out_.id = node_id(value, node_.where);
        } else if (key == "name") {
            out_.name = text_of(value);
        } else if (key == "parent" || key == "ctrl_deps") {
            out_.control = node_ids(value, node_.where);
        } else if (key == "data_deps") {
            out_.data = node_ids(value, node_.where);
        } else if (key == "ts") {
            out_.start = micros_to_ns(value, graph_.report);
        } else if (key == "inclusive_dur" || key == "dur") {
            out_.duration = micros_to_ns(value, graph_.report);
        } else if (key == "attrs" && value.starts_with('[')) {
            take_listed(value);
        } else if (!take_values(key, value)) {
            take_attribute(key, value);
        }
    }

    // [{"name":"rf_id","type":"uint64","value":2},...]
    void take_listed(std::string_view list) {
        std::string element;
        std::size_t at = 1;
        while (at < list.size() && list[at] != ']') {
            element.clear();
            at = copy_json_value(list, at, element) + 1; // behind the comma or the bracket
            std::string name;
            std::string value;
            for (JsonMembers members(element); members.next();) {
                if (members.key() == "name") {
                    name = text_of(members.value());
                } else if (members.key() == "value") {
                    value = members.value();
                }
            }
            if (name.empty() || value.empty()) {
                graph_.report.warn("unreadable_attribute");
            } else {
                take_attribute(name, value);
            }
            if (list[at - 1] == ']') {
                break;
            }
        }
    }

    // Inputs and outputs: an object of lists, or a list each.
    bool take_values(std::string_view key, std::string_view value) {
        const bool in = key.starts_with("input");
        Values& values = in ? inputs_ : outputs_;
        if (!in && !key.starts_with("output")) {
            return false;
        }
        key.remove_prefix(in ? 5 : 6);
        if (key == "s" && value.starts_with('{')) {
            for (JsonMembers members(value); members.next();) {
                take_list(values, members.key(), members.value());
            }
            return true;
        }
        return take_list(values, key == "s" ? "values" : key.substr(key.starts_with('_') ? 1 : 0), value);
    }

    static bool take_list(Values& values, std::string_view key, std::string_view value) {
        std::string* list = key == "values"   ? &values.values
                            : key == "shapes" ? &values.shapes
                            : key == "types"  ? &values.types
                                              : nullptr;
        if (list != nullptr) {
            *list = value;
        }
        return list != nullptr;
    }

    void take_attribute(std::string_view key, std::string_view value) {
        const std::optional<std::int64_t> number =
            value.starts_with('"') ? std::nullopt : whole_number(value);
        if (says_nothing(key, number, value == R"("")")) {
            return;
        }
        if (key == "tid" && number) {
            thread_ = *number;
        } else if (key == "stream" && number) {
            stream_ = *number;
        } else if (key == "fw_parent" && number && *number >= 0) {
            out_.forward = static_cast<std::uint64_t>(*number);
        } else if (key == "cat" && value.starts_with('"')) {
            category_ = text_of(value);
        } else if (key == "scope" && number == kUserScope) {
            scope_ = *number;
        } else if (!take_comm_attribute(record_, key, value)) {
            add_argument(out_.args, text_of('"' + std::string(key) + '"'), value);
        }
    }

    void set_kind() {
        const std::string& cat = category_;
        if (cat == "kernel") {
            out_.kind = is_nccl_kernel(out_.name) ? EventKind::comm : EventKind::kernel;
        } else if (cat == "gpu_memcpy") {
            out_.kind = EventKind::memcpy;
            out_.copy.kind = copy_of_name(out_.name);
        } else if (cat == "gpu_memset") {
            out_.kind = EventKind::memset;
            out_.copy.kind = CopyKind::memset;
        } else if (cat == "cuda_runtime" || cat == "cuda_driver") {
            out_.kind = EventKind::api;
        } else if (cat.empty() || cat == "cpu_op" || cat == "user_annotation") {
            out_.kind =
                scope_ == kUserScope || cat == "user_annotation" ? EventKind::annotation : EventKind::host;
        } else {
            out_.kind = EventKind::other;
            out_.category = cat;
        }
        out_.on_device = is_device_work(out_.kind);
        out_.lane = out_.on_device ? stream_ : thread_;
    }

    void keep(const char* key, const Values& values) {
        if (values.values != "[]" || values.shapes != "[]" || values.types != "[]") {
            add_argument(out_.args, key,
                         fmt::format(R"({{"values":{},"shapes":{},"types":{}}})", values.values,
                                     values.shapes, values.types));
        }
    }

    const JsonNode& node_;
    GraphBuilder& graph_;
    GraphNode out_;
    CommRecord record_;
    Values inputs_;
    Values outputs_;
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
