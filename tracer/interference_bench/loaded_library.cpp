// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/loaded_library.h"

#include "tracer/interference_bench/device.h"

#include <dlfcn.h>

namespace echosim {

LoadedLibrary::LoadedLibrary(const char* const* names) {
    for (; *names != nullptr && !handle_; ++names) {
        void* handle = ::dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr)
            continue;
        name_ = *names;
        // kept open to the end of the process: CUDA libraries do not like to be unloaded
        handle_ = std::shared_ptr<void>(handle, [](void*) {});
    }
}

void* LoadedLibrary::symbol(const char* name) const {
    void* found = ::dlsym(handle_.get(), name);
    if (found == nullptr)
        throw DeviceError("loading " + name_, std::string("it has no ") + name, "use a newer version of it");
    return found;
}

} // namespace echosim
