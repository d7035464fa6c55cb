import { Worker, workerData } from 'node:worker_threads';
import { LaneWindow } from '../../src/host/lanes/window.ts';
import type { PeerTask } from './window-calls.ts';

/** Starts a lane and reports its end in the window, as a free thread does for one that is blocked. */
const { peer, task } = workerData as { readonly peer: string; readonly task: PeerTask };
new Worker(peer, { workerData: task }).on('exit', () => new LaneWindow(task.window).gone());
