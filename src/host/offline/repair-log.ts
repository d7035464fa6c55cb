import { existsSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { DiskError } from '../../log/disk.ts';
import { readDurableMark } from '../../log/durable-mark.ts';
import { decideKeep, type KeepPlan, pendingKeep } from '../../log/keep-plan.ts';
import { finishKeep, setAside } from '../../log/keep-tail.ts';
import { LogDamageError } from '../../log/log-error.ts';
import { type LogSurvey, planOf, surveyLog, type Tail } from '../../log/survey.ts';
import { verifyStart } from '../../log/verify.ts';
import { makeDirectoryDurably } from '../../node/atomic-file.ts';
import { MachineDisk, syncDirectory } from '../../node/disk.ts';
import { identityFromHex } from '../../values/identity.ts';
import { AuditLog } from '../registry/audit-log.ts';
import { DatabaseFiles } from '../registry/database-files.ts';
import { openRegistryCopy, type RegistryOptions } from '../registry/open-registry.ts';
import { registryIdentity } from '../registry/registry.ts';
import { accept, type LogPlace, LossError, placeOf } from './accept-losses.ts';
import type { Examined } from './examined-log.ts';
import { shownLog } from './shown-log.ts';

/** The log was not repaired; nothing was changed. */
export class RepairError extends Error {
  override readonly name = 'RepairError';
}

export interface RepairOptions extends RegistryOptions {
  /** The data folder, whose lock the caller holds. */
  readonly directory: string;
  /** A database's name or identity, or the registry's identity. */
  readonly target: string;
}

/** The part that the log continues from: the number of a tail, or only the common part. */
export type Kept = number | 'common';

export interface Repaired {
  /** Offset of the last commit now. */
  readonly offset: number;
  /** The folder of what was set aside; `undefined`: it is beside the log. */
  readonly aside: string | undefined;
}

/**
 * Finds out what a rejected log holds. Changes nothing. Rejects with `RepairError` where that
 * cannot be determined, with `RegistryError` where the log cannot be identified.
 */
export async function examineLog(options: RepairOptions): Promise<Examined> {
  return examine(await findLog(options));
}

/**
 * Turns a rejected log into one that opens: of a forked one a tail stays, or the common part alone,
 * of a damaged one what is before the damage. All else is set aside, and noted in the audit log.
 * Rejects with `RepairError` where `kept` is not available; after an interruption it can be called
 * again, with the same `kept`.
 */
export async function repairLog(options: RepairOptions, kept: Kept): Promise<Repaired> {
  const place = await findLog(options);
  const files = new DatabaseFiles(options.directory);
  const { clock, report } = options;
  const audit = new AuditLog({ lines: await files.openAuditLines(), clock, report });
  try {
    return await mendable(() => repair(examine(place), kept, audit, options));
  } finally {
    await audit.close();
  }
}

async function findLog({ directory, target, clock, entropy }: RepairOptions): Promise<LogPlace> {
  const files = new DatabaseFiles(directory);
  if (identityFromHex(target) === registryIdentity) {
    return { identity: registryIdentity, directory: files.registry ?? directory };
  }
  const registry = await openRegistryCopy({ clock, entropy }, files);
  try {
    return await mendable(async () => placeOf(registry, files, { target }));
  } finally {
    await registry.close();
  }
}

function examine(place: LogPlace): Examined {
  const { identity, directory } = place;
  if (!existsSync(directory)) {
    throw new RepairError(`${directory} does not exist; restore it from a backup`);
  }
  try {
    const disk = new MachineDisk(directory);
    const plan = pendingKeep(disk);
    if (plan !== undefined) return { ...place, state: 'interrupted', plan };
    const report = verifyStart(disk, identity);
    if (report.kind === 'absent') throw new RepairError(`there is no log in ${directory}`);
    const survey = surveyLog(disk, identity);
    const isRefused = report.kind === 'damaged' || report.kind === 'forked';
    if (!isRefused) return { ...place, state: report.kind, reason: undefined, survey };
    const state = survey.isForked ? 'forked' : report.kind;
    return { ...place, state, reason: report.error.message, survey };
  } catch (cause) {
    throw asRepairError(cause);
  }
}

async function repair(
  examined: Examined,
  kept: Kept,
  audit: AuditLog,
  options: RepairOptions,
): Promise<Repaired> {
  const { directory } = examined;
  switch (examined.state) {
    case 'intact':
    case 'torn':
      throw new RepairError('the log has nothing to repair: a start opens it');
    case 'damaged': {
      if (kept !== 'common') throw new RepairError('there is no tail to keep; keep `common`');
      const { lastOffset } = examined.survey.common.figures;
      await accept(examined, lastOffset, audit, options);
      return { offset: lastOffset, aside: undefined };
    }
    case 'interrupted':
      if (examined.plan.kept !== String(kept)) {
        throw new RepairError(`the repair that was begun keeps \`${examined.plan.kept}\``);
      }
      return await finish(examined, examined.plan, audit, options);
    case 'forked': {
      const disk = new MachineDisk(directory, { writer: options.writer });
      if (readDurableMark(disk).kind === 'version') {
        throw new RepairError('a later version of reducerdb has written to the log');
      }
      const tail = tailOf(examined.survey, kept);
      const aside = freeFolder(homeOf(examined));
      const plan = planOf(examined.survey, tail, String(kept), aside);
      if (plan.offset === 0) throw new RepairError('what is left holds no program');
      const report = JSON.stringify({ kept, ...shownLog(examined) }, null, 2);
      await copyAside(disk, aside, plan, report);
      await decideKeep(disk, plan);
      return await finish(examined, plan, audit, options);
    }
  }
}

/** The tail to keep; `undefined`: the common part alone. */
function tailOf({ tails, isPartingKnown }: LogSurvey, kept: Kept): Tail | undefined {
  if (kept === 'common') {
    const whole = tails.find(({ isWhole }) => isWhole);
    if (isPartingKnown || whole === undefined) return undefined;
    const advice = `keep ${whole.number}, which continues without a gap`;
    throw new RepairError(`it is unknown where the histories diverge; ${advice}`);
  }
  const tail = tails.find(({ number }) => number === kept);
  if (tail === undefined) throw new RepairError(`there is no tail ${kept}`);
  if (tail.isWhole) return tail;
  const why = 'the commits that it continues are gone';
  throw new RepairError(`tail ${kept} cannot be kept: ${why}. It can only be set aside`);
}

/** Beside the logs of the database, whose folders come and go with resets. */
function homeOf({ identity, directory }: LogPlace): string {
  return identity === registryIdentity ? directory : path.dirname(directory);
}

function freeFolder(home: string): string {
  let number = 1;
  while (existsSync(path.join(home, `set-aside-${number}`))) number++;
  return path.join(home, `set-aside-${number}`);
}

/** Copies under another name: the folder gets its own name when it is complete. */
async function copyAside(
  disk: MachineDisk,
  aside: string,
  plan: KeepPlan,
  report: string,
): Promise<void> {
  const part = `${aside}.part`;
  rmSync(part, { recursive: true, force: true });
  try {
    await makeDirectoryDurably(part);
    await setAside(disk, new MachineDisk(part), plan, report);
  } catch (error) {
    rmSync(part, { recursive: true, force: true });
    throw error;
  }
  renameSync(part, aside);
  await syncDirectory(path.dirname(aside));
}

async function finish(
  { identity, directory }: LogPlace,
  plan: KeepPlan,
  audit: AuditLog,
  { writer }: RepairOptions,
): Promise<Repaired> {
  const { offset, aside, kept } = plan;
  await finishKeep(new MachineDisk(directory, { writer }), plan);
  const report = verifyStart(new MachineDisk(directory), identity);
  if (report.kind !== 'intact') {
    const text = 'error' in report ? report.error.message : report.kind;
    throw new RepairError(
      `the log does not open after its repair (${text}); all of it is in ${aside}`,
    );
  }
  const detail = { kept, after_offset: offset, set_aside: aside };
  await audit.note({ action: 'repair log', database: identity, outcome: 'done', detail });
  return { offset, aside };
}

async function mendable<T>(use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (cause) {
    throw asRepairError(cause);
  }
}

function asRepairError(cause: unknown): unknown {
  const isOurs =
    cause instanceof LogDamageError || cause instanceof DiskError || cause instanceof LossError;
  return isOurs ? new RepairError(cause.message, { cause }) : cause;
}
