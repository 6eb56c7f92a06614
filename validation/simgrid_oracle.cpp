// SPDX-License-Identifier: Apache-2.0
// echosim-oracle CASE.json: replays the chunk schedules of the case's collectives on SimGrid's flow-level
// network and prints when each one finishes. One case a process, since SimGrid allows one engine a process
// (docs/adr/0006).
//
// Settings for RDMA: CM02 without TCP's window (gamma 0) and without acknowledgements (crosstraffic 0). CM02
// shares a link in inverse proportion to the latency of the routes, as TCP does; here flows that share a link
// get equal rates: the links have no latency of their own, every route crosses a marker of 1 s that no other
// route crosses, and a callback scales that to the latency of the path.
#include "comm_models/fat_tree.h"
#include "comm_models/flow_time.h"
#include "simulator/core/error.h"
#include "validation/oracle/oracle_case.h"

#include <chrono>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>
#include <unordered_map>

namespace echosim {
namespace {

namespace sg = simgrid::s4u;

constexpr double kFast = 1e18; // bytes/s and flop/s of what must not matter

// The programs of all collectives. Each has a host of its own, so that the route between two hosts is that of
// one ring, tree or pair.
struct Replay {
    std::vector<Schedule> schedules;        // of each collective
    std::vector<std::size_t> first_program; // of each collective in `programs`
    std::vector<const Program*> programs;
    std::vector<std::vector<std::array<std::size_t, 2>>>
        ends;                     // programs of sender and receiver, of each transfer
    std::vector<sg::Host*> hosts; // of each program
    std::vector<Seconds> finish;  // of each collective
};

using Latencies = std::map<std::pair<const sg::Host*, const sg::Host*>, Seconds>;

Replay replay_of(const OracleCase& oracle_case) {
    Replay replay;
    for (const OracleCollective& one : oracle_case.collectives)
        replay.schedules.push_back(schedule_of(one.collective, oracle_case.cluster));
    for (const Schedule& schedule : replay.schedules) {
        replay.first_program.push_back(replay.programs.size());
        std::vector<std::array<std::size_t, 2>> ends(schedule.transfers.size());
        for (const Program& program : schedule.programs) {
            for (const std::uint32_t transfer : program.transfers)
                ends[transfer][schedule.transfers[transfer].hop.from == program.rank ? 0 : 1] =
                    replay.programs.size();
            replay.programs.push_back(&program);
        }
        replay.ends.push_back(std::move(ends));
    }
    replay.finish.assign(replay.schedules.size(), 0);
    return replay;
}

// Calls visit(program of the sender, program of the receiver, transfer) once for each pair of programs that
// talk.
template <class Visit> void for_each_pair(const Replay& replay, Visit visit) {
    std::unordered_map<std::uint64_t, bool> seen;
    for (std::size_t i = 0; i < replay.schedules.size(); ++i)
        for (std::size_t transfer = 0; transfer < replay.ends[i].size(); ++transfer) {
            const auto [from, to] = replay.ends[i][transfer];
            if (seen.emplace(from * replay.programs.size() + to, true).second)
                visit(from, to, replay.schedules[i].transfers[transfer]);
        }
}

sg::LinkInRoute add_marker(sg::NetZone* zone, const std::string& name, Seconds latency) {
    return sg::LinkInRoute(zone->create_link(name, kFast)->set_latency(latency)->seal());
}

// SimGrid's links and routes are those of `fabric`, one to one.
void build_links(FabricLinks& fabric, Replay& replay) {
    sg::NetZone* zone = sg::create_full_zone("fabric");
    for (std::size_t program = 0; program < replay.programs.size(); ++program)
        replay.hosts.push_back(zone->create_host(fmt::format("program {}", program), kFast)->seal());
    std::unordered_map<LinkId, sg::Link*> links;
    std::vector<LinkId> path;
    for_each_pair(replay, [&](std::size_t from, std::size_t to, const Transfer& transfer) {
        path.clear();
        path_of(transfer.hop, fabric, path);
        std::vector<sg::LinkInRoute> route{add_marker(zone, fmt::format("marker {} {}", from, to), 1)};
        for (const LinkId id : path) {
            sg::Link*& link = links[id];
            if (link == nullptr)
                link = zone->create_link(fabric.describe(id), fabric.link(id).capacity)->seal();
            route.emplace_back(link);
        }
        zone->add_route(replay.hosts[from]->get_netpoint(), replay.hosts[to]->get_netpoint(), nullptr,
                        nullptr, route, false);
    });
    zone->seal();
}

// SimGrid's own fat tree of leaves and spines with D-mod-k routing; a node is a zone that holds the programs
// of its GPU.
void build_fat_tree(const OracleCase& oracle_case, double rate, Replay& replay) {
    const FatTree tree(oracle_case.cluster);
    if (oracle_case.cluster.node.gpus != 1 || tree.ports() != 1 || tree.levels().size() != 1)
        throw InputError(
            "", "the platform fat_tree is for nodes of one GPU and one NIC on one level of switches");
    const FatTreeLevel& leaf = tree.levels().front();
    const auto place_at = [&](int node) { return place_of(oracle_case.placement, node); };
    int places = 0;
    for (int node = 0; node < oracle_case.gpus; ++node)
        places = std::max(places, place_at(node) + 1);
    const auto down = static_cast<unsigned>(leaf.places);
    const auto up = static_cast<unsigned>(leaf.choices);
    const unsigned leaves = (static_cast<unsigned>(places) + down - 1) / down;
    replay.hosts.resize(replay.programs.size());
    std::unordered_map<unsigned long, std::vector<std::size_t>> programs_at;
    for (std::size_t program = 0; program < replay.programs.size(); ++program)
        programs_at[static_cast<unsigned long>(place_at(replay.programs[program]->rank))].push_back(program);
    const auto make_node = [&](sg::NetZone* zone, const std::vector<unsigned long>&, unsigned long place) {
        sg::NetZone* node = sg::create_full_zone(fmt::format("node {}", place));
        node->set_parent(zone);
        auto* gateway = node->create_router(fmt::format("gateway {}", place));
        for (const std::size_t program : programs_at[place]) {
            replay.hosts[program] = node->create_host(fmt::format("program {}", program), kFast)->seal();
            auto* point = replay.hosts[program]->get_netpoint();
            node->add_route(point, gateway, nullptr, nullptr,
                            {add_marker(node, fmt::format("marker out {}", program), 0.5)}, false);
            node->add_route(gateway, point, nullptr, nullptr,
                            {add_marker(node, fmt::format("marker in {}", program), 0.5)}, false);
        }
        node->seal();
        return std::make_pair(node->get_netpoint(), gateway);
    };
    sg::create_fatTree_zone("fabric", nullptr, {2, {down, leaves}, {1, up}, {1, 1}},
                            sg::ClusterCallbacks(make_node), rate, 0, sg::Link::SharingPolicy::SPLITDUPLEX)
        ->seal();
}

Latencies latencies_of(FabricLinks& fabric, const Replay& replay) {
    Latencies result;
    std::vector<LinkId> path;
    for_each_pair(replay, [&](std::size_t from, std::size_t to, const Transfer& transfer) {
        path.clear();
        path_of(transfer.hop, fabric, path);
        Seconds& latency = result[{replay.hosts[from], replay.hosts[to]}];
        for (const LinkId id : path)
            latency += fabric.link(id).latency;
    });
    return result;
}

// The program of a rank: starts the transfers of a step, waits for them, goes on. Mailboxes join two
// programs, whose transfers have the same order on both sides.
void run_program(Replay& replay, std::size_t collective, std::size_t id, Seconds start) {
    static char payload = 0;
    sg::this_actor::sleep_until(start);
    const Program& program = *replay.programs[id];
    const Schedule& schedule = replay.schedules[collective];
    std::unordered_map<std::uint64_t, sg::Mailbox*> boxes;
    std::vector<char*> received(program.transfers.size());
    std::uint32_t next = 0;
    for (const std::uint32_t end : program.step_ends) {
        std::vector<sg::CommPtr> pending;
        for (; next < end; ++next) {
            const std::uint32_t transfer = program.transfers[next];
            const auto [from, to] = replay.ends[collective][transfer];
            sg::Mailbox*& box = boxes[from * replay.programs.size() + to];
            if (box == nullptr)
                box = sg::Mailbox::by_name(fmt::format("{} {}", from, to));
            if (from == id)
                pending.push_back(
                    box->put_async(&payload, static_cast<std::uint64_t>(schedule.transfers[transfer].bytes)));
            else
                pending.push_back(box->get_async(&received[next]));
        }
        sg::Comm::wait_all(pending);
    }
    replay.finish[collective] = std::max(replay.finish[collective], sg::Engine::get_clock());
}

void start_actors(const OracleCase& oracle_case, Replay& replay) {
    for (std::size_t i = 0; i < replay.schedules.size(); ++i)
        for (std::size_t program = 0; program < replay.schedules[i].programs.size(); ++program) {
            const std::size_t id = replay.first_program[i] + program;
            const Seconds start = oracle_case.collectives[i].start;
            sg::Actor::create(fmt::format("program {}", id), replay.hosts[id],
                              [&replay, i, id, start] { run_program(replay, i, id, start); });
        }
}

nlohmann::ordered_json replay_case(const OracleCase& oracle_case) {
    const auto began = std::chrono::steady_clock::now();
    FabricLinks fabric(oracle_case.cluster, oracle_case.gpus, oracle_case.placement);
    Replay replay = replay_of(oracle_case);
    std::size_t flows = 0;
    for (const Schedule& schedule : replay.schedules)
        flows += schedule.transfers.size();
    if (oracle_case.platform == OraclePlatform::fat_tree) {
        const Transfer& any = replay.schedules.front().transfers.front();
        build_fat_tree(oracle_case, fabric.link(fabric.nic(any.hop.from, true)).capacity, replay);
    } else {
        build_links(fabric, replay);
    }
    sg::Engine* engine = sg::Engine::get_instance();
    const Latencies latencies = latencies_of(fabric, replay);
    engine->get_netzone_root()->get_network_model()->set_lat_factor_cb(
        [&latencies](double, const sg::Host* from, const sg::Host* to, const std::vector<sg::Link*>&,
                     const std::unordered_set<sg::NetZone*>&) {
            return latencies.at({from, to});
        });
    start_actors(oracle_case, replay);
    engine->run();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;
    return {{"finish", replay.finish}, {"flows", flows}, {"wall", wall.count()}};
}

} // namespace
} // namespace echosim

int main(int argc, char** argv) {
    simgrid::s4u::Engine engine(&argc, argv);
    xbt_log_control_set("xbt_cfg.threshold:warning");
    for (const char* setting :
         {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0", "contexts/stack-size:128"})
        simgrid::s4u::Engine::set_config(setting);
    if (argc != 2) {
        fmt::print(stderr, "usage: echosim-oracle CASE.json\n");
        return 2;
    }
    try {
        fmt::print("{}\n", echosim::replay_case(echosim::read_oracle_case(argv[1])).dump());
    } catch (const echosim::InputError& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 2;
    }
    return 0;
}
