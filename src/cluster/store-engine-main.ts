import { parentPort, workerData } from 'node:worker_threads';
import { assert, present } from '../assert.ts';
import { OpenedStore } from '../engines/s3/opened-store.ts';
import { S3Directory } from '../engines/s3/s3-directory.ts';
import { S3Engine } from '../engines/s3/s3-engine.ts';
import type { EngineStart } from './engine-thread.ts';
import { GatheredLog } from './gathered-log.ts';
import { serveEngine } from './serve-engine.ts';

/** Sends all requests to an S3-compatible store, in a thread of its own: see `engine-thread.ts`. */
const gateway = present(parentPort, 'this file runs in a worker thread');
const { place, history, gatherMillis } = workerData as EngineStart;
assert(place.kind === 's3', 'this thread is for a store');
const store = new OpenedStore(place, history);
const directory = new S3Directory(store);
serveEngine(gateway, {
  // A store takes each entry by itself: one that is slow holds up no other.
  sharedLog: new GatheredLog(new S3Engine(store), { gatherMillis, isOneByOne: true }),
  directory,
  time: () => directory.time(),
  history: () => store.history,
  trouble: () => store.trouble(),
});
