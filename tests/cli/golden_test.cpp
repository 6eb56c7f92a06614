// SPDX-License-Identifier: Apache-2.0
// Runs the built program on every case of tests/golden and compares exit code, texts, files and figures.
//
//   golden_test                      the tests
//   golden_test --update-golden      writes the present figures into the cases and prints what changed
//
// A case is a folder with case.json:
//   args             words of the command line; the program runs in an empty folder of its own
//   files            {"name": "text" | ["line", ...] | {"hex": "00ff"} | {"folder": true} | {"copy":
//   "docs/..."}} exit             the exit code stdout_empty     true: nothing on stdout stdout_contains,
//   stderr_contains, stdout_lacks     texts leaves           names of the files that the run must leave
//   besides `files`, all others are an error figures          [{"pointer": "/step/time_s", "value": 8.9,
//   "tolerance": 0.005}] of the JSON document on stdout
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string content_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::string from_hex(const std::string& hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    return bytes;
}

// A folder that disappears with the object.
class Sandbox {
  public:
    Sandbox() {
        std::string pattern = (fs::temp_directory_path() / "echosim_golden_XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr)
            throw std::runtime_error("no temporary folder");
        path_ = pattern;
    }
    ~Sandbox() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Sandbox(const Sandbox&) = delete;
    Sandbox& operator=(const Sandbox&) = delete;

    const fs::path& path() const { return path_; }

    void put(const std::string& name, const Json& what, const fs::path& source) const {
        const fs::path target = path_ / name;
        if (what.is_object() && what.contains("folder")) {
            fs::create_directory(target);
            return;
        }
        if (what.is_object() && what.contains("copy")) {
            fs::copy_file(source / what["copy"].get<std::string>(), target);
            return;
        }
        std::ofstream file(target, std::ios::binary);
        if (what.is_array())
            for (const Json& line : what)
                file << line.get<std::string>() << '\n';
        else
            file << (what.is_object() ? from_hex(what["hex"]) : what.get<std::string>());
    }

    std::set<std::string> names() const {
        std::set<std::string> found;
        for (const auto& entry : fs::recursive_directory_iterator(path_))
            found.insert(fs::relative(entry.path(), path_).string());
        return found;
    }

  private:
    fs::path path_;
};

struct Outcome {
    int exit_code = -1;
    std::string out;
    std::string err;
};

std::string quoted(const std::string& word) {
    std::string text = "'";
    for (const char c : word)
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

Outcome run_program(const std::vector<std::string>& words, const Sandbox& sandbox) {
    const Sandbox logs;
    std::string line = fmt::format("cd {} && unset NO_COLOR CLICOLOR_FORCE; LC_ALL=C timeout 100 {}",
                                   quoted(sandbox.path().string()), quoted(ECHOSIM_BINARY));
    for (const std::string& word : words)
        line += " " + quoted(word);
    line += fmt::format(" >{} 2>{} </dev/null", quoted((logs.path() / "out").string()),
                        quoted((logs.path() / "err").string()));
    const int status = std::system(line.c_str());
    return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            .out = content_of(logs.path() / "out"),
            .err = content_of(logs.path() / "err")};
}

std::vector<std::string> strings(const Json& golden, const char* key) {
    return golden.contains(key) ? golden[key].get<std::vector<std::string>>() : std::vector<std::string>{};
}

void check_texts(const Json& golden, const Outcome& outcome) {
    if (golden.value("stdout_empty", false)) {
        EXPECT_EQ(outcome.out, "");
    }
    for (const std::string& text : strings(golden, "stdout_contains"))
        EXPECT_NE(outcome.out.find(text), std::string::npos) << "stdout lacks: " << text << "\n"
                                                             << outcome.out;
    for (const std::string& text : strings(golden, "stdout_lacks"))
        EXPECT_EQ(outcome.out.find(text), std::string::npos) << "stdout has: " << text << "\n" << outcome.out;
    for (const std::string& text : strings(golden, "stderr_contains"))
        EXPECT_NE(outcome.err.find(text), std::string::npos) << "stderr lacks: " << text << "\n"
                                                             << outcome.err;
    if (golden["exit"] == 2) {
        EXPECT_EQ(outcome.err.rfind("error: ", 0), 0U) << outcome.err;
    }
}

void check_figures(const Json& golden, const Outcome& outcome) {
    if (!golden.contains("figures"))
        return;
    const Json document = Json::parse(outcome.out, nullptr, false);
    ASSERT_FALSE(document.is_discarded()) << outcome.out;
    for (const Json& figure : golden["figures"]) {
        const Json::json_pointer pointer(figure["pointer"].get<std::string>());
        ASSERT_TRUE(document.contains(pointer)) << pointer.to_string();
        const Json& got = document[pointer];
        if (!figure["value"].is_number()) {
            EXPECT_EQ(got, figure["value"]) << pointer.to_string();
            continue;
        }
        const double value = figure["value"];
        EXPECT_NEAR(got.get<double>(), value, std::abs(value) * figure.value("tolerance", 0.0))
            << pointer.to_string() << "; a reviewed change: golden_test --update-golden";
    }
}

class GoldenTest : public testing::Test {
  public:
    explicit GoldenTest(fs::path folder) : folder_(std::move(folder)) {}

    void TestBody() override {
        const Json golden = Json::parse(content_of(folder_ / "case.json"));
        const Sandbox sandbox;
        std::set<std::string> expected;
        const Json files = golden.value("files", Json::object());
        for (const auto& item : files.items()) {
            sandbox.put(item.key(), item.value(), fs::current_path());
            expected.insert(item.key());
        }
        for (std::string& name : strings(golden, "leaves"))
            expected.insert(std::move(name));
        const Outcome outcome = run_program(golden["args"], sandbox);
        EXPECT_EQ(outcome.exit_code, golden["exit"].get<int>()) << outcome.err;
        EXPECT_EQ(sandbox.names(), expected);
        check_texts(golden, outcome);
        check_figures(golden, outcome);
    }

  private:
    fs::path folder_;
};

std::vector<fs::path> cases() {
    std::vector<fs::path> folders;
    for (const auto& entry : fs::directory_iterator("tests/golden"))
        if (fs::exists(entry.path() / "case.json"))
            folders.push_back(entry.path());
    std::sort(folders.begin(), folders.end());
    return folders;
}

// Writes the figures of the program as it is now into one case.
void update(const fs::path& folder) {
    Json golden = Json::parse(content_of(folder / "case.json"));
    if (!golden.contains("figures"))
        return;
    const Sandbox sandbox;
    const Json files = golden.value("files", Json::object());
    for (const auto& item : files.items())
        sandbox.put(item.key(), item.value(), fs::current_path());
    const Outcome outcome = run_program(golden["args"], sandbox);
    const Json document = Json::parse(outcome.out);
    for (Json& figure : golden["figures"]) {
        const Json& now = document.at(Json::json_pointer(figure["pointer"].get<std::string>()));
        if (now == figure["value"])
            continue;
        std::cout << folder.filename().string() << " " << figure["pointer"] << ": " << figure["value"]
                  << " -> " << now << "\n";
        figure["value"] = now;
    }
    std::ofstream(folder / "case.json") << golden.dump(2) << "\n";
}

} // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (argc > 1 && std::string(argv[1]) == "--update-golden") {
        for (const fs::path& folder : cases())
            update(folder);
        return 0;
    }
    for (const fs::path& folder : cases())
        testing::RegisterTest("Golden", folder.filename().c_str(), nullptr, nullptr, __FILE__, __LINE__,
                              [folder]() -> GoldenTest* { return new GoldenTest(folder); });
    return RUN_ALL_TESTS();
}
