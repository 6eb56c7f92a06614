// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tests/traces/sample_trace.h"
#include "traces/nsys.h"
#include "traces/sqlite/database.h"

#include <filesystem>
#include <string>

namespace echosim::test {

// A database at a temporary path, made by SQL.
inline std::string make_database(const std::string& sql) {
    const std::string path = temporary_path(".sqlite");
    std::filesystem::remove(path);
    SqliteDatabase database = SqliteDatabase::create(path);
    database.execute(sql);
    database.close();
    return path;
}

inline Imported import_nsys(const std::string& sql) {
    return read_nsys(make_database(sql));
}

// In the rows below 281475094151168 is process 7 on virtual machine 1 (2^48 + 7 * 2^24), 281475094151177 its
// thread 9; 281475110928384 is process 8 (2^48 + 8 * 2^24), 281475110928387 its thread 3.

// Tables as exports of 2024 and later have them, with the columns that matter, but for strings and names
// without rows.
inline const std::string kNsysTables = R"sql(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1,'void gemm<float>(float*)'),(2,'gemm'),(3,'cudaLaunchKernel_v7000'),
  (4,'cudaMemcpyAsync_v3020'),(5,'cudaMemsetAsync_v3020'),(6,'main'),(7,'cudaStreamWaitEvent_v3020'),
  (8,'cudaEventRecord_v3020'),(9,'ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)'),
  (10,'ncclDevKernel_AllGather_RING_LL(ncclDevComm*)');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,
  shortName INTEGER, registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER,
  blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER,
  graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER,
  copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, value INTEGER,
  bytes INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
INSERT INTO PROCESSES VALUES (281475094151168, 7, '/usr/bin/python3');
CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);
)sql";

} // namespace echosim::test
