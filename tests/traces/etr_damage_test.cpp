// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "tests/support/refusal.h"
#include "tests/traces/sample_trace.h"
#include "traces/crc32c.h"
#include "traces/etr.h"
#include "traces/etr/layout.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

// What a damaged or hostile file does: an InputError that names the file, or what is whole with a warning.
namespace echosim {
namespace {

using Bytes = std::vector<std::byte>;
using test::refused;

template <class T> void put(Bytes& bytes, std::uint64_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
}
template <class T> T get(const Bytes& bytes, std::uint64_t at) {
    T value{};
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

class EtrDamage : public testing::Test {
  protected:
    void TearDown() override { std::filesystem::remove(path_); }

    Bytes file_of(const Trace& trace, EtrCodec codec = EtrCodec::raw) {
        write_etr(trace, path_, codec);
        sections_ = EtrFile(path_).sections();
        return test::read_bytes(path_);
    }
    std::uint64_t payload(EtrSectionKind kind) const {
        for (const EtrSection& section : sections_) {
            if (section.kind == kind) {
                return section.offset + etr::kSectionHeaderBytes;
            }
        }
        return 0;
    }
    // Makes all checksums right again, and the index agree with the payloads, as a hostile writer would.
    void reseal(Bytes& bytes) const {
        const std::uint64_t end = bytes.size() - etr::kTailBytes;
        const auto index = get<std::uint64_t>(bytes, end);
        std::uint64_t entry = index + etr::kSectionHeaderBytes + etr::kIndexHeadBytes;
        put(bytes, index + etr::kSectionHeaderBytes + 8, crc32c(std::span(bytes).first(etr::kHeaderBytes)));
        for (const EtrSection& section : sections_) {
            const std::uint64_t body = section.offset + etr::kSectionHeaderBytes;
            put(bytes, section.offset + 28, crc32c(std::span(bytes).subspan(body, section.stored_bytes)));
            std::memcpy(bytes.data() + entry + 8, bytes.data() + section.offset, etr::kSectionHeaderBytes);
            if (section.codec == EtrCodec::raw) {
                std::memcpy(bytes.data() + entry + 40, bytes.data() + body, etr::kRoomFieldBytes);
            }
            entry += etr::kIndexEntryBytes;
        }
        put(bytes, end + 8, crc32c(std::span(bytes).subspan(index, end - index)));
    }

    std::string path_ = test::temporary_path(".etr");
    std::vector<EtrSection> sections_;
};

TEST_F(EtrDamage, ResealingAnUndamagedFileChangesNothing) {
    const Bytes good = file_of(test::small_trace());
    Bytes bytes = good;
    reseal(bytes);
    EXPECT_EQ(bytes, good);
}

// Cut behind section k: the first k sections are there, and a warning.
TEST_F(EtrDamage, CutAtASectionBoundaryKeepsTheSectionsBefore) {
    const Trace trace = test::random_trace(5);
    for (const EtrCodec codec : {EtrCodec::raw, EtrCodec::zstd}) {
        const Bytes good = file_of(trace, codec);
        const std::vector<EtrSection> all = sections_;
        std::uint64_t events = 0;
        for (std::size_t k = 0; k < all.size(); ++k) {
            test::write_bytes(path_,
                              Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(all[k].offset)));
            std::vector<std::string> warnings;
            const Trace part = read_etr(path_, &warnings);
            EXPECT_EQ(EtrFile(path_).sections().size(), k);
            EXPECT_EQ(part.event_count(), events);
            ASSERT_EQ(warnings.size(), 1U);
            EXPECT_THAT(warnings[0], testing::HasSubstr("cut off"));
            events += all[k].kind == EtrSectionKind::events ? all[k].room.count : 0;
        }
        EXPECT_EQ(events, trace.event_count());
    }
}

TEST_F(EtrDamage, CutAnywhereIsReadableOrRefused) {
    const Bytes good = file_of(test::random_trace(6), EtrCodec::raw);
    std::mt19937 engine(1);
    for (int i = 0; i < 300; ++i) {
        const auto size = std::uniform_int_distribution<std::size_t>(0, good.size() - 1)(engine);
        Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_EQ(refused(cut, path_), size < etr::kHeaderBytes) << size;
    }
    for (std::size_t size = 0; size < 200; ++size) {
        EXPECT_EQ(refused(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)), path_),
                  size < 64);
    }
}

// A flipped bit is refused, unless it lies in padding between sections or takes the tail's magic away.
class EtrFlips : public EtrDamage, public testing::WithParamInterface<EtrCodec> {
  protected:
    void expect_detection(const Trace& trace) {
        const Bytes good = file_of(trace, GetParam());
        std::size_t harmless = 0;
        for (std::size_t at = 0; at < good.size() - 8; at += at < 256 || at + 256 > good.size() ? 1 : 7) {
            Bytes bytes = good;
            bytes[at] ^= std::byte{0x10};
            if (!refused(bytes, path_)) {
                EXPECT_TRUE(read_etr(path_) == trace) << at;
                EXPECT_EQ(good[at], std::byte{0}) << at;
                ++harmless;
            }
        }
        // Padding in front of each section header, and of the index, is below 64 bytes.
        EXPECT_LT(harmless, 64 * (sections_.size() + 1));
    }
};

TEST_P(EtrFlips, AreDetected) {
    expect_detection(test::small_trace());
    expect_detection(test::recorded_trace());
}

INSTANTIATE_TEST_SUITE_P(All, EtrFlips, testing::Values(EtrCodec::raw, EtrCodec::zstd));

TEST_F(EtrDamage, WithoutTheTailMagicTheSectionsAreScanned) {
    const Trace trace = test::small_trace();
    Bytes bytes = file_of(trace);
    bytes.back() ^= std::byte{1};
    test::write_bytes(path_, bytes);
    std::vector<std::string> warnings;
    EXPECT_TRUE(read_etr(path_, &warnings) == trace);
    EXPECT_EQ(warnings.size(), 1U);
}

TEST_F(EtrDamage, AMessageHasFileAndOffset) {
    Bytes bytes = file_of(test::small_trace());
    const std::uint64_t at = payload(EtrSectionKind::events);
    bytes[at + 70] ^= std::byte{1};
    test::write_bytes(path_, bytes);
    try {
        read_etr(path_);
        FAIL() << "read a damaged file";
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr(path_ + ": byte " + std::to_string(at - 32)));
        EXPECT_THAT(error.what(), testing::HasSubstr("checksum"));
    }
}

// The checksums are right, the contents are not.
TEST_F(EtrDamage, HostileCountsAreRefused) {
    const std::uint64_t huge[] = {0, 1ULL << 61U, 0xffffffffffffffffULL, 0x2000000000000001ULL, 65'537};
    for (const Trace& trace : {test::small_trace(), test::recorded_trace()}) {
        const Bytes good = file_of(trace);
        for (const EtrSection& section : std::vector(sections_)) {
            for (const std::uint64_t count : huge) {
                Bytes bytes = good;
                put(bytes, section.offset + etr::kSectionHeaderBytes, count);
                reseal(bytes);
                EXPECT_TRUE(refused(bytes, path_)) << static_cast<int>(section.kind) << " " << count;
            }
        }
    }
}

TEST_F(EtrDamage, HostileRowsAreRefused) {
    const Bytes good = file_of(test::small_trace());
    const auto change = [&](EtrSectionKind kind, std::uint64_t at, auto value) {
        Bytes bytes = good;
        put(bytes, payload(kind) + at, value);
        reseal(bytes);
        EXPECT_TRUE(refused(bytes, path_)) << static_cast<int>(kind) << " at " << at;
    };
    change(EtrSectionKind::strings, 64, std::uint64_t{1} << 40U); // end of the first string
    change(EtrSectionKind::ranks, 64, std::uint32_t{5000});       // name
    change(EtrSectionKind::ranks, 72, std::uint64_t{1} << 60U);   // number of ranges
    change(EtrSectionKind::ranks, 84, std::uint32_t{0xffffffff}); // ranks of a range
    change(EtrSectionKind::streams, 64, std::uint32_t{2});        // class of 2 classes
    change(EtrSectionKind::streams, 76, std::uint32_t{10});       // stream kind
    change(EtrSectionKind::streams, 96, std::uint64_t{1} << 33U); // events that the file does not hold
    change(EtrSectionKind::labels, 68, std::uint32_t{200});       // phase
    change(EtrSectionKind::comm_ops, 64, std::uint8_t{50});       // collective
    change(EtrSectionKind::flows, 64, std::uint64_t{9} << 32U);   // stream of 5
    change(EtrSectionKind::flows, 80, std::uint32_t{9});          // flow kind
    change(EtrSectionKind::counters, 64, std::uint32_t{2});       // class of 2
    change(EtrSectionKind::samples, 128, 1.0 / 0.0);              // a value
    change(EtrSectionKind::samples, 8, std::uint32_t{1});         // counter of 1
    change(EtrSectionKind::events, 8, std::uint32_t{77});         // stream of 5
    change(EtrSectionKind::events, 12, std::uint32_t{1});         // class of the stream
    change(EtrSectionKind::events, etr::event_layout(1).column[1], TimeNs{-5});
    change(EtrSectionKind::events, etr::event_layout(1).column[2], std::uint32_t{5000});
    change(EtrSectionKind::events, etr::event_layout(1).column[3], std::uint8_t{99});
    change(EtrSectionKind::events, etr::event_layout(1).column[7], std::uint64_t{3});
}

// The tables of a recorded rank: one communicator and comm op, one launch, two copies, three syncs.
TEST_F(EtrDamage, HostileRowsOfRecordedTablesAreRefused) {
    const Bytes good = file_of(test::recorded_trace());
    const auto change = [&](EtrSectionKind kind, std::uint64_t at, auto value) {
        Bytes bytes = good;
        put(bytes, payload(kind) + at, value);
        reseal(bytes);
        EXPECT_TRUE(refused(bytes, path_)) << static_cast<int>(kind) << " at " << at;
    };
    change(EtrSectionKind::communicators, 64, std::uint32_t{5000});      // name
    change(EtrSectionKind::communicators, 68, std::uint32_t{5000});      // description
    change(EtrSectionKind::communicators, 72, std::uint64_t{2});         // ranges that are not there
    change(EtrSectionKind::communicators, 84, std::uint32_t{0});         // ranks of the range
    change(EtrSectionKind::communicators, 88, std::uint32_t{1U << 31U}); // its stride
    change(EtrSectionKind::comm_ops, 92, std::uint32_t{1});              // communicator of 1
    change(EtrSectionKind::comm_ops, 120, std::uint32_t{4});             // direction
    change(EtrSectionKind::comm_ops, 120, std::uint32_t{257});           // no direction of one byte
    change(EtrSectionKind::copies, 64, std::uint32_t{7});                // kind
    change(EtrSectionKind::syncs, 64, std::uint32_t{5});                 // kind
    const auto& events = *std::find_if(sections_.begin(), sections_.end(), [](const EtrSection& section) {
        return section.kind == EtrSectionKind::events && section.room.row == 2; // stream 7
    });
    const etr::EventLayout layout = etr::event_layout(events.room.count);
    const std::uint64_t body = events.offset + etr::kSectionHeaderBytes - payload(EtrSectionKind::events);
    change(EtrSectionKind::events, body + layout.column[5], std::uint32_t{1});     // launch of 1
    change(EtrSectionKind::events, body + layout.column[10], std::uint32_t{5000}); // args
    change(EtrSectionKind::events, body + layout.column[3], EventKind::python);    // has no table
}

TEST_F(EtrDamage, AnOlderVersionIsNamed) {
    Bytes bytes = file_of(test::small_trace());
    put(bytes, 8, std::uint32_t{1});
    test::write_bytes(path_, bytes);
    EXPECT_THAT(
        refusal([&] { read_etr(path_); }),
        testing::AllOf(testing::HasSubstr("older echosim"), testing::HasSubstr("simulate or import again")));
    put(bytes, 8, std::uint32_t{3});
    EXPECT_TRUE(refused(bytes, path_));
}

TEST_F(EtrDamage, HostileIndexIsRefused) {
    const Bytes good = file_of(test::small_trace());
    const std::uint64_t end = good.size() - etr::kTailBytes;
    const auto index = get<std::uint64_t>(good, end);
    const std::uint64_t entry = index + etr::kSectionHeaderBytes + etr::kIndexHeadBytes;
    const auto change = [&](std::uint64_t at, std::uint64_t value) {
        Bytes bytes = good;
        put(bytes, at, value);
        put(bytes, end + 8, crc32c(std::span(bytes).subspan(index, end - index)));
        EXPECT_TRUE(refused(bytes, path_)) << at - index << " " << value;
    };
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{1} << 62U, ~std::uint64_t{0}, ~std::uint64_t{31}}) {
        change(index + etr::kSectionHeaderBytes, value); // number of sections
        change(entry, value);                            // offset of the first section
        change(entry + 16, value);                       // its raw bytes
        change(entry + 24, value);                       // its stored bytes
        Bytes bytes = good;
        put(bytes, end, value); // offset of the index
        EXPECT_TRUE(refused(bytes, path_));
    }
}

// Random bytes of payloads changed under right checksums: refused, or a trace that keeps all rules.
TEST_F(EtrDamage, RandomContentsNeverBreakTheReader) {
    for (const EtrCodec codec : {EtrCodec::raw, EtrCodec::zstd}) {
        const Bytes good = file_of(test::recorded_trace(), codec);
        std::mt19937 engine(2);
        int refusals = 0;
        for (int i = 0; i < 400; ++i) {
            Bytes bytes = good;
            const EtrSection& section = sections_[engine() % sections_.size()];
            for (int flips = 0; flips < 3; ++flips) {
                const std::uint64_t at =
                    section.offset + engine() % (etr::kSectionHeaderBytes + section.stored_bytes);
                bytes[at] = static_cast<std::byte>(engine());
            }
            reseal(bytes);
            refusals += refused(bytes, path_) ? 1 : 0;
        }
        EXPECT_GT(refusals, 100);
    }
}

TEST_F(EtrDamage, OtherFilesAreNamedAsSuch) {
    for (const std::string_view text : {"", "{\"traceEvents\":[]}", "ECHOTRC1"}) {
        const auto bytes = std::as_bytes(std::span(text));
        EXPECT_TRUE(refused(Bytes(bytes.begin(), bytes.end()), path_)) << text;
    }
    EXPECT_TRUE(refused(Bytes(4096), path_));
    EXPECT_THROW(read_etr("/no/such/file.etr"), InputError);
    EXPECT_THROW(read_etr(testing::TempDir()), InputError);
    EXPECT_THROW(read_etr("/dev/null"), InputError);
}

} // namespace
} // namespace echosim
