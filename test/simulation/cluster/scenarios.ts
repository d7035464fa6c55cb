import { clusterId, logName } from '../../../src/shared-log/log-name.ts';
import type { MemoryEngine } from '../../../src/shared-log/memory-engine.ts';
import { databaseIdentity } from '../../../src/values/identity-roles.ts';
import { SteadyClock } from '../../support/steady-clock.ts';
import type { ClusterParts } from './simulated-host.ts';

const log = logName(clusterId(1n), databaseIdentity(9n), 1);

/** Runs what a client asks of the simulated engine, and lets time go by until it is answered. */
async function asked<T>(clock: SteadyClock, answer: Promise<T>): Promise<T> {
  await clock.pass(20_000);
  return answer;
}

async function begun(parts: ClusterParts): Promise<{ clock: SteadyClock; engine: MemoryEngine }> {
  const clock = new SteadyClock();
  const engine = new parts.MemoryEngine({ clock });
  const zero = engine.connect('operator').create(log, new Uint8Array([0]));
  await asked(clock, zero);
  return { clock, engine };
}

/** True if a leader that still talks to an old primary is told that its entry is the last one. */
export async function isFooledByOldPrimary(parts: ClusterParts): Promise<boolean> {
  const { clock, engine } = await begun(parts);
  const bytes = new Uint8Array([1]);
  engine.promote(['old leader']);
  await asked(clock, engine.connect('new leader').append([{ log, seq: 1, bytes }]));
  const confirmed = await asked(clock, engine.connect('old leader').confirm([{ log, seq: 0 }]));
  return confirmed[0] === 'last';
}

/** True if an append that arrives after its place was truncated is stored, or the log is empty. */
export async function isLateAppendStored(parts: ClusterParts): Promise<boolean> {
  const { clock, engine } = await begun(parts);
  const client = engine.connect('leader');
  const bytes = new Uint8Array([1]);
  await asked(clock, client.append([{ log, seq: 1, bytes }]));
  await asked(clock, client.truncate(log, 9));
  const again = await asked(clock, client.append([{ log, seq: 1, bytes }]));
  const { entries } = await asked(clock, client.read(log, 0, engine.entryBytesMax));
  return again[0] === 'stored' || entries.length === 0;
}
