// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_environment.h"

#include "comm_models/nccl_tables.h"
#include "comm_models/nccl_variables.h"
#include "simulator/core/suggest.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <fmt/core.h>
#include <set>

// NCCL reads numbers with strtoll: what does not start with a digit counts as 0, what follows the number is
// dropped, -2 is the default. Names of algorithms and protocols may have any case. A list that starts with ^
// allows all but what it names; from 2.24 a list may begin with the name of a function and a colon, lists are
// separated by semicolons (src/misc/param.cc, src/graph/tuning.cc).
//
// TCP sockets instead of verbs: bytes are copied through host memory by one proxy thread a connection, which
// reaches some 10 Gb/s (what clouds grant one flow, and what NCCL counts for a socket of unknown speed); a
// step takes 45 us (TCPX hop 40-50 us). Both are assumed.
namespace echosim::nccl {
namespace {

constexpr BytesPerSecond kSocketRate = 10_Gbps; // of one NIC
constexpr Seconds kSocketLatency = 45_us;

using Environment = std::map<std::string, std::string>;

constexpr std::size_t kKinds = 9;
constexpr int kOldestLike = 208; // NCCL 2.8 to 2.11 choose nearly as 2.12, the oldest of the tables
constexpr const char* kAlgorithms[] = {"Ring",     "Tree", "CollNetDirect", "CollNetChain", "NVLS",
                                       "NVLSTree", "PAT"}; // in the order of Algorithm
constexpr const char* kProtocols[] = {"LL", "LL128", "Simple"};
struct Function {
    const char* name;
    CollectiveKind kind;
};
constexpr Function kFunctions[] = {{"AllReduce", CollectiveKind::all_reduce},
                                   {"AllGather", CollectiveKind::all_gather},
                                   {"ReduceScatter", CollectiveKind::reduce_scatter},
                                   {"Broadcast", CollectiveKind::broadcast},
                                   {"Reduce", CollectiveKind::reduce}};

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

// One word of a list: the index of the name, or nothing with a warning.
template <std::size_t N>
std::optional<std::size_t> index_of(std::string_view word, const char* const (&names)[N],
                                    const std::string& variable, Settings& settings) {
    for (std::size_t i = 0; i < N; ++i)
        if (lower(word) == lower(names[i]))
            return i;
    settings.warnings.push_back(fmt::format(
        "{}: \"{}\" is none of {}{}; it is left out here, where NCCL {}", variable, word,
        join({std::begin(names), std::end(names)}), did_you_mean({std::begin(names), std::end(names)}, word),
        tuning_table(settings.version).function_lists ? "2.24 and later stops"
                                                      : "before 2.24 passes over it"));
    return std::nullopt;
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(separator), text.size());
        if (end > 0)
            parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

// "tree,ring" or "^NVLS" as bits; nothing when no word is known.
template <std::size_t N>
std::optional<unsigned> read_list(std::string_view text, const char* const (&names)[N],
                                  const std::string& variable, Settings& settings) {
    const bool all_but = !text.empty() && text.front() == '^';
    if (all_but)
        text.remove_prefix(1);
    unsigned named = 0;
    for (const std::string& word : split(text, ','))
        if (const auto index = index_of(word, names, variable, settings))
            named |= 1U << *index;
    if (named == 0)
        return std::nullopt;
    return all_but ? ~named : named;
}

// Writes a list into the kinds it is for; `written` marks them.
template <std::size_t N>
void read_lists(const std::string& variable, const std::string& value, const char* const (&names)[N],
                std::array<unsigned, kKinds>& allowed, std::array<bool, kKinds>& written,
                Settings& settings) {
    for (const std::string& list : split(value, ';')) {
        const std::size_t colon = list.find(':');
        std::string_view words = list;
        std::optional<CollectiveKind> only;
        if (colon != std::string::npos) {
            const std::string function = list.substr(0, colon);
            words.remove_prefix(colon + 1);
            std::vector<std::string> known;
            for (const Function& f : kFunctions) {
                known.emplace_back(f.name);
                if (lower(f.name) == lower(function))
                    only = f.kind;
            }
            if (!only || !tuning_table(settings.version).function_lists) {
                settings.warnings.push_back(
                    only ? fmt::format("{}: lists for one function came with NCCL 2.24; \"{}\" is left out",
                                       variable, list)
                         : fmt::format("{}: \"{}\" is none of {}{}; \"{}\" is left out, where NCCL stops",
                                       variable, function, join(known), did_you_mean(known, function), list));
                continue;
            }
        }
        const auto bits = read_list(words, names, variable, settings);
        if (!bits)
            continue;
        for (const Function& f : kFunctions) {
            if (only && *only != f.kind)
                continue;
            allowed[static_cast<std::size_t>(f.kind)] = *bits;
            written[static_cast<std::size_t>(f.kind)] = true;
        }
    }
}

// A number as strtoll reads it; nothing for -2, an empty value, or one out of range.
std::optional<long long> number(const Environment& environment, const char* name, Settings& settings) {
    const auto it = environment.find(name);
    if (it == environment.end() || it->second.empty())
        return std::nullopt;
    errno = 0;
    char* end = nullptr;
    const long long value = std::strtoll(it->second.c_str(), &end, 0);
    if (errno != 0) {
        settings.warnings.push_back(
            fmt::format("{}={}: out of range; NCCL takes its default", name, it->second));
        return std::nullopt;
    }
    if (end == it->second.c_str() || *end != '\0')
        settings.warnings.push_back(
            fmt::format("{}={}: NCCL reads this as the number {}", name, it->second, value));
    if (value == -2)
        return std::nullopt;
    return value;
}

int channels(const Environment& environment, const char* name, Settings& settings) {
    const auto value = number(environment, name, settings);
    if (!value || *value < 0)
        return 0;
    const int most = tuning_table(settings.version).max_channels;
    if (*value > most)
        settings.warnings.push_back(fmt::format("{}={}: NCCL {}.{} has at most {} channels", name, *value,
                                                settings.version / 100, settings.version % 100, most));
    return static_cast<int>(std::min<long long>(*value, most));
}

// Minimum and maximum: CTAs and channels both bind; a minimum above the maximum wins, as in NCCL, which
// copies channels last.
void read_channels(const Environment& environment, Settings& s) {
    s.min_channels = channels(environment, "NCCL_MIN_NRINGS", s);
    if (const int channel = channels(environment, "NCCL_MIN_NCHANNELS", s); channel > 0)
        s.min_channels = channel;
    s.max_channels = channels(environment, "NCCL_MAX_NRINGS", s);
    if (const int channel = channels(environment, "NCCL_MAX_NCHANNELS", s); channel > 0)
        s.max_channels = channel;
    s.min_channels = std::max(s.min_channels, channels(environment, "NCCL_MIN_CTAS", s));
    if (const int ctas = channels(environment, "NCCL_MAX_CTAS", s); ctas > 0)
        s.max_channels = s.max_channels > 0 ? std::min(s.max_channels, ctas) : ctas;
    s.nvls_channels = channels(environment, "NCCL_NVLS_NCHANNELS", s);
    s.p2p_min_channels = channels(environment, "NCCL_MIN_P2P_NCHANNELS", s);
    s.p2p_max_channels = channels(environment, "NCCL_MAX_P2P_NCHANNELS", s);
    s.p2p_channels_per_net_peer = channels(environment, "NCCL_NCHANNELS_PER_NET_PEER", s);
}

// Threads: a multiple of 32 between least and most, else the most, as NCCL does.
int threads(const Environment& environment, const char* name, int least, int most, Settings& s) {
    const auto value = number(environment, name, s);
    if (!value || *value <= 0)
        return 0;
    if (*value % 32 == 0 && *value >= least && *value <= most)
        return static_cast<int>(*value);
    const int taken = *value % 32 == 0 && *value < least ? least : most;
    s.warnings.push_back(fmt::format("{}={}: NCCL takes multiples of 32 from {} to {}; it uses {}", name,
                                     *value, least, most, taken));
    return taken;
}

bool flag(const Environment& environment, const char* name, bool otherwise, Settings& s) {
    const auto value = number(environment, name, s);
    return value ? *value != 0 : otherwise;
}

std::optional<bool> choice(const Environment& environment, const char* name, Settings& s) {
    const auto value = number(environment, name, s);
    if (!value || *value == 2) // 2: where the hardware has it
        return std::nullopt;
    return *value != 0;
}

void read_transport(const Environment& environment, Settings& s) {
    s.nvls = choice(environment, "NCCL_NVLS_ENABLE", s);
    s.pat = choice(environment, "NCCL_PAT_ENABLE", s);
    s.mnnvl = choice(environment, "NCCL_MNNVL_ENABLE", s);
    s.collnet = flag(environment, "NCCL_COLLNET_ENABLE", false, s);
    s.pxn = !flag(environment, "NCCL_PXN_DISABLE", false, s);
    s.p2p = !flag(environment, "NCCL_P2P_DISABLE", false, s);
    s.shm = !flag(environment, "NCCL_SHM_DISABLE", false, s);
    s.verbs = !flag(environment, "NCCL_IB_DISABLE", false, s);
    s.ll128_over_c2c = flag(environment, "NCCL_LL128_C2C", true, s);
    if (const auto it = environment.find("NCCL_NET");
        it != environment.end() && lower(it->second) == "socket")
        s.verbs = false;
    if (const auto it = environment.find("NCCL_P2P_LEVEL"); it != environment.end()) {
        const std::string level = lower(it->second);
        if (level == "loc" || level == "0")
            s.p2p = false;
    }
    s.threads = threads(environment, "NCCL_NTHREADS", 64, 512, s);
    s.ll128_threads = threads(environment, "NCCL_LL128_NTHREADS", 160, 640, s);
    if (const auto bytes = number(environment, "NCCL_BUFFSIZE", s); bytes && *bytes > 0)
        s.buffer = static_cast<double>(*bytes);
    if (const auto bytes = number(environment, "NCCL_P2P_NET_CHUNKSIZE", s); bytes && *bytes > 0)
        s.p2p_net_chunk = static_cast<double>(*bytes);
    if (const auto ns = number(environment, "NCCL_NET_OVERHEAD", s); ns && *ns >= 0)
        s.net_overhead = static_cast<double>(*ns) * 1e-3;
}

// "mlx5_0,mlx5_1:1", "=mlx5_0": so many devices; a name without a number stands for all that begin with it.
// Which NICs "^mlx5_3" leaves depends on their names, which no cluster file holds.
void read_devices(const Environment& environment, Settings& s) {
    const auto it = environment.find("NCCL_IB_HCA");
    if (it == environment.end() || it->second.empty())
        return;
    std::string_view text = it->second;
    if (text.front() == '^') {
        s.warnings.push_back(fmt::format("NCCL_IB_HCA={} is not followed: the cluster names no devices; set "
                                         "cluster.node.nics.count to what is left",
                                         text));
        return;
    }
    if (text.front() == '=')
        text.remove_prefix(1);
    std::set<std::string> devices;
    for (const std::string& entry : split(text, ',')) {
        const std::string name = entry.substr(0, entry.find(':'));
        const bool driver = name == "mlx4" || name == "mlx5"; // begins the name of each device
        if (driver || name.empty() || std::isdigit(static_cast<unsigned char>(name.back())) == 0)
            return;
        devices.insert(name);
    }
    s.listed_nics = static_cast<int>(devices.size());
}

void warn_about_names(const Environment& environment, Settings& s) {
    for (const auto& [name, value] : environment) {
        if (name.rfind("NCCL_", 0) != 0)
            continue;
        const Variable known = variable(name);
        if (known.following == Following::not_followed)
            s.warnings.push_back(fmt::format("{}={} is not followed: {}", name, value, known.instead));
        if (known.following == Following::unknown)
            s.warnings.push_back(fmt::format("{} is no variable of NCCL that is known{}", name,
                                             did_you_mean(variable_names(), name)));
    }
}

// Algorithms that exist for each kind at all, on any machine.
unsigned existing(CollectiveKind kind) {
    const auto bit = [](Algorithm a) { return 1U << static_cast<unsigned>(a); };
    switch (kind) {
    case CollectiveKind::all_reduce:
        return ~bit(Algorithm::pat);
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
        return bit(Algorithm::ring) | bit(Algorithm::nvls) | bit(Algorithm::pat) |
               bit(Algorithm::collnet_direct);
    default:
        return bit(Algorithm::ring);
    }
}

// What a list leaves nothing for runs with the ring, as NCCL before 2.22 did.
void warn_about_nothing_left(const std::string& value, const std::array<bool, kKinds>& written, Settings& s) {
    std::vector<std::string> lost;
    for (const Function& f : kFunctions) {
        const auto kind = static_cast<std::size_t>(f.kind);
        if (written[kind] && (s.algorithms[kind] & existing(f.kind)) == 0)
            lost.emplace_back(to_string(f.kind));
    }
    if (!lost.empty())
        s.warnings.push_back(fmt::format(
            "NCCL_ALGO={} leaves {} no algorithm: {}; the ring is used here", value, join(lost),
            tuning_table(s.version).ring_used_when_nothing_is_left ? "this NCCL takes the ring"
                                                                   : "this NCCL stops with an error there"));
}

// Versions for which there are no rules of their own, nor nearly the same ones.
void warn_about_version(const std::string& version, Settings& s) {
    const int newest = parse_version("");
    if (s.version > newest)
        s.warnings.push_back(fmt::format("NCCL {} is modelled as {}.{}, the newest known", version,
                                         newest / 100, newest % 100));
    if (s.version < kOldestLike)
        s.warnings.push_back(
            fmt::format("NCCL {} is older than what the model knows: it is modelled as {}.{}", version,
                        tuning_table(s.version).version / 100, tuning_table(s.version).version % 100));
}

bool uses_sockets(const Cluster& cluster, const Settings& settings) {
    const FabricKind kind = cluster.fabric.kind;
    return !settings.verbs && (kind == FabricKind::infiniband || kind == FabricKind::roce);
}

} // namespace

Settings read_settings(const std::string& version, const Environment& environment) {
    Settings s;
    s.version = parse_version(version);
    warn_about_version(version, s);
    s.algorithms.fill(~0U);
    s.protocols.fill(~0U);
    std::array<bool, kKinds> written{};
    if (const auto it = environment.find("NCCL_ALGO"); it != environment.end() && !it->second.empty()) {
        read_lists("NCCL_ALGO", it->second, kAlgorithms, s.algorithms, written, s);
        warn_about_nothing_left(it->second, written, s);
    }
    if (const auto it = environment.find("NCCL_PROTO"); it != environment.end() && !it->second.empty())
        read_lists("NCCL_PROTO", it->second, kProtocols, s.protocols, s.ll128_asked, s);
    read_channels(environment, s);
    read_transport(environment, s);
    read_devices(environment, s);
    warn_about_names(environment, s);
    return s;
}

Cluster visible_cluster(const Cluster& cluster, const Settings& settings) {
    Cluster result = cluster;
    if (!settings.p2p) {
        result.node.nvlink = {};
        result.nvlink_domain_nodes = 1;
    }
    if (!settings.mnnvl.value_or(tuning_table(settings.version).mnnvl_is_one_node))
        result.nvlink_domain_nodes = 1;
    Nics& nics = result.node.nics;
    if (uses_sockets(cluster, settings)) {
        result.fabric.kind = FabricKind::ethernet;
        result.fabric.efficiency = 0;
        nics.bandwidth = std::min(nics.bandwidth, kSocketRate);
        nics.latency = std::max(nics.latency, kSocketLatency);
    } else if (settings.listed_nics > 0 && settings.listed_nics < nics.count) {
        nics.count = settings.listed_nics;
        nics.gpus_per_nic = std::max(1, (cluster.node.gpus + nics.count - 1) / nics.count);
    }
    return result;
}

void add_cluster_warnings(const Cluster& cluster, Settings& settings) {
    if (uses_sockets(cluster, settings))
        settings.warnings.push_back(fmt::format(
            "TCP sockets instead of verbs (NCCL_IB_DISABLE, NCCL_NET): {} a NIC and {:.0f} us a "
            "step are assumed",
            format_bandwidth(std::min(cluster.node.nics.bandwidth, kSocketRate)), kSocketLatency * 1e6));
    if (settings.collnet && cluster.fabric.kind != FabricKind::infiniband) {
        settings.warnings.emplace_back(
            "NCCL_COLLNET_ENABLE=1: SHARP needs InfiniBand, which this fabric is not; CollNet is not used");
        settings.collnet = false;
    }
    const bool nvls_hardware = cluster.gpu.arch == Arch::hopper || cluster.gpu.arch == Arch::blackwell;
    const auto bits = [](Algorithm a) { return 1U << static_cast<unsigned>(a); };
    const unsigned reduce = settings.algorithms[static_cast<std::size_t>(CollectiveKind::all_reduce)];
    const unsigned nvls = bits(Algorithm::nvls) | bits(Algorithm::nvls_tree);
    if ((reduce & ~nvls & existing(CollectiveKind::all_reduce)) == 0 &&
        !(nvls_hardware && cluster.node.nvlink.nvswitch))
        settings.warnings.emplace_back("NCCL_ALGO leaves all_reduce only NVLS, which needs an NVSwitch and "
                                       "Hopper or newer; the ring is used");
    if (settings.collnet)
        settings.warnings.emplace_back(
            "NCCL_COLLNET_ENABLE=1: times of CollNet and of NVLS with SHARP are assumed");
}

} // namespace echosim::nccl
