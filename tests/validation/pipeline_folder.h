// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "validation/pipeline_timeline.h"

#include <string>

namespace echosim {

// A folder of its own in the temporary folder; it disappears with the object.
class PipelineFolder {
  public:
    PipelineFolder();
    // A copy of traces/samples/pipeline_pp2.
    static PipelineFolder sample();
    // The files of the timeline; clocks of stage s read s x `clock_ms` more.
    PipelineFolder(const PipelineTimeline& timeline, double clock_ms);
    ~PipelineFolder();
    PipelineFolder(PipelineFolder&& other) noexcept;
    PipelineFolder(const PipelineFolder&) = delete;
    PipelineFolder& operator=(const PipelineFolder&) = delete;

    const std::string& path() const { return path_; }
    std::string file(const std::string& name) const { return path_ + "/" + name; }
    void write(const std::string& name, const std::string& text) const;
    void remove(const std::string& name) const;
    // Replaces the first occurrence; throws when there is none.
    void edit(const std::string& name, const std::string& from, const std::string& to) const;

  private:
    std::string path_;
};

// Same durations everywhere, in one iteration; starts are zero.
PipelineTimeline uniform_pipeline(int stages, int microbatches, TimeNs forward, TimeNs backward);

} // namespace echosim
