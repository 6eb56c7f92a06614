// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/nccl_topology_tree.h"

#include "simulator/core/error.h"

#include <algorithm>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <fmt/format.h>
#include <sstream>
#include <utility>

namespace echosim {
namespace {

using Tree = boost::property_tree::ptree;

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxElements = 100000;
constexpr std::string_view kHint =
    "dump it again with NCCL_TOPO_DUMP_FILE=topo.xml; a job that is killed leaves a truncated file";

// Lines of all start tags in the order of the text, which is the order in which the tree is walked: the
// parser keeps no lines. It does not compare end tags either and walks down as deep as the text goes; both is
// checked here.
class ElementLines {
  public:
    ElementLines(int line, const std::string& name) : line_(line), name_(name) {}

    std::vector<int> of(std::string_view text) {
        for (std::size_t i = 0; i < text.size();) {
            const std::size_t begin = std::min(text.find('<', i), text.size());
            line_ += static_cast<int>(std::count(text.begin() + i, text.begin() + begin, '\n'));
            const std::string_view rest = text.substr(begin);
            const std::string_view end = rest.starts_with("<!--") ? "-->" : ">";
            const std::string_view tag = rest.substr(0, rest.find(end));
            take(tag);
            line_ += static_cast<int>(std::count(tag.begin(), tag.end(), '\n'));
            i = begin + tag.size();
        }
        if (!open_.empty())
            fail(
                fmt::format("the file ends inside <{}> of line {}", open_.back().first, open_.back().second));
        return std::move(lines_);
    }

  private:
    [[noreturn]] void fail(const std::string& message) const {
        throw InputError(fmt::format("{}:{}", name_, line_), message, std::string(kHint));
    }

    void take(std::string_view tag) {
        if (tag.size() < 2 || tag[1] == '!' || tag[1] == '?')
            return;
        const bool closes = tag[1] == '/';
        std::string_view name = tag.substr(closes ? 2 : 1);
        name = name.substr(0, name.find_first_of(" \t\r\n/"));
        if (closes && (open_.empty() || open_.back().first != name))
            fail(open_.empty() ? fmt::format("</{}> closes nothing", name)
                               : fmt::format("</{}> where <{}> of line {} is open", name, open_.back().first,
                                             open_.back().second));
        if (closes)
            return open_.pop_back();
        lines_.push_back(line_);
        if (!tag.ends_with('/'))
            open_.emplace_back(name, line_);
        if (lines_.size() > kMaxElements)
            fail(fmt::format("more than {} elements", kMaxElements));
        if (open_.size() > kMaxDepth)
            fail(fmt::format("elements are nested more than {} deep", kMaxDepth));
    }

    int line_;
    const std::string& name_;
    std::vector<int> lines_;
    std::vector<std::pair<std::string_view, int>> open_; // name and line
};

std::string attribute(const Tree& element, const char* key) {
    return element.get(boost::property_tree::path(std::string("<xmlattr>|") + key, '|'), std::string());
}

int int_attribute(const Tree& element, const char* key) {
    const std::string text = attribute(element, key);
    try {
        return text.empty() ? 0 : std::stoi(text, nullptr, 0);
    } catch (const std::exception&) {
        return 0;
    }
}

// Walks the tree in the order of the text and takes it apart.
class Walk {
  public:
    Walk(const std::vector<int>& lines, Machine& machine) : lines_(lines), machine_(machine) {}

    void system(const Tree& tree) {
        for (const auto& [tag, element] : tree)
            if (const int line = begin(tag)) {
                if (tag == "cpu")
                    machine_.cpus.push_back(cpu(element, line));
                children(element, -1);
            }
    }

  private:
    // The line of an element; 0 for the parser's own entries.
    int begin(const std::string& tag) {
        if (tag.starts_with('<') || next_ >= lines_.size())
            return 0;
        return lines_[next_++];
    }

    static CpuElement cpu(const Tree& element, int line) {
        return {.line = line,
                .host = attribute(element, "host_hash"),
                .numa = attribute(element, "numaid"),
                .arch = attribute(element, "arch"),
                .vendor = attribute(element, "vendor"),
                .family = int_attribute(element, "familyid"),
                .model = int_attribute(element, "modelid")};
    }

    void children(const Tree& tree, int parent) {
        for (const auto& [tag, element] : tree) {
            const int line = begin(tag);
            if (line == 0)
                continue;
            if (tag == "pci")
                pci(element, parent, line);
            else if (tag == "gpu" && parent >= 0)
                gpu(element, parent, line);
            else if (tag == "net")
                net(element, parent, line);
            else
                children(element, parent);
        }
    }

    void pci(const Tree& element, int parent, int line) {
        PciElement pci{.line = line,
                       .parent = parent,
                       .host = machine_.cpus.empty() ? std::string() : machine_.cpus.back().host,
                       .pci_class = attribute(element, "class"),
                       .vendor = attribute(element, "vendor"),
                       .device = attribute(element, "device"),
                       .speed = attribute(element, "link_speed"),
                       .width = attribute(element, "link_width"),
                       .gpus = {},
                       .nics = {}};
        machine_.pcis.push_back(std::move(pci));
        children(element, static_cast<int>(machine_.pcis.size()) - 1);
    }

    void gpu(const Tree& element, int parent, int line) {
        GpuElement gpu{
            .line = line, .sm = int_attribute(element, "sm"), .links = {}, .gcn = attribute(element, "gcn")};
        for (const auto& [tag, child] : element) {
            if (begin(tag) == 0)
                continue;
            if (tag == "nvlink" || tag == "xgmi") {
                gpu.links[attribute(child, "target")] += int_attribute(child, "count");
                gpu.to_switch = gpu.to_switch || attribute(child, "tclass").starts_with("0x0680");
            }
            gpu.c2c = gpu.c2c || tag == "c2c";
        }
        machine_.pcis[static_cast<std::size_t>(parent)].gpus.push_back(std::move(gpu));
    }

    void net(const Tree& element, int parent, int line) {
        SeenNic nic{.name = attribute(element, "name"), .line = line};
        nic.bandwidth = std::max(0, int_attribute(element, "speed")) * 1e6 / 8;
        if (parent < 0)
            return machine_.loose_nics.push_back(std::move(nic));
        machine_.pcis[static_cast<std::size_t>(parent)].nics.push_back(std::move(nic));
    }

    const std::vector<int>& lines_;
    Machine& machine_;
    std::size_t next_ = 1; // 0 is the system element itself
};

} // namespace

Machine parse_nccl_topology(std::string_view text, const std::string& name) {
    const std::size_t begin = text.find("<system");
    const std::size_t end = text.rfind("</system>");
    const int first = 1 + static_cast<int>(std::count(text.begin(), text.begin() + begin, '\n'));
    text = text.substr(begin, end == std::string_view::npos || end < begin ? end : end + 9 - begin);
    const std::vector<int> lines = ElementLines(first, name).of(text);
    Tree tree;
    try {
        std::istringstream stream{std::string(text)};
        boost::property_tree::read_xml(stream, tree, boost::property_tree::xml_parser::no_comments);
    } catch (const boost::property_tree::xml_parser_error& error) {
        throw InputError(fmt::format("{}:{}", name, static_cast<int>(error.line()) + first - 1),
                         fmt::format("the XML is damaged or ends too early: {}", error.message()),
                         std::string(kHint));
    }
    Machine machine;
    if (const auto system = tree.get_child_optional("system"))
        Walk(lines, machine).system(*system);
    if (machine.cpus.empty())
        throw InputError(fmt::format("{}:{}", name, first), "the element system holds no cpu",
                         "expected the file that NCCL writes with NCCL_TOPO_DUMP_FILE");
    return machine;
}

} // namespace echosim
