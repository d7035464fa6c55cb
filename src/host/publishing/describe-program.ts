import { cronFaultsIn } from '../../database/cron-faults.ts';
import { Refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import { MachineClock } from '../../node/clock.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';
import { completeBudget } from '../seats/budget.ts';
import { workerPlacement } from '../workers/worker-placement.ts';

export type ProgramDescription =
  /** The definition in its binary form, as the program gave it, after it passed every rule. */
  | { readonly kind: 'described'; readonly bytes: Uint8Array }
  /** `crons` are the lines of the message about crons, each with the name of its export. */
  | {
      readonly kind: 'refused';
      readonly message: string;
      readonly crons: readonly { readonly name: string; readonly text: string }[];
    };

/**
 * Asks a program for its description the way a host does before it publishes: on a thread and in a
 * sandbox that end with it. For tools that have no service. The answer is waited for, so a program
 * has the time of one call for it.
 */
export async function describeProgram(bytes: Uint8Array): Promise<ProgramDescription> {
  const budget = completeBudget({ publishMillisMax: limits.callMillisMax });
  const placement = workerPlacement({
    budget,
    clock: new MachineClock(),
    isolationOf: () => 'thread',
    usualIsolation: 'thread',
    // Somebody waits for it.
    isDevelopment: true,
    report: () => undefined,
  });
  const place = { identity: databaseIdentity(0n), programs: undefined };
  try {
    return { kind: 'described', bytes: await placement.examine({ kind: 'js', bytes }, place) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { message } = error;
    return { kind: 'refused', message, crons: cronFaultsIn(message) };
  } finally {
    await placement.close();
  }
}
