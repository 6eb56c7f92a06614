// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/model.h"
#include "simulator/core/error.h"
#include "simulator/core/files.h"
#include "simulator/core/json.h"
#include "simulator/core/suggest.h"
#include "simulator/workload/launch_script.h"
#include "simulator/workload/megatron_args.h"
#include "simulator/workload/megatron_options.h"

#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

namespace echosim {
namespace {

constexpr Bytes kMaxJobFile = 16_MiB;

bool is_space(char c) {
    return std::isspace(static_cast<unsigned char>(c)) != 0;
}

// Words of a flag list: blanks and line ends between, quotes around, # comments, \ at the end of a line.
class FlagListReader {
  public:
    FlagListReader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

    std::vector<FlagWord> words() {
        while (next_ < text_.size()) {
            const char c = text_[next_];
            if (c == '\n')
                ++line_;
            if (is_space(c))
                ++next_;
            else if (c == '\\' && next_ + 1 < text_.size() && is_space(text_[next_ + 1]))
                ++next_;
            else if (c == '#')
                next_ = std::min(text_.find('\n', next_), text_.size());
            else
                read_word();
        }
        return std::move(words_);
    }

  private:
    void read_word() {
        FlagWord word{"", fmt::format("{}:{}", path_, line_)};
        while (next_ < text_.size() && !is_space(text_[next_])) {
            const char c = text_[next_++];
            if (c == '\'' || c == '"')
                word.text += quoted(c);
            else if (c == '\\' && next_ < text_.size() && !is_space(text_[next_]))
                word.text += text_[next_++];
            else if (c != '\\')
                word.text += c;
        }
        words_.push_back(std::move(word));
    }

    std::string quoted(char quote) {
        const std::size_t end = text_.find(quote, next_);
        if (end == std::string_view::npos) {
            throw InputError(fmt::format("{}:{}", path_, line_),
                             fmt::format("a {} quote is never closed", quote));
        }
        std::string inside(text_.substr(next_, end - next_));
        for (const char c : inside)
            line_ += c == '\n' ? 1 : 0;
        next_ = end + 1;
        return inside;
    }

    std::string_view text_;
    const std::string& path_;
    std::size_t next_ = 0;
    int line_ = 1;
    std::vector<FlagWord> words_;
};

JobSource source_of_model(const CatalogueModel& model) {
    JobSource source;
    source.name = model.id;
    for (const auto& [name, value] : model.flags) {
        Flag flag{name, {}, "catalogue " + model.id};
        if (!value.empty())
            flag.values.push_back(value);
        source.flags.push_back(std::move(flag));
    }
    return source;
}

std::vector<std::string> split_at_blanks(const std::string& text) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : text + " ") {
        if (c != ' ')
            word += c;
        else if (!word.empty())
            words.push_back(std::exchange(word, {}));
    }
    return words;
}

Flag flag_from_json(const nlohmann::ordered_json& entry, const std::string& path) {
    const auto text = [&](const char* key) {
        const auto found = entry.find(key);
        if (found == entry.end() || !found->is_string()) {
            throw InputError(path + ": job.flags", fmt::format("an entry has no text \"{}\"", key));
        }
        return found->get<std::string>();
    };
    if (!entry.is_object())
        throw InputError(path + ": job.flags", "must be a list of objects");
    Flag flag{text("flag"), {}, path};
    const std::string value = text("value");
    const MegatronOption* option = find_option(flag.name);
    const bool is_list = option == nullptr || option->arity != Arity::one;
    if (is_list)
        flag.values = split_at_blanks(value);
    else
        flag.values = {value};
    return flag;
}

// An earlier result: its flags, world size, software generation and environment reproduce the job.
JobSource source_of_result(const nlohmann::ordered_json& json, const std::string& path) {
    const auto job = json.find("job");
    if (job == json.end() || !job->is_object())
        throw InputError(path, "holds no object \"job\"");
    const auto flags = job->find("flags");
    if (flags == job->end() || !flags->is_array())
        throw InputError(path + ": job", "holds no list \"flags\"");
    JobSource source;
    source.name = job->value("name", path);
    for (const auto& entry : *flags)
        source.flags.push_back(flag_from_json(entry, path));
    const nlohmann::ordered_json::json_pointer world("/job/parallel/world_size");
    if (!json.contains(world) || !json.at(world).is_number_integer()) {
        throw InputError(path + ": job.parallel.world_size", "missing or not a whole number");
    }
    const auto size = json.at(world).get<std::int64_t>();
    if (size < 1 || size > std::numeric_limits<int>::max()) {
        throw InputError(path + ": job.parallel.world_size", fmt::format("read {}, allowed 1 or more", size));
    }
    source.world_size = static_cast<int>(size);
    source.world_size_origin = path;
    const nlohmann::ordered_json::json_pointer software("/job/kernels/software");
    if (json.contains(software) && json.at(software).is_string())
        source.software = json.at(software).get<std::string>();
    const auto environment = job->find("environment");
    if (environment != job->end() && environment->is_object()) {
        for (const auto& [name, value] : environment->items()) {
            if (value.is_string())
                source.environment[name] = value.get<std::string>();
        }
    }
    return source;
}

JobSource source_of_json(const std::string& text, const std::string& path) {
    const nlohmann::ordered_json json = parse_json(text, path, kMaxJobFile);
    const auto schema = json.is_object() ? json.find("schema") : json.end();
    if (schema != json.end() && *schema == "echosim.simulate/1")
        return source_of_result(json, path);
    if (json.is_object() && (json.contains("architectures") || json.contains("model_type"))) {
        throw InputError(path, "a Hugging Face config.json is not read yet",
                         "give the model's catalogue name or its Megatron flags");
    }
    throw InputError(path, "is JSON, but not a result of echosim simulate",
                     "a result has \"schema\": \"echosim.simulate/1\"");
}

bool ends_with(const std::string& text, std::string_view end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

JobSource source_of_file(const std::string& path) {
    if (ends_with(path, ".yaml") || ends_with(path, ".yml")) {
        throw InputError(path, "YAML is not read yet",
                         "give the launch script or the list of Megatron flags");
    }
    const std::string text = read_text_file(path, kMaxJobFile);
    std::size_t first = 0;
    while (first < text.size() && (is_space(text[first]) || text[first] == '#')) {
        first = text[first] == '#' ? std::min(text.find('\n', first), text.size()) : first + 1;
    }
    if (first == text.size())
        throw InputError(path, "holds no command and no flag");
    if (text[first] == '{')
        return source_of_json(text, path);
    JobSource source;
    if (text.compare(first, 2, "--") == 0) {
        source.flags = parse_flags(FlagListReader(text, path).words());
    } else {
        source = read_launch_script(text, path);
    }
    source.name = std::filesystem::path(path).filename().string();
    return source;
}

} // namespace

JobSource read_job_source(const std::string& job) {
    if (job.empty())
        throw InputError("JOB", "is empty",
                         "a launch script, a list of Megatron flags, a model name or a result");
    std::error_code error;
    const auto status = std::filesystem::status(job, error);
    const CatalogueModel* model = find_model(job);
    if (std::filesystem::exists(status) && !(std::filesystem::is_directory(status) && model != nullptr)) {
        return source_of_file(job);
    }
    if (model != nullptr)
        return source_of_model(*model);
    if (job.find('/') != std::string::npos || ends_with(job, ".sh") || ends_with(job, ".json")) {
        throw InputError(job, "no such file");
    }
    std::vector<std::string> names;
    for (const CatalogueModel& known : all_models()) {
        names.push_back(known.id);
        names.insert(names.end(), known.aliases.begin(), known.aliases.end());
    }
    throw InputError(job, "is neither a file nor a model of the catalogue" + did_you_mean(names, job),
                     "echosim show models lists the names");
}

} // namespace echosim
