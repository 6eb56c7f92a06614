// SPDX-License-Identifier: Apache-2.0
// Ctrl-C: exit code 130 and no files left, whatever the program waits for.
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

TEST(Interrupt, ExitsWith130AndLeavesNoFiles) {
    std::string folder = (std::filesystem::temp_directory_path() / "echosim_interrupt_XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    const std::string job = folder + "/job.sh";
    const std::string result = folder + "/result.json";
    ASSERT_EQ(::mkfifo(job.c_str(), 0600), 0);

    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::execl(ECHOSIM_BINARY, "echosim", "simulate", job.c_str(), "--cluster", "dgx-h100", "-o",
                result.c_str(), nullptr);
        ::_exit(99);
    }
    // Opening the pipe for writing waits until the program has opened it for reading: it is then inside
    // read().
    const int writer = ::open(job.c_str(), O_WRONLY);
    ASSERT_GE(writer, 0);
    ::kill(child, SIGINT);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ::close(writer);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 130);
    EXPECT_FALSE(std::filesystem::exists(result));
    EXPECT_EQ(
        std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator{}), 1);
    std::filesystem::remove_all(folder);
}

} // namespace
