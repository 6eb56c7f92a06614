// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <thread>

namespace echosim {

// A file or folder that appears whole or not at all: it is made in a folder of its own beside its place, and
// moved there by commit(). Without it nothing is left behind, also when SIGINT or SIGTERM come: signals are
// to be held (HoldSignals) while it lives; it then removes what there is and lets the signal act.
class StagedOutput {
  public:
    // Throws InputError when `target` cannot be put in place: a folder with files in it, a folder where a
    // file is to be (`is_folder` false) or the other way round, a parent that is missing or not writable.
    StagedOutput(std::string target, bool is_folder);
    ~StagedOutput();
    StagedOutput(const StagedOutput&) = delete;
    StagedOutput& operator=(const StagedOutput&) = delete;

    std::string path() const;                        // of the file, where it is made
    std::string path(const std::string& name) const; // of a file in the folder
    void commit();

  private:
    void watch(const std::stop_token& stop) const;
    std::string target_;
    bool is_folder_ = false;
    std::string stage_;
    std::jthread watch_; // last: it uses the rest
};

} // namespace echosim
