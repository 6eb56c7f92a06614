// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "traces/import.h"
#include "traces/import/names.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>

namespace echosim {
namespace {

namespace fs = std::filesystem;

bool ends_with_any(std::string_view name, std::span<const std::string_view> endings) {
    return std::any_of(endings.begin(), endings.end(),
                       [&](std::string_view ending) { return name.ends_with(ending); });
}

// Files that lie beside traces and hold none.
bool is_companion(const fs::path& path) {
    constexpr std::array<std::string_view, 14> kEndings{".md",  ".log",  ".out", ".err",           ".sh",
                                                        ".yml", ".yaml", ".png", ".svg",           ".pickle",
                                                        ".py",  ".html", "-shm", ".sqlite-journal"};
    constexpr std::array<std::string_view, 2> kReports{".nsys-rep", ".qdrep"};
    const std::string name = path.filename().string();
    if (ends_with_any(name, kEndings)) {
        return true;
    }
    std::error_code error;
    return ends_with_any(name, kReports) && fs::exists(fs::path(path).replace_extension(".sqlite"), error);
}

std::vector<std::string> files_of_folder(const std::string& folder, std::vector<std::string>& notes) {
    std::vector<std::string> files;
    std::vector<std::string> left;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        std::error_code ignored;
        if (name.starts_with('.')) {
            continue;
        }
        if (!entry->is_regular_file(ignored) || is_companion(entry->path())) {
            left.push_back(name);
        } else {
            files.push_back(entry->path().string());
        }
    }
    if (error) {
        throw InputError(folder, "cannot be read: " + error.message());
    }
    std::sort(files.begin(), files.end(), natural_less);
    std::sort(left.begin(), left.end(), natural_less);
    if (!left.empty()) {
        constexpr std::size_t most = 5;
        std::string names;
        for (std::size_t i = 0; i < std::min(most, left.size()); ++i) {
            names += (i == 0 ? "" : ", ") + left[i];
        }
        notes.push_back(fmt::format("not read in {}: {}{}", folder, names,
                                    left.size() > most ? fmt::format(" and {} more", left.size() - most)
                                                       : std::string()));
    }
    return files;
}

} // namespace

std::vector<std::string> trace_files(const std::vector<std::string>& paths, std::vector<std::string>& notes) {
    std::vector<std::string> all;
    for (const std::string& path : paths) {
        if (path.empty()) {
            throw InputError("", "the name of the file or folder is empty");
        }
        std::error_code error;
        const fs::file_status status = fs::status(path, error);
        if (!fs::exists(status)) {
            throw InputError(path, "there is no such file or folder");
        }
        if (fs::is_regular_file(status)) {
            all.push_back(path);
            continue;
        }
        if (!fs::is_directory(status)) {
            throw InputError(path, "is a pipe or a device; a file or folder is needed",
                             "write it to a file first");
        }
        const std::vector<std::string> files = files_of_folder(path, notes);
        if (files.empty()) {
            throw InputError(path, "the folder holds no trace", "give a folder with one file for each rank");
        }
        all.insert(all.end(), files.begin(), files.end());
    }
    return all;
}

} // namespace echosim
