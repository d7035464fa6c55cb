import { Random } from '../../src/testing/random.ts';
import { SimulatedDisk } from '../../src/testing/simulated-disk.ts';

export type Interruption = 'kill' | 'powerCut';

/** A run on a disk that may end while it goes on, and what it was promised up to then. */
interface InterruptedRun<State, Run> {
  /** Does `steps` random things; ends quietly when the disk does. */
  go(steps: number): Promise<void>;
  /** What is promised to someone who finds the disk after an interruption at this moment. */
  promised(interruption: Interruption): State;
  /** The run on what is found after an interruption at this moment. */
  after(interruption: Interruption, random: Random): Run;
}

interface InterruptOptions<State, Run extends InterruptedRun<State, Run>> {
  readonly seed: number;
  readonly steps: number;
  /** Disks tried for each place where the power is cut. */
  readonly outcomes: number;
  /** A run on this disk; without a state, the first one. */
  readonly run: (disk: SimulatedDisk, random: Random, state?: State) => Run;
  /** Goes on from what was found, and checks it. */
  readonly goOn: (run: Run, random: Random) => Promise<void>;
}

/**
 * Does a run again and again, and interrupts it at each of its operations by a kill, a power cut, an
 * error of the disk and a full disk. Throws an error that names seed and place.
 */
export async function interruptEverywhere<State, Run extends InterruptedRun<State, Run>>(
  options: InterruptOptions<State, Run>,
): Promise<{ readonly operations: number; readonly cuts: number }> {
  const { seed, steps, goOn } = options;
  let cuts = 0;
  const { moments, operations } = await momentsOf(options);
  for (const { run, cut, how } of moments) {
    await named(seed, `${how} at operation ${cut}`, async () => {
      await goOn(run, new Random(seed * 1_000_003 + cut * 101));
    });
    cuts++;
  }
  for (let cut = 1; cut <= operations; cut++) {
    for (const code of ['EIO', 'ENOSPC'] as const) {
      await named(seed, `${code} at operation ${cut}`, async () => {
        const random = new Random(seed * 7_000_003 + cut * 103);
        const disk = new SimulatedDisk();
        disk.failAtOperation(cut, code);
        const run = options.run(disk, new Random(seed));
        await run.go(steps);
        await goOn(run.after(random.chance(0.5) ? 'kill' : 'powerCut', random), random);
      });
      cuts++;
    }
  }
  return { operations, cuts };
}

/** One whole run, and what would be found if it were interrupted before each of its operations. */
async function momentsOf<State, Run extends InterruptedRun<State, Run>>(
  options: InterruptOptions<State, Run>,
) {
  const { seed, steps, outcomes } = options;
  const disk = new SimulatedDisk();
  const whole = options.run(disk, new Random(seed));
  const moments: { readonly run: Run; readonly cut: number; readonly how: Interruption }[] = [];
  disk.beforeOperation = () => {
    const cut = disk.operationCount + 1;
    const random = new Random(seed * 3_000_017 + cut);
    const add = (how: Interruption, found: SimulatedDisk): void => {
      moments.push({ run: options.run(found, random.fork(), whole.promised(how)), cut, how });
    };
    add('kill', disk.copy());
    for (let outcome = 0; outcome < outcomes; outcome++) add('powerCut', disk.afterCut(random));
  };
  await whole.go(steps);
  disk.beforeOperation = () => undefined;
  return { moments, operations: disk.operationCount };
}

async function named(seed: number, place: string, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    throw new Error(`seed ${seed}, ${place}: ${String(error)}`, { cause: error });
  }
}
