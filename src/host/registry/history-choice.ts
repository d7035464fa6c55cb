import type { HistorySettings } from '../../history/retention.ts';
import { limits } from '../../limits.ts';
import { bytesText } from '../../values/bytes-text.ts';

/**
 * What is kept of the history of databases. An operator chooses for the service, which also bounds
 * what an owner can choose for a database.
 */
export interface HistoryChoice {
  /** Commits younger than this stay; 0: those that recovery needs. */
  readonly keepMicros?: bigint | 'everything' | undefined;
  /** Bytes of old segments and old snapshots together; 0: any amount. */
  readonly keepBytes?: number | undefined;
  /** Absent: any number. */
  readonly keepCommits?: number | undefined;
  /** What gives way when the disk is nearly full. */
  readonly onLowDisk?: LowDiskChoice | undefined;
}

export const lowDiskChoices = ['shrink', 'warn'] as const;

export type LowDiskChoice = (typeof lowDiskChoices)[number];

export type HistoryField = keyof Required<HistoryChoice>;

/** The names that settings, HTTP and the command line share. */
export const historySettingNames: Readonly<Record<HistoryField, string>> = {
  keepMicros: 'keep',
  keepBytes: 'keep-bytes',
  keepCommits: 'keep-commits',
  onLowDisk: 'on-low-disk',
};

export const historyFields = Object.keys(historySettingNames) as HistoryField[];

/** The choice for one database. */
export interface OwnHistory {
  readonly choice: HistoryChoice;
  /** Fields that an operator has set: the bounds for owners do not hold. */
  readonly unbounded: readonly HistoryField[];
}

const defaults: HistorySettings = {
  keepMicros: BigInt(limits.historyKeepMillis) * 1_000n,
  keepBytes: limits.historyKeepBytes,
  keepCommits: undefined,
  onLowDisk: 'shrink',
};

/** What is kept of the registry's own history. */
export const registryHistory: HistorySettings = {
  ...defaults,
  keepMicros: BigInt(limits.registryKeepMillis) * 1_000n,
};

/** Where the operator has lowered a bound since, it holds. */
export function settingsInForce(
  configured: HistoryChoice,
  { choice, unbounded }: OwnHistory = noOwnHistory,
): HistorySettings {
  const isWithin = (field: HistoryField) =>
    unbounded.includes(field) || !isMore(field, choice[field], configured[field]);
  const of = <Field extends HistoryField>(field: Field): HistorySettings[Field] => {
    const own = isWithin(field) ? choice[field] : undefined;
    return (own ?? configured[field] ?? defaults[field]) as HistorySettings[Field];
  };
  return {
    keepMicros: of('keepMicros'),
    keepBytes: of('keepBytes'),
    keepCommits: of('keepCommits'),
    onLowDisk: of('onLowDisk'),
  };
}

export const noOwnHistory: OwnHistory = { choice: {}, unbounded: [] };

/** Why an owner cannot choose this, where the operator has configured that. */
export function choiceFault(choice: HistoryChoice, configured: HistoryChoice): string | undefined {
  const field = historyFields.find((one) => isMore(one, choice[one], configured[one]));
  if (field !== undefined) {
    const allowed = `the operator of this service allows ${shownValue(configured, field)} at most`;
    return `\`${historySettingNames[field]}\` is ${shownValue(choice, field)}; ${allowed}`;
  }
  if (choice.keepMicros !== 'everything' || configured.onLowDisk !== 'shrink') return undefined;
  const reason = 'the operator of this service has history shrink when the disk is nearly full';
  return `\`keep\` is everything; ${reason}`;
}

/** Whether a value keeps more than the one that is allowed. Absent: as the service says. */
function isMore(
  field: HistoryField,
  value: HistoryChoice[HistoryField],
  allowed: HistoryChoice[HistoryField],
): boolean {
  return (
    value !== undefined && allowed !== undefined && amount(field, value) > amount(field, allowed)
  );
}

function amount(field: HistoryField, value: NonNullable<HistoryChoice[HistoryField]>): number {
  const isAny = value === 'everything' || (field === 'keepBytes' && value === 0);
  if (isAny) return Number.POSITIVE_INFINITY;
  if (field === 'onLowDisk') return value === 'warn' ? 1 : 0;
  return Number(value);
}

/** A value for people. */
export function shownValue(choice: HistoryChoice, field: HistoryField): string {
  const value = writtenValue(choice, field);
  if (value === null) return 'any number';
  if (field !== 'keepBytes') return String(value);
  return value === 0 ? 'any amount' : bytesText(Number(value));
}

/** A value as it is written to set it; `null`: any number. */
export function writtenValue(choice: HistoryChoice, field: HistoryField): string | number | null {
  const value = choice[field] ?? null;
  return typeof value === 'bigint' ? keepText(value) : value;
}

/** In the largest unit in which it is a whole number: `7d`. */
function keepText(micros: bigint): string {
  const unit = units.find(([, size]) => micros % size === 0n);
  if (micros === 0n) return '0';
  return unit === undefined ? `${micros / 1_000n}ms` : `${micros / unit[1]}${unit[0]}`;
}

const units: readonly (readonly [string, bigint])[] = [
  ['d', 86_400_000_000n],
  ['h', 3_600_000_000n],
  ['min', 60_000_000n],
  ['s', 1_000_000n],
];

/** How the registry keeps it. */
export function encodeOwnHistory({ choice, unbounded }: OwnHistory): string {
  const { keepMicros, ...rest } = choice;
  const keep = keepMicros === undefined ? {} : { keepMicros: String(keepMicros) };
  return JSON.stringify({ ...keep, ...rest, unbounded });
}

export function decodeOwnHistory(text: string): OwnHistory {
  const { unbounded, keepMicros, ...rest } = JSON.parse(text) as Written;
  if (keepMicros === undefined) return { choice: rest, unbounded };
  const keep = keepMicros === 'everything' ? keepMicros : BigInt(keepMicros);
  return { choice: { keepMicros: keep, ...rest }, unbounded };
}

interface Written extends Omit<HistoryChoice, 'keepMicros'> {
  readonly keepMicros?: string;
  readonly unbounded: readonly HistoryField[];
}
