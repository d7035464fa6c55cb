import { limits } from '../../limits.ts';
import { EngineError } from '../../shared-log/shared-log.ts';
import type { StoreRequests } from './store-requests.ts';

/**
 * The object `first` of a log that was truncated: from which entry on it is kept. A position that
 * is deleted would be free again, for an append that was on its way; so entries are marked here,
 * and deleted later than any request can arrive.
 */
export interface FirstMark {
  readonly first: number;
  /** What lies before is deleted. */
  readonly deleted: number;
  /** What is marked, in order: entries before `before`, at a time by the store's clock. */
  readonly marks: readonly { readonly before: number; readonly atMillis: number }[];
}

export interface FoundMark {
  readonly mark: FirstMark;
  /** `undefined`: the log was never truncated, and there is no such object. */
  readonly etag: string | undefined;
}

const unmarked: FirstMark = { first: 0, deleted: 0, marks: [] };

export async function readMark(
  requests: StoreRequests,
  folder: string,
  urgency: 'write' | 'read' = 'read',
): Promise<FoundMark> {
  const key = `${folder}first`;
  const found = await requests.get(key, { urgency, bytesMax: limits.s3MarkBytesMax });
  if (found === undefined) return { mark: unmarked, etag: undefined };
  const mark = markIn(Buffer.from(found.bytes).toString('utf8'));
  if (mark === undefined) throw new EngineError(`${requests.place}: ${key} cannot be read`);
  return { mark, etag: found.etag };
}

/**
 * Replaces the mark by what `change` makes of it, and by what it makes of another one if a host
 * was quicker. `undefined`: it stays as it is.
 */
export async function changeMark(
  requests: StoreRequests,
  folder: string,
  change: (mark: FirstMark) => FirstMark | undefined,
): Promise<FirstMark> {
  for (let count = 1; count <= limits.s3MarkTriesMax; count++) {
    const { mark, etag } = await readMark(requests, folder);
    const changed = change(mark);
    if (changed === undefined) return mark;
    const bytes = Buffer.from(JSON.stringify(changed));
    const condition = etag === undefined ? 'absent' : { etag };
    const result = await requests.put(`${folder}first`, bytes, condition, 'read');
    if (result.kind === 'put') return changed;
    if (result.kind === 'failed') throw new EngineError(result.reason);
  }
  throw new EngineError(`${requests.place}: other hosts change the same mark all the time`);
}

/** Marks entries before `before`; `undefined` if they are. */
export function marked(mark: FirstMark, before: number, atMillis: number): FirstMark | undefined {
  if (before <= mark.first) return undefined;
  const marks = [...mark.marks, { before, atMillis }];
  // One that is left out counts from the later time of the next.
  while (marks.length > limits.s3MarksMax) marks.splice(0, 1);
  return { ...mark, first: before, marks };
}

/** What can be deleted by now; `undefined`: nothing that is not. */
export function deletable(mark: FirstMark, atMillis: number): FirstMark | undefined {
  const due = mark.marks.filter((one) => one.atMillis + limits.s3DeleteAfterMillis <= atMillis);
  if (due.length === 0) return undefined;
  const deleted = Math.max(mark.deleted, ...due.map(({ before }) => before));
  return { ...mark, deleted, marks: mark.marks.filter((one) => !due.includes(one)) };
}

function markIn(text: string): FirstMark | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { first, deleted, marks } = (json ?? {}) as Partial<Record<keyof FirstMark, unknown>>;
  if (!isCount(first) || !isCount(deleted) || !Array.isArray(marks)) return undefined;
  const isMark = ({ before, atMillis }: Record<string, unknown>) =>
    isCount(before) && isCount(atMillis);
  if (!marks.every((one) => typeof one === 'object' && one !== null && isMark(one))) {
    return undefined;
  }
  return { first, deleted, marks };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
