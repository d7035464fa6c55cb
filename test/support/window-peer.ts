import { parentPort, workerData } from 'node:worker_threads';
import { LaneWindow } from '../../src/host/lanes/window.ts';
import { WindowLink } from '../../src/host/lanes/window-link.ts';
import {
  answers,
  nextCall,
  numbersFrom,
  type PeerTask,
  PlainScratch,
  served,
} from './window-calls.ts';

/** A lane without a program: makes random data calls, and checks each answer against its own. */
const { window, seed, calls, last } = workerData as PeerTask;
const link = new WindowLink(new LaneWindow(window), {
  ring: () => parentPort?.postMessage('asked'),
  stretches: { began: () => undefined, ended: () => undefined },
  reducers: new Map(),
  operations: { ask: () => 0, cancel: () => undefined },
});

function run(): string {
  const next = numbersFrom(seed);
  const mine = new PlainScratch();
  const theirs = new PlainScratch();
  const { serve } = served();
  const begun = link.begin('write', 9);
  if (begun < 0n) return `refused: ${begun} ${link.failure}`;
  for (let left = calls; left > 0; left -= 1) {
    const { op, args, sent } = nextCall(next);
    for (const scratch of [mine, theirs]) {
      if (sent.length > scratch.bytes.length) scratch.grow(sent.length);
      scratch.bytes.set(sent);
    }
    const result = link.data(op, ...args, theirs);
    const expected = serve(op, ...args, mine);
    if (result !== expected) return `call ${op}(${args}): ${result}, not ${expected}`;
    const length = answers(op) ? Math.max(result, 0) : 0;
    const [own, got] = [mine, theirs].map(({ bytes }) => bytes.subarray(0, length));
    const isSame = own !== undefined && got !== undefined && Buffer.compare(own, got) === 0;
    if (!isSame) return `call ${op}(${args}): other bytes`;
  }
  if (last === 'exit') process.exit();
  if (last === 'rest') return 'rests';
  const { code, failure } = link.end(last);
  return `ended: ${code} ${failure}`;
}

parentPort?.postMessage(run());
