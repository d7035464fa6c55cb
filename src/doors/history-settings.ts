import {
  type HistoryChoice,
  type HistoryField,
  historyFields,
  historySettingNames,
  lowDiskChoices,
} from '../host/registry/history-choice.ts';
import { parseDuration } from './duration.ts';
import { parseSize } from './size.ts';

/** A field of `HistoryChoice` as somebody wrote it; `fault`: what it has to be. */
export type WrittenSetting = { readonly choice: HistoryChoice } | { readonly fault: string };

/** The field behind a name such as `keep-bytes`; `undefined`: there is none. */
export function historyField(name: string): HistoryField | undefined {
  return historyFields.find((field) => historySettingNames[field] === name);
}

/** Reads a setting of history, from a text or a number. */
export function readHistorySetting(field: HistoryField, given: unknown): WrittenSetting {
  const text = typeof given === 'string' || typeof given === 'number' ? String(given).trim() : '';
  return readers[field](text) ?? { fault: wanted[field] };
}

const wanted: Readonly<Record<HistoryField, string>> = {
  keepMicros: 'must be a duration such as `7d`, `0`, or `everything`',
  keepBytes: 'must be a size such as `2GiB`, or 0 for any amount',
  keepCommits: 'must be a whole number above zero',
  onLowDisk: `must be ${lowDiskChoices.map((one) => `\`${one}\``).join(' or ')}`,
};

const readers: Readonly<
  Record<HistoryField, (text: string) => { readonly choice: HistoryChoice } | undefined>
> = {
  keepMicros: (text) => {
    if (text === 'everything') return { choice: { keepMicros: text } };
    const millis = text === '0' ? 0 : parseDuration(text);
    return millis === undefined ? undefined : { choice: { keepMicros: BigInt(millis) * 1_000n } };
  },
  keepBytes: (text) => {
    const keepBytes = parseSize(text);
    return keepBytes === undefined ? undefined : { choice: { keepBytes } };
  },
  keepCommits: (text) => {
    const keepCommits = Number(text);
    const isCount = /^\d+$/.test(text) && Number.isSafeInteger(keepCommits) && keepCommits > 0;
    return isCount ? { choice: { keepCommits } } : undefined;
  },
  onLowDisk: (text) => {
    const onLowDisk = lowDiskChoices.find((one) => one === text);
    return onLowDisk === undefined ? undefined : { choice: { onLowDisk } };
  },
};
