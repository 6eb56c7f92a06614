// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/output.h"

#include "simulator/core/error.h"
#include "simulator/core/files.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace echosim {
namespace {

sigset_t stop_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

void leave(int) {
    ::_exit(static_cast<int>(ExitCode::interrupted));
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw InputError(path, "cannot be written: " + why, "choose a file in a folder that you may write to");
}

} // namespace

HoldSignals::HoldSignals() {
    const sigset_t held = stop_signals();
    sigset_t before;
    ::pthread_sigmask(SIG_BLOCK, &held, &before);
    had_interrupt_ = sigismember(&before, SIGINT) == 1;
    had_terminate_ = sigismember(&before, SIGTERM) == 1;
}

HoldSignals::~HoldSignals() {
    sigset_t released;
    sigemptyset(&released);
    if (!had_interrupt_)
        sigaddset(&released, SIGINT);
    if (!had_terminate_)
        sigaddset(&released, SIGTERM);
    ::pthread_sigmask(SIG_UNBLOCK, &released, nullptr);
}

void exit_on_interrupt() {
    struct sigaction action {};
    action.sa_handler = leave;
    ::sigaction(SIGINT, &action, nullptr);
}

void check_writable(const std::string& path) {
    if (path.empty())
        throw InputError("", "the name of the output file is empty");
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0) {
        if (S_ISDIR(info.st_mode))
            refuse(path, "it is a folder");
        if (!S_ISREG(info.st_mode)) {
            if (::access(path.c_str(), W_OK) != 0)
                refuse(path, std::strerror(errno));
            return;
        }
    }
    std::error_code error;
    const auto target = std::filesystem::weakly_canonical(path, error);
    const std::string probe = fmt::format("{}.{}.probe", error ? path : target.string(), ::getpid());
    const HoldSignals held;
    const int fd = ::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        refuse(path, std::strerror(errno));
    ::close(fd);
    ::unlink(probe.c_str());
}

std::string document_text(const nlohmann::ordered_json& document) {
    // Bytes of a file name that are not UTF-8 become U+FFFD instead of an exception.
    return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

namespace {

// An output that is one of the command's inputs would destroy it.
void refuse_to_overwrite_inputs(const Invocation& invocation) {
    std::vector<std::string> inputs = invocation.arguments;
    for (const char* option :
         {"--cluster", "--data", "--calibration", "--measured", "--concurrent", "--from"})
        if (const auto file = invocation.value(option))
            inputs.push_back(*file);
    for (const char* option : {"--output", "--timeline", "--plot"}) {
        const auto file = invocation.value(option);
        for (const std::string& input : inputs) {
            std::error_code error;
            if (file && std::filesystem::equivalent(*file, input, error))
                throw InputError(option, fmt::format("\"{}\" is an input of this command", *file),
                                 "give another name: the input would be overwritten");
        }
    }
}

} // namespace

void refuse_to_overwrite(const std::string& output, const std::vector<std::string>& inputs) {
    for (const std::string& input : inputs) {
        std::error_code error;
        if (std::filesystem::equivalent(output, input, error))
            throw InputError("--output", fmt::format("\"{}\" is an input of this command: {}", output, input),
                             "give another name: the input would be overwritten");
    }
}

void check_output(const Invocation& invocation) {
    refuse_to_overwrite_inputs(invocation);
    const auto file = invocation.value("--output");
    if (file && *file != "-")
        check_writable(*file);
}

bool prints_text(const Invocation& invocation) {
    return !invocation.has("--json") && invocation.value("--output") != "-";
}

void write_output(const Invocation& invocation, const Output& output, Console& console) {
    const auto file = invocation.value("--output");
    if (file && *file != "-") {
        const HoldSignals held;
        write_file_atomically(*file, output.file);
    }
    if (file == "-")
        console.out() << output.file;
    else if (invocation.has("--json"))
        console.out() << output.json;
    else
        console.print(output.text);
}

} // namespace echosim
