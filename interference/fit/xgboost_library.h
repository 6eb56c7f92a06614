// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>

// XGBoost, loaded when it is wanted: echosim is built without its headers and runs without its library. The
// functions are those of its C API that boosted_trees.cpp calls, declared here (checked against 1.7; the
// interface is stable since 1.6). They return 0, or -1 with the reason in last_error(), of the thread.
namespace echosim {

// Debian's libxgboost0.
inline constexpr const char* kXgboostLibrary = "libxgboost.so.0";

struct XgboostLibrary {
    using Handle = void*;
    using Length = std::uint64_t;

    const char* (*last_error)() = nullptr;
    int (*matrix_create)(const float* data, Length rows, Length columns, float missing,
                         Handle* out) = nullptr;
    int (*matrix_set_floats)(Handle matrix, const char* field, const float* values, Length size) = nullptr;
    int (*matrix_free)(Handle matrix) = nullptr;
    int (*booster_create)(const Handle* matrices, Length size, Handle* out) = nullptr;
    int (*booster_free)(Handle booster) = nullptr;
    int (*booster_set)(Handle booster, const char* name, const char* value) = nullptr;
    int (*booster_set_strings)(Handle booster, const char* field, const char** values, Length size) = nullptr;
    int (*booster_update)(Handle booster, int round, Handle matrix) = nullptr;
    // values: the address, shape and type of a matrix as a JSON text (__array_interface__ of NumPy)
    int (*booster_predict)(Handle booster, const char* values, const char* config, Handle matrix,
                           const Length** shape, Length* dimensions, const float** result) = nullptr;
    int (*booster_load)(Handle booster, const void* text, Length size) = nullptr;
    int (*booster_save)(Handle booster, const char* config, Length* size, const char** text) = nullptr;

    void check(int code) const; // throws std::runtime_error with XGBoost's words unless code is 0
};

// Loads the library for the rest of the program. Throws InputError, with the package to install, when it is
// absent or lacks a function. `where` starts the message.
XgboostLibrary load_xgboost(const std::string& where, const std::string& library = kXgboostLibrary);

} // namespace echosim
