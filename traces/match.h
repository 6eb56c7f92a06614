// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/trace.h"

#include <cstdint>
#include <string>
#include <vector>

// Which communication kernels of different ranks are one collective, or a send and its receive.
//
// Calls of one class on one communicator (CommOp::communicator; equal ones of all classes are one row) are a
// sequence in order of start. Where the recorder numbers the calls (CommOp::sequence), equal numbers meet.
// Else the k-th call of one rank meets the (k + shift)-th of the other: recordings may begin and end in the
// middle of the sequence. Where no communicator is recorded, the sequence is that of the rank's j-th stream
// with communication, and which ranks form a group is told by which of them fit together.
//
// Sends and receives between two known ranks are paired likewise. A kernel that sends and receives on a
// communicator of more than two ranks without naming a peer is left alone: nothing says whom it meets.
//
// The shift is the one under which kind, data type and size of nine of ten calls agree, at least half of the
// shorter sequence overlaps, and the differences of the ends (a blocking collective ends on all of its
// members at once) deviate least from their median. It is refused as ambiguous when another shift fits
// nearly as well; but recordings of equally many calls, which begin and end at the border of a step, are
// taken as they stand (shift 0) unless another shift fits clearly better.
namespace echosim {

struct Matching {
    std::uint64_t collectives = 0;  // with two members or more
    std::uint64_t members = 0;      // their kernels
    std::uint64_t pairs = 0;        // sends with their receives
    std::uint64_t alone = 0;        // communication kernels that met nobody
    std::uint64_t inconsistent = 0; // equal numbers on a communicator, unequal kind or size: not matched
    std::vector<std::string> notes;
};

// Adds flows of kind collective (from the member of the lowest class to each other one) and p2p (from the
// send to the receive), and numbers the calls on recorded communicators from 1 on, equally on all members,
// where no call has a number. A trace that has such flows already is left as it is.
Matching match_collectives(Trace& trace);

} // namespace echosim
