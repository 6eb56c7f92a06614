// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/topology_facts.h"

#include <map>
#include <set>
#include <string>
#include <string_view>

// What a log of NCCL_DEBUG=INFO says of each communicator. Part of the reading of a log.
namespace echosim {

// Who printed a line: HOST and HOST:PID:TID.
struct LogSender {
    std::string_view host;
    std::string_view thread;
};

class LogCommunicators {
  public:
    // A message of one thread, without its prefix; false when it is about something else.
    bool take(const LogSender& sender, std::string_view message, int line);
    // The end of the log: communicators that were not set up completely count as well.
    void close();

    bool empty() const { return communicators_.empty(); }
    // GPUs of one host: exactly where a communicator shows all of its ranks, else as many as there are at
    // least.
    void note_gpus(TopologyFacts& facts) const;
    void note_observed(TopologyFacts& facts);

  private:
    // What one rank prints of the communicator that it sets up.
    struct Printed {
        std::string host;
        std::string key; // commId, else what tells communicators apart in older versions
        int rank = -1;
        int ranks = 0;
        int nodes = 0;
        int local_ranks = 0;
        int device = -1;
        int line = 0;
        bool tree_seen = false; // the second tree is that of CollNet
        ObservedCommunicator found;
    };
    struct Communicator {
        ObservedCommunicator found;
        int line = 0;
        std::set<int> ranks_seen;
        std::set<std::string> hosts;
        int local_ranks = 0;
        bool all_seen() const { return static_cast<int>(ranks_seen.size()) == found.ranks; }
    };

    void connection(std::string_view message);
    static void graph(Printed& printed, std::string_view message);
    static void channel_counts(Printed& printed, std::string_view message);
    void rank(Printed& printed, std::string_view message, int line);
    void commit(Printed& printed);
    Printed& of(const LogSender& sender);

    std::map<std::string, Printed, std::less<>> printing_; // by thread
    std::map<std::string, Communicator> communicators_;
    std::map<std::string, std::set<int>> devices_; // by host
    int highest_device_ = -1;                      // of any rank that a connection names
    bool complete_ = false;                        // some communicator was set up to the end
};

} // namespace echosim
