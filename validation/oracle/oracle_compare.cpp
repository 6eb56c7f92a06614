// SPDX-License-Identifier: Apache-2.0
// echosim-oracle-compare ORACLE CASE.json: the flow-level forms of comm_models beside what the oracle
// simulates. Exit status 1 when a collective differs by more than the case allows.
#include "comm_models/contention.h"
#include "comm_models/flow_time.h"
#include "comm_models/traffic.h"
#include "simulator/core/error.h"
#include "simulator/core/json.h"
#include "validation/oracle/oracle_case.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

constexpr double kAlone = 0.01; // largest difference without contention and with it
constexpr double kShared = 0.10;

// Each collective alone by its flow-level form, all together by the model's own traffic and contention on
// ideal links.
std::vector<Seconds> predicted(const OracleCase& oracle_case) {
    FabricLinks fabric(oracle_case.cluster, oracle_case.gpus, oracle_case.placement);
    std::vector<ConcurrentOp> ops;
    for (const OracleCollective& one : oracle_case.collectives) {
        const ScheduledCollective& collective = one.collective;
        const FlowTime alone = flow_time(collective, fabric);
        ConcurrentOp op;
        op.start = one.start;
        op.alone = alone.time;
        op.latency = alone.latency;
        op.weight = alone.flows; // SimGrid shares a link among flows, not among collectives
        op.traffic = traffic_of({.kind = collective.kind, .bytes = static_cast<Bytes>(collective.bytes)},
                                collective.algorithm, collective.ranks, fabric);
        ops.push_back(std::move(op));
    }
    std::vector<Seconds> finish;
    for (const ConcurrentResult& result : run_concurrently(ops, fabric, kIdealLinks))
        finish.push_back(result.finish);
    return finish;
}

nlohmann::ordered_json simulated(const std::string& oracle, const std::string& path) {
    std::FILE* pipe = popen(fmt::format("'{}' '{}'", oracle, path).c_str(), "r");
    if (pipe == nullptr)
        throw InputError(oracle, "cannot be started");
    std::string text;
    std::array<char, 4096> buffer{};
    for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
        text.append(buffer.data(), got);
    if (const int status = pclose(pipe); status != 0)
        throw InputError(oracle, fmt::format("ended with status {} on {}", status, path));
    return parse_json(text, oracle);
}

// One line: expected is SimGrid's.
bool compare_one(const OracleCase& oracle_case, std::size_t index, Seconds model, Seconds oracle) {
    const OracleCollective& one = oracle_case.collectives[index];
    const double expected = oracle - one.start;
    const double got = model - one.start;
    const double difference = got / expected - 1;
    const double allowed = oracle_case.contention ? kShared : kAlone;
    const bool fits = std::abs(difference - one.known_difference) <= allowed;
    fmt::print("{} {}[{}] {} {} of {} ranks: oracle {:.3f} us, model {:.3f} us, {:+.2f} % (allowed {:.0f} +- "
               "{:.0f} %)\n",
               fits ? "ok" : "FAILED", oracle_case.name, index, to_string(one.collective.algorithm),
               to_string(one.collective.kind), one.collective.ranks.size(), expected * 1e6, got * 1e6,
               difference * 100, one.known_difference * 100, allowed * 100);
    if (!one.reason.empty())
        fmt::print("    exception: {}\n", one.reason);
    return fits;
}

bool compare(const std::string& oracle, const std::string& path) {
    const OracleCase oracle_case = read_oracle_case(path);
    const std::vector<Seconds> ours = predicted(oracle_case);
    const nlohmann::ordered_json theirs = simulated(oracle, path);
    bool good = true;
    for (std::size_t i = 0; i < ours.size(); ++i)
        good = compare_one(oracle_case, i, ours[i], theirs.at("finish").at(i).get<Seconds>()) && good;
    fmt::print("{} flows, {:.2f} s\n", theirs.at("flows").get<long>(), theirs.at("wall").get<double>());
    return good;
}

} // namespace
} // namespace echosim

int main(int argc, char** argv) {
    if (argc != 3) {
        fmt::print(stderr, "usage: echosim-oracle-compare ORACLE CASE.json\n");
        return 2;
    }
    try {
        return echosim::compare(argv[1], argv[2]) ? 0 : 1;
    } catch (const echosim::InputError& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 2;
    }
}
