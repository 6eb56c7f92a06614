// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/kineto/rows.h"
#include "traces/kineto/scan.h"

#include <memory>
#include <string>

namespace echosim {

// Parses pieces of a trace file. Not thread-safe: one a thread.
class PieceParser {
  public:
    // `own`: the file is one that we wrote.
    PieceParser(std::string path, bool own);
    ~PieceParser();
    PieceParser(const PieceParser&) = delete;
    PieceParser& operator=(const PieceParser&) = delete;
    // Mends the text where it is not JSON. Throws InputError "FILE:OFFSET" where that is not possible.
    KinetoPiece parse(EventText& text);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace echosim
