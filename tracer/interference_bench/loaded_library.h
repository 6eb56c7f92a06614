// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

namespace echosim {

// A shared library that is looked for when it is needed; neither cuBLAS nor NCCL is linked.
class LoadedLibrary {
  public:
    // The first of the names (a list that ends in null) that the loader finds; not loaded: none.
    explicit LoadedLibrary(const char* const* names);
    bool loaded() const { return handle_ != nullptr; }
    // Throws DeviceError when it has no such function.
    template <class Function> Function* function(const char* name) const {
        return reinterpret_cast<Function*>(symbol(name));
    }

  private:
    void* symbol(const char* name) const;
    std::shared_ptr<void> handle_;
    std::string name_;
};

} // namespace echosim
