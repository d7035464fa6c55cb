import { describe, it } from 'vitest';
import { runLogCrash } from '../simulation/log-crash.ts';

const rounds = 200;
const firstSeed = Date.now() % 1_000_000;

describe('the commit log, with the power cut at each operation, for a long time', () => {
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
    const segmentBytes = [400, 1500, 8000, 64_000][seed % 4] ?? 400;
    it(`seed ${seed}, segments of ${segmentBytes} bytes`, async () => {
      await runLogCrash({ seed, steps: 150, outcomes: 3, segmentBytes });
    });
  }
});
