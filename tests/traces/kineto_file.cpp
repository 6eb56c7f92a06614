// SPDX-License-Identifier: Apache-2.0
#include "tests/traces/kineto_file.h"

#include <cstdio>
#include <gtest/gtest.h>
#include <vector>
#include <zlib.h>

namespace echosim {

std::string temporary_file(std::string_view content, const std::string& name) {
    const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::string path = ::testing::TempDir() + "kineto_" + test + "_" + name;
    std::FILE* file = std::fopen(path.c_str(), "wb");
    EXPECT_NE(file, nullptr) << path;
    EXPECT_EQ(std::fwrite(content.data(), 1, content.size(), file), content.size());
    std::fclose(file);
    return path;
}

Imported import_text(std::string_view content, const std::string& name) {
    const std::string path = temporary_file(content, name);
    struct Remove {
        const std::string& path;
        ~Remove() { std::remove(path.c_str()); }
    } const remove{path};
    Imported imported = read_trace_events(path);
    check_trace(imported.trace, path);
    return imported;
}

std::string gzip_member(std::string_view text) {
    z_stream stream = {};
    EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::vector<char> out(text.size() + 1024);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    const std::string member(out.data(), stream.total_out);
    deflateEnd(&stream);
    return member;
}

std::string small_trace(std::string_view name) {
    return R"j({"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":5,"world_size":8},
"baseTimeNanoseconds":1700000000000000000,"traceEvents":[
{"ph":"M","name":"process_name","pid":0,"args":{"name":"python"}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":10,"tid":11,"ts":1000.5,"dur":20,"args":{"External id":5,"Input Dims":[[8, 4],[4, 2]],"Ev Idx":3}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":10,"tid":11,"ts":1005,"dur":4,"args":{"External id":5,"cbid":211,"correlation":77}},
{"ph":"X","cat":"kernel","name":")j" +
           std::string(name) +
           R"j(","pid":0,"tid":7,"ts":1030,"dur":55.25,"args":{"device":0,"stream":7,"correlation":77,"registers per thread":168,"shared memory":213248,"grid":[132, 1, 1],"block":[384, 1, 1],"warps per SM":12}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)","pid":0,"tid":20,"ts":1040,"dur":120,"args":{"device":0,"stream":20,"correlation":80,"Collective name":"allreduce","In msg nelems":4194304,"Out msg nelems":4194304,"Group size":8,"dtype":"BFloat16","Process Group Name":"0","Process Group Description":"TENSOR_MODEL_PARALLEL_GROUP","Process Group Ranks":"[0, 1, 2, 3, 4, 5, 6, 7]"}}
],"traceName":"x.json"})j";
}

Event event_named(const Trace& trace, std::string_view name) {
    for (const TraceStream& stream : trace.streams) {
        for (std::size_t i = 0; i < stream.events.size(); ++i) {
            if (trace.text(NameId{stream.events.name[i]}).starts_with(name)) {
                return stream.events.row(i);
            }
        }
    }
    ADD_FAILURE() << "no event is called " << name;
    return {};
}

} // namespace echosim
