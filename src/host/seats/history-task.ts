import type { HistorySettings, Hold } from '../../history/retention.ts';
import {
  boolean,
  list,
  nullable,
  number,
  object,
  optional,
  parseAs,
  type Shaped,
  string,
  word,
} from '../../values/json-shape.ts';

/** Work on the files of one database's history, while the database serves. */
export type HistoryTask =
  /** Deletes and compresses what the settings say. */
  | {
      readonly kind: 'keep';
      readonly settings: HistorySettings;
      readonly holds: readonly Hold[];
    }
  /** Deletes all that is older than the newest snapshot. */
  | {
      readonly kind: 'forget';
      readonly settings: HistorySettings;
      readonly holds: readonly Hold[];
    }
  | { readonly kind: 'status'; readonly holds: readonly Hold[] }
  /** Reads every object, and the log up to the durable `offset`. */
  | { readonly kind: 'verify'; readonly offset: number; readonly isDeep: boolean }
  /** Reads what became of the row with this key, as people write it, once `offset` is durable. */
  | {
      readonly kind: 'row';
      readonly table: string;
      readonly key: string;
      readonly offset: number;
      readonly changesMax: number;
    };

export type HistoryAnswer =
  | { readonly kind: 'done'; readonly facts: HistoryFacts }
  | { readonly kind: 'verified'; readonly findings: readonly HistoryFinding[] }
  | { readonly kind: 'row'; readonly row: ShownRowHistory }
  /** What was asked for cannot be. */
  | { readonly kind: 'refused'; readonly message: string }
  /** The database ended, or nobody wants it any more. */
  | { readonly kind: 'stopped' }
  | { readonly kind: 'failed'; readonly message: string };

const lineShape = object({ level: word('warn', 'error'), message: string });

/** A line for the operator: full sentences. */
export type HistoryLine = Shaped<typeof lineShape>;

const heldShape = object({ by: string, fromOffset: number, bytes: number });

const factsShape = object({
  /** 16 hex digits. */
  epoch: string,
  /** Where this history left the one it comes from; 0: it comes from none. */
  originOffset: number,
  /** The smallest offset whose state can be read, and its commit time. */
  floorOffset: number,
  floorMicros: number,
  endOffset: number,
  bytes: object({
    active: number,
    hot: number,
    cold: number,
    snapshots: number,
    indexes: number,
    other: number,
  }),
  /** Bytes of the log that were deleted, or saved by packing: they do not count for its quota. */
  goneBytes: number,
  segments: number,
  snapshots: number,
  /** Files that this pass deleted and compressed. */
  deleted: number,
  packed: number,
  /** Why it deleted something. */
  reason: optional(word('age', 'bytes', 'commits', 'low disk', 'forget')),
  /** Why it did not. */
  refused: optional(string),
  held: list(heldShape),
  lines: list(lineShape),
});

/** What is there of a history. Plain data. */
export type HistoryFacts = Shaped<typeof factsShape>;

/** Kinds of files. */
export type HistoryBytes = HistoryFacts['bytes'];

const findingShape = object({
  name: string,
  state: word('intact', 'damaged', 'set aside', 'unreadable'),
  detail: string,
});

/** What `verify` says about one file. */
export type HistoryFinding = Shaped<typeof findingShape>;

const rowShape = object({
  changes: list(
    object({
      offset: number,
      micros: number,
      /** Empty: a statement, or the service. */
      reducer: string,
      /** Hexadecimal digits; the connection is empty if there is none. */
      caller: string,
      connection: string,
      op: word('insert', 'update', 'delete'),
      /** JSON in the plain form. */
      before: nullable(string),
      after: nullable(string),
    }),
  ),
  hasMore: boolean,
  firstOffset: number,
});

/** What became of a row, the newest change first. */
export type ShownRowHistory = Shaped<typeof rowShape>;

const answerShape = object({
  kind: word('done', 'verified', 'row', 'refused', 'stopped', 'failed'),
  facts: nullable(factsShape),
  findings: nullable(list(findingShape)),
  row: nullable(rowShape),
  message: nullable(string),
});

/** As text, which threads and processes pass on. */
export function encodeHistoryTask(task: HistoryTask): string {
  return JSON.stringify(task, (_, value) => (typeof value === 'bigint' ? String(value) : value));
}

/** Of a text that `encodeHistoryTask` made. */
export function decodeHistoryTask(text: string): HistoryTask {
  return JSON.parse(text, (key, value) => {
    return key === 'keepMicros' && value !== 'everything' ? BigInt(value) : value;
  });
}

export function encodeHistoryAnswer(answer: HistoryAnswer): string {
  return JSON.stringify({ facts: null, findings: null, row: null, message: null, ...answer });
}

/** Throws when the text is none: a module may have taken over the process that sent it. */
export function decodeHistoryAnswer(text: string): HistoryAnswer {
  const { kind, facts, findings, row, message } = parseAs(text, answerShape);
  if (kind === 'done' && facts !== null) return { kind, facts };
  if (kind === 'verified' && findings !== null) return { kind, findings };
  if (kind === 'row' && row !== null) return { kind, row };
  if ((kind === 'failed' || kind === 'refused') && message !== null) return { kind, message };
  if (kind === 'stopped') return { kind };
  throw new Error(`an answer \`${kind}\` without its content`);
}
