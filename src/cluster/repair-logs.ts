import { existsSync } from 'node:fs';
import { DiskError } from '../log/disk.ts';
import { LogDamageError } from '../log/log-error.ts';
import { chainOf, type LogPoint } from '../log/log-point.ts';
import { MachineDisk } from '../node/disk.ts';
import type { Report } from '../node/report-line.ts';
import { ImportError } from '../shared-log/import-log.ts';
import { logName } from '../shared-log/log-name.ts';
import { RepairError, type RepairOutcome, repairLog } from '../shared-log/repair-log.ts';
import { EngineError } from '../shared-log/shared-log.ts';
import type { StoredSnapshots } from '../shared-log/stored-snapshots.ts';
import type { DatabaseIdentity, OwnerIdentity } from '../values/identity-roles.ts';
import { drawBootId } from './host-file.ts';
import type { JoinedHost } from './join-cluster.ts';
import { newestSnapshot, partsOf } from './local-snapshot.ts';
import { MemberLog } from './member-log.ts';
import { type Copy, NotPossibleError } from './operations.ts';

/** A database whose shared log is to be what this host has of it. */
export interface RepairWanted {
  readonly database: DatabaseIdentity;
  readonly shown: string;
  readonly owner: OwnerIdentity;
  readonly generation: number;
  /** Where its files are. */
  readonly directory: string;
  readonly joined: Pick<JoinedHost, 'cluster' | 'engine' | 'host' | 'capabilities' | 'history'>;
  /** This host's name. */
  readonly name: string;
  /** `undefined`: hosts share none. */
  readonly snapshots: StoredSnapshots | undefined;
  /** What the hosts that answer have of it. */
  readonly copies: readonly Copy[];
  /** The other hosts that have a copy, and do not know what is in it. */
  readonly unknownAt: readonly string[];
  /** The other hosts that live, and do not answer. */
  readonly silentAt: readonly string[];
  /** Where acknowledged history ends, by those that say so. */
  readonly ends: readonly LogPoint[];
  readonly report: Report;
}

/** Repairs a shared log from this host's own one. Rejects with `NotPossibleError`. */
export async function repairFromHere(wanted: RepairWanted): Promise<RepairOutcome> {
  const { database, shown, directory, owner, generation, report } = wanted;
  const [unknown] = wanted.unknownAt;
  const [silent] = wanted.silentAt;
  if (silent !== undefined) throw new NotPossibleError('notNow', silentText(wanted, silent));
  if (unknown !== undefined) throw new NotPossibleError('notNow', unknownText(wanted, unknown));
  if (!existsSync(directory)) throw new NotPossibleError('notNow', `${wanted.name} has no copy`);
  try {
    const source = MemberLog.open(directory, { identity: database, owner, generation });
    if (source === undefined) throw new RepairError('its own log holds nothing');
    try {
      const outcome = await repair(wanted, source);
      const message = `The shared log of ${shown} was repaired from here: ${textOf(outcome)}`;
      if (outcome.kind !== 'whole') report({ level: 'warn', message });
      return outcome;
    } finally {
      source.close();
    }
  } catch (error) {
    const expected = [RepairError, ImportError, EngineError, LogDamageError, DiskError];
    if (!expected.some((kind) => error instanceof kind)) throw error;
    const reason = error instanceof ImportError ? busyText : (error as Error).message;
    throw new NotPossibleError('notNow', `${shown} is not repaired from ${wanted.name}: ${reason}`);
  }
}

function repair(
  { database, generation, joined, name, copies, ends, ...rest }: RepairWanted,
  source: MemberLog,
): Promise<RepairOutcome> {
  const { cluster, engine, host, capabilities, history } = joined;
  const { entryBytesMax } = capabilities;
  // A boot of its own: nobody has to be waited for before another host leads.
  const me = { host, boot: drawBootId(), name, address: '', history: history(), format: 1 };
  const known = copies.map(({ acknowledged }) => acknowledged);
  return repairLog({
    ...{ sharedLog: engine, source, me, entryBytesMax },
    log: logName(cluster, database, generation),
    pause: (millis) => new Promise((resolve) => setTimeout(resolve, millis)),
    base: () => baseOf(rest, source),
    knownOffset: Math.max(0, ...known),
    knownEnds: ends,
    knownTerm: Math.max(0, ...copies.map(({ term }) => term)),
  });
}

/** The place of this host's newest snapshot, once others can have that; else its beginning. */
async function baseOf(
  { directory, snapshots }: Pick<RepairWanted, 'directory' | 'snapshots'>,
  source: MemberLog,
): Promise<LogPoint | undefined> {
  const whole = source.start.position === 0 ? source.start : undefined;
  const disk = new MachineDisk(directory);
  const newest = snapshots && newestSnapshot(disk);
  if (snapshots === undefined || newest === undefined) return whole;
  const { offset, position, chainLow, chainHigh } = newest.place;
  const chain = chainOf(chainLow, chainHigh);
  if (source.chainAt(position) !== chain) return whole;
  await snapshots.add({ offset, position, chain, seq: 0 }, partsOf(disk, newest.name));
  return { offset, position, chain };
}

function textOf(outcome: RepairOutcome): string {
  switch (outcome.kind) {
    case 'whole':
      return `it has everything up to commit ${outcome.offset}`;
    case 'restored':
      return `commits ${outcome.from} to ${outcome.offset} are in it again`;
    case 'begun':
      return `it begins with entry ${outcome.seq}, and has everything up to ${outcome.offset}`;
  }
}

function unknownText({ shown, name }: RepairWanted, other: string): string {
  return (
    `${shown} is not repaired from ${name}: ${other} has a copy that it could not read since it ` +
    `started, and may have more commits. Name ${other}; or, if its copy has no more than that of ` +
    `${name}, stop ${other} and try again`
  );
}

function silentText({ shown, name }: RepairWanted, other: string): string {
  return (
    `${shown} is not repaired from ${name}: ${other} does not answer, and may have more commits. ` +
    `Try again once it answers, or stop it first`
  );
}

const busyText = 'another host writes to its log; keep its callers away, and try again';
