// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_variables.h"

#include <algorithm>

// Source: NVIDIA documentation of NCCL, and the parameters in NVIDIA/nccl src; names only.
namespace echosim::nccl {
namespace {

// They change times, and the model follows.
constexpr const char* kFollowed[] = {"NCCL_ALGO",
                                     "NCCL_PROTO",
                                     "NCCL_MIN_NCHANNELS",
                                     "NCCL_MAX_NCHANNELS",
                                     "NCCL_MIN_NRINGS",
                                     "NCCL_MAX_NRINGS",
                                     "NCCL_MIN_CTAS",
                                     "NCCL_MAX_CTAS",
                                     "NCCL_NVLS_ENABLE",
                                     "NCCL_NVLS_NCHANNELS",
                                     "NCCL_NTHREADS",
                                     "NCCL_LL128_NTHREADS",
                                     "NCCL_BUFFSIZE",
                                     "NCCL_PXN_DISABLE",
                                     "NCCL_P2P_DISABLE",
                                     "NCCL_P2P_LEVEL",
                                     "NCCL_SHM_DISABLE",
                                     "NCCL_IB_DISABLE",
                                     "NCCL_IB_HCA",
                                     "NCCL_NET",
                                     "NCCL_COLLNET_ENABLE",
                                     "NCCL_MNNVL_ENABLE",
                                     "NCCL_PAT_ENABLE",
                                     "NCCL_P2P_NET_CHUNKSIZE",
                                     "NCCL_MIN_P2P_NCHANNELS",
                                     "NCCL_MAX_P2P_NCHANNELS",
                                     "NCCL_NCHANNELS_PER_NET_PEER",
                                     "NCCL_NET_OVERHEAD",
                                     "NCCL_LL128_C2C"};
// They change nothing that the model counts.
constexpr const char* kHarmless[] = {"NCCL_DEBUG",
                                     "NCCL_DEBUG_FILE",
                                     "NCCL_DEBUG_SUBSYS",
                                     "NCCL_DEBUG_TIMESTAMP_FORMAT",
                                     "NCCL_DEBUG_TIMESTAMP_LEVELS",
                                     "NCCL_WARN_ENABLE_DEBUG_INFO",
                                     "NCCL_VERSION",
                                     "NCCL_LIBRARY",
                                     "NCCL_HOME",
                                     "NCCL_ROOT",
                                     "NCCL_ROOT_DIR",
                                     "NCCL_INCLUDE_DIR",
                                     "NCCL_LIB_DIR",
                                     "NCCL_CONF_FILE",
                                     "NCCL_COMM_ID",
                                     "NCCL_SOCKET_IFNAME",
                                     "NCCL_SOCKET_FAMILY",
                                     "NCCL_SOCKET_RETRY_CNT",
                                     "NCCL_SOCKET_RETRY_SLEEP_MSEC",
                                     "NCCL_SOCKET_POLL_TIMEOUT_MSEC",
                                     "NCCL_OOB_NET_ENABLE",
                                     "NCCL_OOB_NET_IFNAME",
                                     "NCCL_UID_STAGGER_RATE",
                                     "NCCL_UID_STAGGER_THRESHOLD",
                                     "NCCL_BOOTSTRAP_TIMEOUT",
                                     "NCCL_IB_TIMEOUT",
                                     "NCCL_IB_RETRY_CNT",
                                     "NCCL_IB_GID_INDEX",
                                     "NCCL_IB_ROCE_VERSION_NUM",
                                     "NCCL_IB_ADDR_FAMILY",
                                     "NCCL_IB_ADDR_RANGE",
                                     "NCCL_IB_PKEY",
                                     "NCCL_IB_SL",
                                     "NCCL_IB_TC",
                                     "NCCL_IB_FIFO_TC",
                                     "NCCL_IB_CUDA_SUPPORT",
                                     "NCCL_IB_RETURN_ASYNC_EVENTS",
                                     "NCCL_IB_WARN_RAIL_LOCAL",
                                     "NCCL_IB_MERGE_NICS",
                                     "NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS",
                                     "NCCL_NET_PLUGIN",
                                     "NCCL_PROFILER_PLUGIN",
                                     "NCCL_ENV_PLUGIN",
                                     "NCCL_GIN_PLUGIN",
                                     "NCCL_PROFILE_EVENT_MASK",
                                     "NCCL_RAS_ENABLE",
                                     "NCCL_RAS_ADDR",
                                     "NCCL_RAS_TIMEOUT_FACTOR",
                                     "NCCL_CHECK_POINTERS",
                                     "NCCL_CHECKS_DISABLE",
                                     "NCCL_LAUNCH_MODE",
                                     "NCCL_ASYNC_ERROR_HANDLING",
                                     "NCCL_BLOCKING_WAIT",
                                     "NCCL_CUMEM_ENABLE",
                                     "NCCL_CUMEM_HOST_ENABLE",
                                     "NCCL_CUMEM_HANDLE_TYPE",
                                     "NCCL_CREATE_THREAD_CONTEXT",
                                     "NCCL_SET_STACK_SIZE",
                                     "NCCL_SET_THREAD_NAME",
                                     "NCCL_SET_CPU_AFFINITY",
                                     "NCCL_IGNORE_CPU_AFFINITY",
                                     "NCCL_HOSTID",
                                     "NCCL_TOPO_DUMP_FILE",
                                     "NCCL_GRAPH_DUMP_FILE",
                                     "NCCL_GRAPH_DUMP_FILE_RANK",
                                     "NCCL_TOPO_DUMP_FILE_RANK",
                                     "NCCL_COLLTRACE",
                                     "NCCL_DMABUF_ENABLE",
                                     "NCCL_GRAPH_MIXING_SUPPORT",
                                     "NCCL_GRAPH_REGISTER",
                                     "NCCL_LOCAL_REGISTER",
                                     "NCCL_LEGACY_CUDA_REGISTER",
                                     "NCCL_WIN_STRIDE",
                                     "NCCL_MNNVL_UUID",
                                     "NCCL_MNNVL_CLIQUE_ID",
                                     "NCCL_MNNVL_SCATTER_NETS_ENABLE",
                                     "NCCL_RUNTIME_CONNECT",
                                     "NCCL_COMM_BLOCKING",
                                     "NCCL_COMM_SHRINK_SHARE_RESOURCES",
                                     "NCCL_COMM_SPLIT_SHARE_RESOURCES",
                                     "NCCL_NET_SHARED_COMMS",
                                     "NCCL_NET_SHARED_BUFFERS",
                                     "NCCL_NETDEVS_POLICY",
                                     "NCCL_SINGLE_RING_THRESHOLD",
                                     "NCCL_PROGRESS_APPENDOP_FREQ",
                                     "NCCL_ABORT_TIMEOUT",
                                     "NCCL_P2P_DIRECT_DISABLE",
                                     "NCCL_MEM_SYNC_DOMAIN",
                                     "NCCL_GDR_FLUSH_DISABLE",
                                     "NCCL_GDRCOPY_ENABLE",
                                     "NCCL_GDRCOPY_SYNC_ENABLE",
                                     "NCCL_GDRCOPY_FLUSH_ENABLE",
                                     "NCCL_IB_ECE_ENABLE",
                                     "NCCL_IB_OOO_RQ",
                                     "NCCL_PARAM_DUMP_ALL",
                                     "NCCL_LAUNCH_ORDER_IMPLICIT",
                                     "NCCL_LAUNCH_RACE_FATAL",
                                     "NCCL_WORK_FIFO_BYTES",
                                     "NCCL_WORK_ARGS_BYTES",
                                     "NCCL_COLLNET_NODE_THRESHOLD"};
// They may change times; the model assumes what stands beside.
struct Lost {
    const char* name;
    const char* instead;
};
constexpr Lost kNotFollowed[] = {
    {"NCCL_CROSS_NIC", "rings stay on one rail where the fabric is rail-optimised"},
    {"NCCL_NET_GDR_LEVEL", "NICs read and write GPU memory directly"},
    {"NCCL_NET_GDR_READ", "NICs read and write GPU memory directly"},
    {"NCCL_NET_GDR_C2C", "NICs read and write GPU memory directly"},
    {"NCCL_NET_DISABLE_INTRA", "GPUs of a node never talk through their NICs"},
    {"NCCL_NET_FORCE_FLUSH", "receives take the flush that the fit saw"},
    {"NCCL_IB_QPS_PER_CONNECTION", "each connection has the queue pairs that the fit saw"},
    {"NCCL_IB_SPLIT_DATA_ON_QPS", "each connection has the queue pairs that the fit saw"},
    {"NCCL_IB_AR_THRESHOLD", "adaptive routing starts where the fit saw it"},
    {"NCCL_IB_ADAPTIVE_ROUTING", "adaptive routing is on as the fit saw it"},
    {"NCCL_IB_USE_INLINE", "messages are posted as the fit saw them"},
    {"NCCL_IB_PCI_RELAXED_ORDERING", "PCIe ordering is what the fit saw"},
    {"NCCL_IB_DATA_DIRECT", "NICs reach the GPU by the path of the cluster file"},
    {"NCCL_SOCKET_NTHREADS", "sockets have the threads that the fabric's constants hold"},
    {"NCCL_NSOCKS_PERTHREAD", "sockets have the threads that the fabric's constants hold"},
    {"NCCL_LL_BUFFSIZE", "LL has its default buffer"},
    {"NCCL_LL128_BUFFSIZE", "LL128 has its default buffer"},
    {"NCCL_P2P_NVL_CHUNKSIZE", "transfers over NVLink have their default chunk"},
    {"NCCL_P2P_PCI_CHUNKSIZE", "transfers over PCIe have their default chunk"},
    {"NCCL_P2P_LL_THRESHOLD", "LL serves transfers up to 16 KiB a channel"},
    {"NCCL_P2P_PXN_LEVEL", "PXN is used wherever the rail asks for it"},
    {"NCCL_P2P_USE_CUDA_MEMCPY", "kernels move the bytes, not copy engines"},
    {"NCCL_SHM_USE_CUDA_MEMCPY", "kernels move the bytes, not copy engines"},
    {"NCCL_THREAD_THRESHOLDS", "channels shrink at the default sizes"},
    {"NCCL_MIN_TRAFFIC_PER_CHANNEL", "channels shrink at the default sizes"},
    {"NCCL_TOPO_FILE",
     "the machine is the one of the cluster file (echosim show cluster --from FILE reads it)"},
    {"NCCL_GRAPH_FILE", "rings and trees are searched, or those of a log"},
    {"NCCL_CTA_POLICY", "kernels move the bytes unless the call asks for copy engines"},
    {"NCCL_SYM_CTAS", "kernels for symmetric memory have the CTAs that NCCL's model gives them"},
    {"NCCL_SYM_KERNEL", "NCCL's model chooses the kernel for symmetric memory"},
    {"NCCL_WIN_ENABLE", "symmetric memory is used where the call asks for it"},
    {"NCCL_NVLS_CHUNKSIZE", "NVLS has its default chunks"},
    {"NCCL_NVLSTREE_MAX_CHUNKSIZE", "NVLSTree has its default chunks"},
    {"NCCL_SHARP_DISABLE", "SHARP is there when NCCL_COLLNET_ENABLE asks for it"},
    {"NCCL_NVB_DISABLE", "pairs of a cube mesh use the links between them"},
    {"NCCL_CGA_CLUSTER_SIZE", "CTAs are clustered as the fit saw them"},
    {"NCCL_TUNER_PLUGIN", "NCCL's own tuner chooses"},
    {"NCCL_TUNER_CONFIG_FILE", "NCCL's own tuner chooses"},
    {"NCCL_UNPACK_ENABLE", "bytes arrive in GPU memory in order"},
    {"NCCL_MAX_CTAS_PER_SM", "every CTA has a multiprocessor"},
    {"NCCL_DISABLE_DIRECT_NVLS", "NVLS is used as the version does"},
    {"NCCL_SINGLE_PROC_MEM_REG_ENABLE", "one process drives one GPU"},
    {"NCCL_NCHANNELS_PER_PEER", "channels a peer follow the links"},
};

bool one_of(const auto& names, std::string_view name) {
    return std::any_of(std::begin(names), std::end(names), [&](const char* n) { return name == n; });
}

} // namespace

Variable variable(std::string_view name) {
    if (one_of(kFollowed, name))
        return {Following::followed, {}};
    if (one_of(kHarmless, name))
        return {Following::harmless, {}};
    for (const Lost& lost : kNotFollowed)
        if (name == lost.name)
            return {Following::not_followed, lost.instead};
    return {};
}

std::vector<std::string> variable_names() {
    std::vector<std::string> names(std::begin(kFollowed), std::end(kFollowed));
    names.insert(names.end(), std::begin(kHarmless), std::end(kHarmless));
    for (const Lost& lost : kNotFollowed)
        names.emplace_back(lost.name);
    return names;
}

} // namespace echosim::nccl
