import { limits } from '../limits.ts';
import { parseHistory } from '../shared-log/engine-history.ts';
import { clusterId, type LogName, logName } from '../shared-log/log-name.ts';
import type { AppendResult, EngineCapabilities, SharedLog } from '../shared-log/shared-log.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { random128 } from './host-file.ts';
import { singleCopyText } from './join-cluster.ts';

/** What one look at an engine found. */
export interface EngineFinding {
  readonly check: string;
  readonly isFine: boolean;
  readonly detail: string;
}

export interface LatencyFigures {
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

export interface EngineReport {
  readonly findings: readonly EngineFinding[];
  /** Absent if nothing was stored. */
  readonly append?: LatencyFigures;
  readonly confirm?: LatencyFigures;
}

/**
 * Tries whether an engine does what a cluster needs: that an entry has one writer, and that a log
 * has no gaps. It writes to logs of its own, which it removes, so a cluster can use the engine
 * meanwhile. Rejects with `EngineError` if the engine cannot be reached.
 */
export async function checkEngine(engine: SharedLog, now: () => number): Promise<EngineReport> {
  const capabilities = await engine.capabilities();
  const log = logName(clusterId(random128()), databaseIdentity(random128()), 0);
  try {
    const settings = settingsFindings(capabilities);
    const first = await firstFinding(engine, log, capabilities);
    if (!first.isFine) return { findings: [...settings, first] };
    const findings = [...settings, first, await oneWriter(engine, log), await noGaps(engine, log)];
    return { findings, ...(await latencies(engine, log, now)) };
  } finally {
    await engine.remove(log).catch(() => undefined);
  }
}

function settingsFindings({ copies, history, notes = [] }: EngineCapabilities): EngineFinding[] {
  if (copies === 1) return [{ check: 'copies', isFine: false, detail: singleCopyText }];
  const isSaid = isStore(history) ? '' : ', as its address says';
  const detail = copies === 'external' ? `kept by the storage${isSaid}` : `${copies}`;
  const more = notes.map(([check, text]) => ({ check, isFine: true, detail: text }));
  return [{ check: 'copies', isFine: true, detail: `${detail} (${history})` }, ...more];
}

function isStore(history: string): boolean {
  return parseHistory(history)?.kind === 'objects';
}

/** An engine that waits for a standby that is not there acknowledges nothing. */
async function firstFinding(
  engine: SharedLog,
  log: LogName,
  { history }: EngineCapabilities,
): Promise<EngineFinding> {
  const created = await engine.create(log, entry(0));
  const check = 'commit';
  if (created === 'created') return { check, isFine: true, detail: 'acknowledged' };
  if (isStore(history)) return { check, isFine: false, detail: 'nothing was acknowledged' };
  const detail =
    `nothing was acknowledged within ${limits.appendAnswerMillisMax / 1_000} s. Probably ` +
    '`synchronous_standby_names` names no standby that is connected: see pg_stat_replication';
  return { check, isFine: false, detail };
}

const writers = 200;

async function oneWriter(engine: SharedLog, log: LogName): Promise<EngineFinding> {
  const results = await Promise.all(
    Array.from({ length: writers }, (_, number) => append(engine, log, 1, number)),
  );
  const storedCount = results.filter((result) => result === 'stored').length;
  const passedCount = results.filter((result) => result === 'passed').length;
  const detail = `of ${writers} writers of one entry, ${storedCount} stored it`;
  const isFine = storedCount === 1 && passedCount === writers - 1;
  const unknownCount = writers - storedCount - passedCount;
  const more = unknownCount === 0 ? '' : `; ${unknownCount} have no known result`;
  return { check: 'one writer', isFine, detail: detail + more };
}

const racers = 4;
const raceEntries = 40;

/** Writers that race, each from the first entry to the last. */
async function noGaps(engine: SharedLog, log: LogName): Promise<EngineFinding> {
  const last = 1 + raceEntries;
  await Promise.all(
    Array.from({ length: racers }, async (_, number) => {
      for (let seq = 2; seq <= last; seq++) await append(engine, log, seq, number);
    }),
  );
  const { entries } = await engine.read(log, 0, limits.sharedReadBytesMax);
  const isFine = entries.length === last + 1 && entries.every(({ seq }, at) => seq === at);
  const detail = `${racers} writers that raced left ${entries.length} entries of ${last + 1}`;
  return { check: 'no gaps', isFine, detail };
}

/** So many, or as many as there is time for. */
const measuredEntries = 200;
const measureMillisMax = 5_000;

async function latencies(
  engine: SharedLog,
  log: LogName,
  now: () => number,
): Promise<Pick<EngineReport, 'append' | 'confirm'>> {
  const appends: number[] = [];
  const confirms: number[] = [];
  const first = 2 + raceEntries;
  const until = now() + measureMillisMax;
  for (let seq = first; seq < first + measuredEntries && now() < until; seq++) {
    const begun = now();
    if ((await append(engine, log, seq, 0)) !== 'stored') return {};
    const stored = now();
    await engine.confirm([{ log, seq }]);
    appends.push(stored - begun);
    confirms.push(now() - stored);
  }
  return { append: figuresOf(appends), confirm: figuresOf(confirms) };
}

function figuresOf(millis: readonly number[]): LatencyFigures {
  const sorted = [...millis].sort((one, other) => one - other);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

async function append(
  engine: SharedLog,
  log: LogName,
  seq: number,
  writer: number,
): Promise<AppendResult> {
  const [result = 'unknown'] = await engine.append([{ log, seq, bytes: entry(writer) }]);
  return result;
}

/** As many bytes as a group commit of a few calls has. */
function entry(writer: number): Uint8Array {
  return new Uint8Array(2_048).fill(writer % 256);
}
