// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/export_folder.h"

#include "simulator/core/error.h"

#include <csignal>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace echosim {
namespace {

namespace fs = std::filesystem;

fs::path without_slash(const std::string& path) {
    const fs::path whole(path);
    return whole.has_filename() ? whole : whole.parent_path();
}

void check_target(const fs::path& target, const std::string& shown, bool is_folder) {
    std::error_code error;
    const fs::file_status status = fs::status(target, error);
    if (!fs::exists(status)) {
        return;
    }
    if (fs::is_directory(status) != is_folder) {
        throw InputError("--output", is_folder ? fmt::format("\"{}\" is a file; a folder is written", shown)
                                               : fmt::format("\"{}\" is a folder; a file is written", shown));
    }
    if (is_folder && !fs::is_empty(target, error)) {
        throw InputError("--output", fmt::format("the folder \"{}\" is not empty", shown),
                         "give a new folder: nothing is overwritten");
    }
    if (!is_folder && !fs::is_regular_file(status)) {
        throw InputError("--output", fmt::format("\"{}\" is no regular file", shown));
    }
}

} // namespace

StagedOutput::StagedOutput(std::string target, bool is_folder) : is_folder_(is_folder) {
    const fs::path path = without_slash(target);
    check_target(path, target, is_folder);
    std::error_code error;
    const fs::path followed = fs::weakly_canonical(path, error);
    target_ = error || followed.empty() ? path.string() : followed.string();
    stage_ = fmt::format("{}.{}.part", target_, ::getpid());
    fs::create_directory(stage_, error);
    if (error) {
        throw InputError("--output", fmt::format("\"{}\" cannot be written: {}", target, error.message()),
                         "choose a place in a folder that you may write to");
    }
    watch_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

// The work may make files while they are removed: once more then.
void StagedOutput::watch(const std::stop_token& stop) const {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    constexpr timespec tenth{0, 100'000'000};
    while (!stop.stop_requested()) {
        const int signal = ::sigtimedwait(&signals, nullptr, &tenth);
        if (signal < 0) {
            continue;
        }
        std::error_code error;
        for (int tries = 0; tries < 100 && fs::exists(stage_, error); ++tries) {
            fs::remove_all(stage_, error);
        }
        ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
        ::raise(signal); // ends the program
    }
}

StagedOutput::~StagedOutput() {
    watch_ = {};
    std::error_code ignored;
    fs::remove_all(stage_, ignored);
}

std::string StagedOutput::path() const {
    return path(fs::path(target_).filename().string());
}

std::string StagedOutput::path(const std::string& name) const {
    return (fs::path(stage_) / name).string();
}

void StagedOutput::commit() {
    watch_ = {}; // what is complete stays
    std::error_code error;
    if (is_folder_) {
        fs::rename(stage_, target_, error); // over an empty folder too
    } else {
        fs::rename(path(), target_, error);
    }
    if (error) {
        const bool taken = is_folder_ && error == std::errc::directory_not_empty;
        throw InputError("--output",
                         taken ? fmt::format("the folder \"{}\" got files while it was written", target_)
                               : fmt::format("\"{}\" cannot be written: {}", target_, error.message()),
                         taken ? "give a new folder: nothing is overwritten" : "");
    }
}

} // namespace echosim
