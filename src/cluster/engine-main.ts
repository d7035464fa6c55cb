import { parentPort, workerData } from 'node:worker_threads';
import { assert, present } from '../assert.ts';
import { troubleOf } from '../engines/postgres/engine-trouble.ts';
import { PostgresDirectory } from '../engines/postgres/postgres-directory.ts';
import { PostgresEngine } from '../engines/postgres/postgres-engine.ts';
import { PostgresParts } from '../engines/postgres/postgres-parts.ts';
import { Sessions } from '../engines/postgres/sessions.ts';
import type { EngineStart } from './engine-thread.ts';
import { GatheredLog } from './gathered-log.ts';
import { serveEngine } from './serve-engine.ts';

/** Holds all connections with PostgreSQL, in a thread of its own: see `engine-thread.ts`. */
const gateway = present(parentPort, 'this file runs in a worker thread');
const { place, history, gatherMillis } = workerData as EngineStart;
assert(place.kind === 'postgres', 'this thread is for PostgreSQL');
const sessions = new Sessions(place, history);
const engine = new PostgresEngine(place, sessions);
const directory = new PostgresDirectory(sessions);
serveEngine(gateway, {
  sharedLog: new GatheredLog(engine, { gatherMillis }),
  directory,
  parts: new PostgresParts(sessions),
  time: () => directory.time(),
  trouble: () => troubleOf(directory, sessions),
  history: () => sessions.history,
});
