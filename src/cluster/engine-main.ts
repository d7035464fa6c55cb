import { parentPort, workerData } from 'node:worker_threads';
import { present } from '../assert.ts';
import { PostgresDirectory } from '../engines/postgres/postgres-directory.ts';
import { PostgresEngine } from '../engines/postgres/postgres-engine.ts';
import { Sessions } from '../engines/postgres/sessions.ts';
import type { EngineStart } from './engine-thread.ts';
import { GatheredLog } from './gathered-log.ts';
import { serveEngine } from './serve-engine.ts';

/** Holds all connections with PostgreSQL, in a thread of its own: see `engine-thread.ts`. */
const gateway = present(parentPort, 'this file runs in a worker thread');
const { place, history, gatherMillis } = workerData as EngineStart;
const sessions = new Sessions(place, history);
const engine = new PostgresEngine(place, sessions);
const directory = new PostgresDirectory(sessions);
serveEngine(gateway, {
  sharedLog: new GatheredLog(engine, gatherMillis),
  directory,
  time: () => directory.time(),
  history: () => sessions.history,
});
