import { parentPort, workerData } from 'node:worker_threads';
import { present } from '../../assert.ts';
import { readProgramFiles } from '../../bundle/program-files.ts';
import { countNicenessFrom, setNiceness } from '../../node/child-priority.ts';
import { systemThreadId } from '../../node/thread-faults.ts';
import type { SourceThreadStart } from './source-reader.ts';

/** Reads the files that one program was made of, on a thread that ends with it. */
const parent = present(parentPort, 'this file runs in a worker thread');
const { program, niceness } = workerData as SourceThreadStart;
countNicenessFrom(niceness);
const threadId = systemThreadId();
if (threadId !== 0) setNiceness(threadId, 15);
parent.postMessage(readProgramFiles(program));
