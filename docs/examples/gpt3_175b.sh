#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# GPT-3 175B with Megatron-LM on 1,024 H100 (128 nodes of 8). The sizes are those of the GPT-3 paper (arXiv 2005.14165,
# table 2.1) with the vocabulary padded for tensor parallelism, as the Megatron-LM papers train it.
#
#   sbatch gpt3_175b.sh                                          on the cluster
#   echosim simulate gpt3_175b.sh --cluster dgx-h100             on a laptop

#SBATCH --job-name=gpt3-175b
#SBATCH --nodes=128
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --exclusive
#SBATCH --time=24:00:00
#SBATCH --output=%x-%j.log

set -euo pipefail

export CUDA_DEVICE_MAX_CONNECTIONS=1
export NCCL_IB_TIMEOUT=22
export TORCH_NCCL_AVOID_RECORD_STREAMS=1

MEGATRON_PATH=${MEGATRON_PATH:-/opt/Megatron-LM}
DATA_PATH=${DATA_PATH:-/data/pile/gpt2_text_document}
CHECKPOINT_PATH=${CHECKPOINT_PATH:-/checkpoints/gpt3-175b}
TOKENIZER_PATH=${TOKENIZER_PATH:-/data/gpt2}

GPUS_PER_NODE=8
NNODES=${SLURM_NNODES:-128}
MASTER_ADDR=${MASTER_ADDR:-localhost}
MASTER_PORT=${MASTER_PORT:-6000}

TP=${TP:-8}
PP=${PP:-8}
MICRO_BATCH=${MICRO_BATCH:-1}
GLOBAL_BATCH=${GLOBAL_BATCH:-1536}

DISTRIBUTED_ARGS=(
    --nproc-per-node "$GPUS_PER_NODE"
    --nnodes "$NNODES"
    --rdzv-backend c10d
    --rdzv-endpoint "$MASTER_ADDR:$MASTER_PORT"
)

MODEL_ARGS=(
    --use-mcore-models
    --num-layers 96
    --hidden-size 12288
    --num-attention-heads 96
    --seq-length 2048
    --max-position-embeddings 2048
    --vocab-size 51200      # 50,257 entries of GPT-2, padded to a multiple of 128 x TP
    --attention-dropout 0.1
    --hidden-dropout 0.1
    --init-method-std 0.006
    --use-flash-attn
)

PARALLEL_ARGS=(
    --tensor-model-parallel-size "$TP"
    --pipeline-model-parallel-size "$PP"
    --num-layers-per-virtual-pipeline-stage 2
    --sequence-parallel
    --use-distributed-optimizer
    --overlap-grad-reduce
    --overlap-param-gather
)

TRAINING_ARGS=(
    --micro-batch-size "$MICRO_BATCH"
    --global-batch-size "$GLOBAL_BATCH"
    --bf16
    --optimizer adam
    --adam-beta1 0.9
    --adam-beta2 0.95
    --weight-decay 0.1
    --clip-grad 1.0
    --lr 6.0e-5
    --min-lr 6.0e-6
    --lr-decay-style cosine
    --lr-warmup-iters 2000
    --lr-decay-iters 90000
    --train-iters 100000
)

DATA_ARGS=(
    --data-path "$DATA_PATH"
    --split "949,50,1"
    --tokenizer-type GPT2BPETokenizer
    --vocab-file "$TOKENIZER_PATH/vocab.json"
    --merge-file "$TOKENIZER_PATH/merges.txt"
)

LOGGING_ARGS=(
    --log-interval 10
    --log-throughput
    --save-interval 1000
    --eval-interval 1000
    --eval-iters 10
    --save "$CHECKPOINT_PATH"
    --load "$CHECKPOINT_PATH"
)

srun torchrun "${DISTRIBUTED_ARGS[@]}" "$MEGATRON_PATH/pretrain_gpt.py" \
    "${MODEL_ARGS[@]}" \
    "${PARALLEL_ARGS[@]}" \
    "${TRAINING_ARGS[@]}" \
    "${DATA_ARGS[@]}" \
    "${LOGGING_ARGS[@]}"
