// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

// Errors, as docs/architecture.md sorts them: wrong input is InputError (exit code 2), a step that cannot
// finish is DeadlockError, a broken invariant aborts through ECHOSIM_CHECK. Libraries never print and never
// exit.
namespace echosim {

// One thing that is wrong with what the user gave.
struct Problem {
    std::string where;   // "job.sh:12", "cluster.json:7:14: node.nics", "--gpus"; may be empty
    std::string message; // what was read and what is allowed
    std::string hint;    // what to do; may be empty
};

// Wrong input: all problems that one reading found. what() is the text for people, a line or two a problem.
class InputError : public std::runtime_error {
  public:
    explicit InputError(std::vector<Problem> problems);
    InputError(std::string where, std::string message, std::string hint = {});
    const std::vector<Problem>& problems() const { return problems_; }

  private:
    std::vector<Problem> problems_;
};

// The graphs wait for each other in a circle; what() lists the blocked ops and what each waits for.
class DeadlockError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& message);

} // namespace echosim

#define ECHOSIM_CHECK(condition, message)                                                                    \
    ((condition) ? static_cast<void>(0) : ::echosim::check_failed(#condition, __FILE__, __LINE__, (message)))
