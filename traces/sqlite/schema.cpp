// SPDX-License-Identifier: Apache-2.0
#include "traces/sqlite/schema.h"

namespace echosim {

const std::string_view kSqliteTables = R"sql(
CREATE TABLE echosim_meta (key TEXT PRIMARY KEY NOT NULL, value NOT NULL) WITHOUT ROWID;
CREATE TABLE event_kind (id INTEGER PRIMARY KEY, word TEXT NOT NULL);
CREATE TABLE flow_kind (id INTEGER PRIMARY KEY, word TEXT NOT NULL);
CREATE TABLE provenance (id INTEGER PRIMARY KEY, word TEXT NOT NULL);
CREATE TABLE string (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE rank_class (id INTEGER PRIMARY KEY, name_id INTEGER, stage INTEGER,
  rank_count INTEGER NOT NULL, ranks TEXT NOT NULL);
CREATE TABLE class_rank (class_id INTEGER NOT NULL, position INTEGER NOT NULL, first INTEGER NOT NULL,
  count INTEGER NOT NULL, stride INTEGER NOT NULL, PRIMARY KEY (class_id, position)) WITHOUT ROWID;
CREATE TABLE stream (id INTEGER PRIMARY KEY, class_id INTEGER NOT NULL, number_in_class INTEGER NOT NULL,
  name_id INTEGER, kind TEXT NOT NULL, device INTEGER, number INTEGER,
  first_event INTEGER NOT NULL, event_count INTEGER NOT NULL);
CREATE TABLE label (id INTEGER PRIMARY KEY, iteration INTEGER, phase TEXT NOT NULL,
  micro_batch INTEGER, chunk INTEGER, layer INTEGER, module_id INTEGER);
CREATE TABLE comm_op (id INTEGER PRIMARY KEY, collective TEXT, dtype TEXT,
  algorithm TEXT, protocol TEXT, channels INTEGER, bytes INTEGER NOT NULL, group_id INTEGER,
  group_size INTEGER, peer INTEGER, sequence INTEGER NOT NULL, communicator_id INTEGER,
  direction TEXT NOT NULL, in_elements INTEGER, out_elements INTEGER);
CREATE TABLE communicator (id INTEGER PRIMARY KEY, name_id INTEGER, description_id INTEGER);
CREATE TABLE communicator_rank (communicator_id INTEGER NOT NULL, position INTEGER NOT NULL,
  first INTEGER NOT NULL, count INTEGER NOT NULL, stride INTEGER NOT NULL,
  PRIMARY KEY (communicator_id, position)) WITHOUT ROWID;
CREATE TABLE launch (id INTEGER PRIMARY KEY, grid_x INTEGER NOT NULL, grid_y INTEGER NOT NULL,
  grid_z INTEGER NOT NULL, block_x INTEGER NOT NULL, block_y INTEGER NOT NULL, block_z INTEGER NOT NULL,
  registers INTEGER NOT NULL, shared_bytes INTEGER NOT NULL);
CREATE TABLE copy (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, bytes INTEGER NOT NULL);
CREATE TABLE sync (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, stream_number INTEGER,
  event_number INTEGER, recorded_by INTEGER);
CREATE TABLE event (id INTEGER PRIMARY KEY, stream_id INTEGER NOT NULL, start_ns INTEGER NOT NULL,
  dur_ns INTEGER NOT NULL, name_id INTEGER, kind_id INTEGER NOT NULL, label_id INTEGER, ext_id INTEGER,
  alone_ns INTEGER, binding_pred INTEGER, provenance_id INTEGER NOT NULL,
  correlation INTEGER, args_id INTEGER);
CREATE TABLE flow (id INTEGER PRIMARY KEY, from_event INTEGER NOT NULL, to_event INTEGER NOT NULL,
  kind_id INTEGER NOT NULL);
CREATE TABLE counter (id INTEGER PRIMARY KEY, class_id INTEGER NOT NULL, name_id INTEGER, unit_id INTEGER);
CREATE TABLE sample (id INTEGER PRIMARY KEY, counter_id INTEGER NOT NULL, time_ns INTEGER NOT NULL,
  value REAL NOT NULL);
)sql";

// Kinds of events as numbers: 1 kernel, 2 memcpy, 3 memset, 4 comm, 5 sync, 7 api, 10 instant, 11 other.
// The tables that an event may or may not have a row of are joined from the left: SQLite leaves out those
// whose columns a query does not ask for.
const std::string_view kSqliteIndexes = R"sql(
CREATE INDEX event_by_stream ON event (stream_id, start_ns);
CREATE INDEX event_by_name ON event (name_id);
CREATE INDEX event_by_start ON event (start_ns);
CREATE INDEX event_by_correlation ON event (correlation) WHERE correlation > 0;
CREATE INDEX flow_by_from ON flow (from_event);
CREATE INDEX flow_by_to ON flow (to_event);
CREATE INDEX sample_by_counter ON sample (counter_id, time_ns);
CREATE VIEW slice AS
SELECT e.id AS id, class_name.value AS class, c.ranks AS ranks, c.rank_count AS rank_count, c.stage AS stage,
  stream_name.value AS stream, s.id AS stream_id, s.kind AS stream_kind, s.device AS device,
  s.number AS stream_number, k.word AS kind, name.value AS name, e.start_ns AS start_ns, e.dur_ns AS dur_ns,
  e.start_ns + e.dur_ns AS end_ns, e.alone_ns AS alone_ns, p.word AS provenance, l.iteration AS iteration,
  l.phase AS phase, l.micro_batch AS micro_batch, l.chunk AS chunk, l.layer AS layer,
  module.value AS module, o.collective AS collective, o.direction AS direction, o.dtype AS dtype,
  o.algorithm AS algorithm, o.protocol AS protocol, o.channels AS channels,
  coalesce(o.bytes, y.bytes) AS bytes, comm_group.value AS comm_group, o.group_size AS group_size,
  o.peer AS peer, o.sequence AS sequence, communicator.value AS communicator,
  description.value AS communicator_description, y.kind AS copy_kind, z.kind AS sync_kind,
  z.stream_number AS sync_stream, z.event_number AS sync_event, z.recorded_by AS sync_recorded_by,
  n.grid_x AS grid_x, n.grid_y AS grid_y, n.grid_z AS grid_z, n.block_x AS block_x, n.block_y AS block_y,
  n.block_z AS block_z, n.registers AS registers, n.shared_bytes AS shared_bytes, category.value AS category,
  e.correlation AS correlation,
  (SELECT a.id FROM event AS a JOIN stream AS t ON t.id = a.stream_id
    WHERE a.correlation = e.correlation AND a.correlation > 0 AND a.kind_id = 7 AND t.class_id = s.class_id
      AND e.kind_id IN (1, 2, 3, 4, 5, 6) LIMIT 1) AS launched_by,
  e.binding_pred AS binding_pred, args.value AS args
FROM event AS e
JOIN stream AS s ON s.id = e.stream_id
JOIN rank_class AS c ON c.id = s.class_id
JOIN event_kind AS k ON k.id = e.kind_id
LEFT JOIN provenance AS p ON p.id = e.provenance_id
LEFT JOIN string AS name ON name.id = e.name_id
LEFT JOIN string AS class_name ON class_name.id = c.name_id
LEFT JOIN string AS stream_name ON stream_name.id = s.name_id
LEFT JOIN label AS l ON l.id = e.label_id
LEFT JOIN string AS module ON module.id = l.module_id
LEFT JOIN comm_op AS o ON o.id = e.ext_id AND e.kind_id = 4
LEFT JOIN string AS comm_group ON comm_group.id = o.group_id
LEFT JOIN communicator AS m ON m.id = o.communicator_id
LEFT JOIN string AS communicator ON communicator.id = m.name_id
LEFT JOIN string AS description ON description.id = m.description_id
LEFT JOIN launch AS n ON n.id = e.ext_id AND e.kind_id = 1
LEFT JOIN copy AS y ON y.id = e.ext_id AND e.kind_id IN (2, 3)
LEFT JOIN sync AS z ON z.id = e.ext_id AND e.kind_id IN (5, 7)
LEFT JOIN string AS category ON category.id = e.ext_id AND e.kind_id IN (10, 11)
LEFT JOIN string AS args ON args.id = e.args_id;
)sql";

} // namespace echosim
