// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "tests/validation/row_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;

struct WrongType {
    const char* name;
    const char* changes;
    const char* message;
};

class WrongTypes : public testing::TestWithParam<WrongType> {};

// A value of the wrong type: the file does not have the schema.
TEST_P(WrongTypes, IsAnErrorWithFileRowAndField) {
    const RowFile file(Json::array({dense_row(), dense_row_with(GetParam().changes)}));
    try {
        read_step_rows(file.path());
        FAIL() << "no error";
    } catch (const InputError& error) {
        ASSERT_EQ(error.problems().size(), 1U) << error.what();
        EXPECT_THAT(error.problems()[0].where, HasSubstr(file.path() + ": row 1 (dense-1): "));
        EXPECT_THAT(error.what(), HasSubstr(GetParam().message));
    }
}

constexpr WrongType kCases[] = {
    {"text_for_a_count", R"({"layers": "4"})", "layers: read \"4\"; allowed: a number or null"},
    {"text_for_a_time", R"({"iter_time_s": "0.1"})", "iter_time_s: read \"0.1\"; allowed: a number"},
    {"half_a_gpu", R"({"num_gpus": 7.5})", "num_gpus: read 7.5; allowed: a whole number"},
    {"number_for_a_text", R"({"gpu": 100})", "gpu: read 100; allowed: a text"},
    {"text_for_a_flag", R"({"sequence_parallel": "yes"})", "read \"yes\"; allowed: true, false or null"},
    {"number_for_a_flag", R"({"distributed_optimizer": 1})", "distributed_optimizer: read 1"},
    {"list_for_a_number", R"({"tp": [2]})", "tp: read [2]"},
    {"object_for_a_number", R"({"micro_batch": {}})", "micro_batch: read {}"},
    {"text_for_a_list", R"({"recompute": "selective", "recompute_modules": "core_attn"})",
     "recompute_modules: read \"core_attn\"; allowed: a list of texts"},
    {"numbers_in_a_list", R"({"recompute": "selective", "recompute_modules": [1]})",
     "recompute_modules: read [1]"},
};

std::string name_of(const testing::TestParamInfo<WrongType>& parameter) {
    return parameter.param.name;
}

INSTANTIATE_TEST_SUITE_P(StepRows, WrongTypes, testing::ValuesIn(kCases), name_of);

TEST(RowErrors, AllProblemsOfAFileAtOnce) {
    const std::string message =
        error_of(Json::array({dense_row_with(R"({"id": "a", "layers": "4", "tp": true})"),
                              dense_row_with(R"({"id": "b", "gpu": 7})")})
                     .dump());
    EXPECT_THAT(message, AllOf(HasSubstr("row 0 (a): layers"), HasSubstr("row 0 (a): tp: read true"),
                               HasSubstr("row 1 (b): gpu: read 7")));
}

TEST(RowErrors, NoMoreThanAScreenful) {
    Json rows = Json::array();
    for (int i = 0; i < 300; ++i)
        rows.push_back(dense_row_with(R"({"layers": "4"})"));
    const RowFile file(rows);
    try {
        read_step_rows(file.path());
        FAIL() << "no error";
    } catch (const InputError& error) {
        EXPECT_EQ(error.problems().size(), static_cast<std::size_t>(kMaxRowProblems));
    }
}

TEST(RowErrors, LongValuesAreCut) {
    Json row = dense_row();
    row["layers"] = std::string(5000, 'x');
    const std::string message = error_of(Json::array({row}).dump());
    EXPECT_THAT(message, HasSubstr("xxx...; allowed: a number"));
    EXPECT_LT(message.size(), 300U);
}

TEST(RowErrors, OtherDocuments) {
    EXPECT_THAT(error_of(R"({"rows": []})"), HasSubstr("read a JSON object; allowed: an array of step rows"));
    EXPECT_THAT(error_of("12"), HasSubstr("read a JSON number"));
    EXPECT_THAT(error_of("[1]"), HasSubstr("row 0: read a JSON number; allowed: an object"));
    EXPECT_THAT(error_of(R"([{"id": "t1", "busbw": 3}])"),
                HasSubstr(R"(row 0 (t1): has no field "iter_time_s" or "num_gpus")"));
    EXPECT_NE(error_of(""), "");
}

TEST(RowErrors, TruncatedFile) {
    const std::string text = Json::array({dense_row()}).dump();
    for (const std::size_t size : {std::size_t{1}, std::size_t{50}, text.size() / 2, text.size() - 1})
        EXPECT_NE(error_of(text.substr(0, size)), "") << size;
    EXPECT_EQ(error_of(text), "");
}

TEST(RowErrors, MissingFile) {
    EXPECT_THROW(read_step_rows("/no/such/file.json"), InputError);
}

// 1e999 is no number that a double holds.
TEST(RowErrors, NumberBeyondDouble) {
    std::string text = Json::array({dense_row()}).dump();
    const std::string key = "\"iter_time_s\":0.1";
    text.replace(text.find(key), key.size(), "\"iter_time_s\":1e999");
    const RowFile file(text);
    try {
        const StepRow row = read_step_rows(file.path()).at(0);
        EXPECT_NE(row.skipped, "");
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr(file.path()));
    }
}

} // namespace
} // namespace echosim
