// SPDX-License-Identifier: Apache-2.0
#include "traces/unknown_comms.h"

#include "tests/traces/align_job.h"
#include "tests/traces/chakra_wire.h"
#include "tests/traces/kineto_file.h"
#include "tests/traces/sample_trace.h"
#include "traces/chakra.h"
#include "traces/chrome_json.h"
#include "traces/csv.h"
#include "traces/import.h"
#include "traces/match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

// What a file does not say of communication stays unknown, from import to export.
namespace echosim {
namespace {

using testing::HasSubstr;
using testing::Not;

// RCCL has one kernel for every collective; NCCL one gather for every type.
constexpr std::string_view kKernels = R"j([
    {"ph":"X","cat":"kernel","name":"ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)","pid":0,"tid":7,"ts":1,"dur":2,"args":{"stream":7}},
    {"ph":"X","cat":"kernel","name":"ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*)","pid":0,"tid":7,"ts":5,"dur":2,"args":{"stream":7}},
    {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f64_RING_LL(int)","pid":0,"tid":7,"ts":9,"dur":2,"args":{"stream":7,"Collective name":"allreduce","In msg nelems":4,"Out msg nelems":4,"Group size":2,"dtype":"Double"}}])j";

const CommOp& op_named(const Trace& trace, std::string_view name) {
    return trace.comm_ops.at(event_named(trace, name).ext);
}

std::string bytes_of(const std::string& path) {
    const std::vector<std::byte> bytes = test::read_bytes(path);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(UnknownComms, NothingStandsForWhatIsNotInTheFile) {
    const Imported imported = import_text(kKernels);
    const Trace& trace = imported.trace;
    EXPECT_NO_THROW(check_trace(trace, "test"));
    EXPECT_EQ(op_named(trace, "ncclDevKernel_Generic").kind, kNoCollective);
    EXPECT_EQ(op_named(trace, "ncclDevKernel_Generic").dtype, kNoDType);
    EXPECT_EQ(op_named(trace, "ncclKernel_AllGather").kind, CollectiveKind::all_gather);
    EXPECT_EQ(op_named(trace, "ncclKernel_AllGather").dtype, kNoDType);
    const CommOp reduce = op_named(trace, "ncclDevKernel_AllReduce");
    EXPECT_EQ(reduce.dtype, kNoDType);
    EXPECT_EQ(reduce.bytes, 32U); // 4 doubles
    EXPECT_THAT(std::string(trace.text(event_named(trace, "ncclDevKernel_AllReduce").args)),
                HasSubstr(R"("dtype":"Double")"));
    EXPECT_TRUE(imported.report.warnings.empty());
}

TEST(UnknownComms, AreCountedInNotes) {
    ImportReport report;
    note_unknown_communication(import_text(kKernels).trace, report);
    EXPECT_THAT(report.all_notes(),
                testing::ElementsAre("the collective of 1 of 3 communication events is not in the files",
                                     "the data type of 3 of 3 communication events is not in the files, or "
                                     "none that echosim has"));
    ImportReport none;
    note_unknown_communication(import_text(small_trace()).trace, none);
    EXPECT_TRUE(none.all_notes().empty());
}

TEST(UnknownComms, TraceEventsLeaveTheKeysOut) {
    const Trace trace = import_text(kKernels).trace;
    std::ostringstream out;
    write_chrome(trace, out);
    EXPECT_THAT(out.str(), HasSubstr(R"("collective":"all_gather","bytes":0,"Group size":0)"));
    EXPECT_THAT(out.str(), HasSubstr(R"("bytes":0,"Group size":0,"Seq":0)"));
    EXPECT_THAT(out.str(), Not(HasSubstr(R"("?")")));
    const Trace back = import_text(out.str()).trace;
    EXPECT_EQ(op_named(back, "ncclDevKernel_Generic"), op_named(trace, "ncclDevKernel_Generic"));
    EXPECT_EQ(op_named(back, "ncclDevKernel_AllReduce"), op_named(trace, "ncclDevKernel_AllReduce"));
}

TEST(UnknownComms, TablesAndExecutionTracesToo) {
    const Trace trace = import_text(kKernels).trace;
    const std::string csv = test::temporary_path(".csv");
    write_csv(trace, csv);
    EXPECT_THAT(bytes_of(csv), Not(HasSubstr("?")));
    const std::string et = test::temporary_path(".et");
    write_chakra(trace, et);
    const std::string nodes = bytes_of(et);
    std::size_t types = 0; // of the two whose collective is known
    for (std::size_t at = nodes.find("comm_type"); at != std::string::npos;
         at = nodes.find("comm_type", at + 1)) {
        ++types;
    }
    EXPECT_EQ(types, 2U);
    EXPECT_EQ(read_chakra(et).trace, trace);
}

// A node of Chakra whose collective nobody tells keeps its size and its group.
TEST(UnknownComms, ANodeWithoutItsType) {
    using namespace test;
    const std::string path =
        temporary_file(delimited(text(1, "0.0.4")) +
                           delimited(number(1, 1) + text(2, "ncclDevKernel_Generic") + number(3, 7) +
                                     attribute("comm_size", 9, 4096) + attribute("pg_name", "7")) +
                           delimited(number(1, 2) + text(2, "ncclDevKernel_Generic") + number(3, 7) +
                                     attribute("comm_type", 9, 77)),
                       "node.et");
    const Imported imported = read_chakra(path);
    ASSERT_EQ(imported.trace.comm_ops.size(), 2U);
    EXPECT_EQ(imported.trace.comm_ops[0].kind, kNoCollective);
    EXPECT_EQ(imported.trace.comm_ops[0].bytes, 4096U);
    EXPECT_EQ(imported.trace.text(imported.trace.comm_ops[0].group), "7");
    EXPECT_EQ(imported.trace.comm_ops[1].kind, kNoCollective);
    EXPECT_EQ(imported.report.warnings.at("unknown_collective"), 2U);
}

// Calls 0 to 9 of two ranks; the kernel of call 4 of rank 1 is of another name, and call 6 of rank 1 is
// known.
TEST(UnknownComms, MeetByTheNameOfTheKernelAndTheirPlace) {
    Trace trace = record_job(
        {.ranks = 2, .collectives = 10, .kind = kNoCollective, .communicator = true, .sequence = true});
    trace.streams[1].events.name[4] = trace.strings.intern("ncclDevKernel_Generic_4").value;
    trace.comm_ops.at(trace.streams[1].events.ext[6]).kind = CollectiveKind::all_reduce;
    const Matching matching = match_collectives(trace);
    EXPECT_EQ(matching.collectives, 8U);
    EXPECT_EQ(matching.inconsistent, 2U);
}

} // namespace
} // namespace echosim
