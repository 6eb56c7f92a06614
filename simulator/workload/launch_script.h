// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/workload/megatron_args.h"

#include <string>
#include <string_view>

namespace echosim {

// Reads a bash launch script the way bash would expand it, and runs nothing: variables, defaults ${X:-1}
// ${X:=1}, arrays, arithmetic, functions, if/case on known values, loops over known words, sourced files
// beside it, here-documents, line continuations, comments. Finds the command that starts training (torchrun,
// srun, mpirun, python -m torch.distributed.run, bash -c "...", deepspeed) and returns its Megatron flags,
// the world size from
// --nnodes x --nproc-per-node (or #SBATCH, srun -N / --ntasks-per-node), and exported variables.
// `path` names the file in messages and is the folder where sourced files are looked for.
// Throws InputError: truncated (unclosed quote, here-document or block), no training command, an argument
// that depends on a value that is not known (named with its line).
JobSource read_launch_script(std::string_view text, const std::string& path);

} // namespace echosim
