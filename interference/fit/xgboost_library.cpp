// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/xgboost_library.h"

#include "simulator/core/error.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <stdexcept>

namespace echosim {
namespace {

template <class Function> bool take(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    return function != nullptr;
}

} // namespace

void XgboostLibrary::check(int code) const {
    if (code != 0)
        throw std::runtime_error(fmt::format("XGBoost: {}", last_error()));
}

XgboostLibrary load_xgboost(const std::string& where, const std::string& library) {
    // never unloaded: its OpenMP threads outlive the call
    void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (loaded == nullptr)
        throw InputError(
            where, fmt::format("boosted trees need XGBoost, and {} cannot be loaded", library),
            "install it (Debian: apt-get install libxgboost0), or use the Gaussian process or ridge");
    XgboostLibrary x;
    const bool whole =
        take(loaded, "XGBGetLastError", x.last_error) &&
        take(loaded, "XGDMatrixCreateFromMat", x.matrix_create) &&
        take(loaded, "XGDMatrixSetFloatInfo", x.matrix_set_floats) &&
        take(loaded, "XGDMatrixFree", x.matrix_free) && take(loaded, "XGBoosterCreate", x.booster_create) &&
        take(loaded, "XGBoosterFree", x.booster_free) && take(loaded, "XGBoosterSetParam", x.booster_set) &&
        take(loaded, "XGBoosterUpdateOneIter", x.booster_update) &&
        take(loaded, "XGBoosterSetStrFeatureInfo", x.booster_set_strings) &&
        take(loaded, "XGBoosterPredictFromDense", x.booster_predict) &&
        take(loaded, "XGBoosterLoadModelFromBuffer", x.booster_load) &&
        take(loaded, "XGBoosterSaveModelToBuffer", x.booster_save);
    if (!whole)
        throw InputError(where, fmt::format("{} is no XGBoost of version 1.6 or later", library),
                         "install libxgboost0 1.7 (Debian 12)");
    return x;
}

} // namespace echosim
