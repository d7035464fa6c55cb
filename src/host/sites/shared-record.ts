import { randomUUID } from 'node:crypto';
import { number, object, parseAs, string, word } from '../../values/json-shape.ts';

/** What hosts of a cluster share of `served.json` and `next.json`; `undefined`: not there. */
export interface SharedState {
  readonly served: string | undefined;
  readonly next: string | undefined;
}

export interface SharedRecord extends SharedState {
  /** Counts the hosts that have begun to lead the database, and were asked for its files. */
  readonly epoch: number;
}

/**
 * Three lines: a head, `served.json`, `next.json`; an empty one for what is not there. No two are
 * the same: its host knows the one that it has put.
 */
export function encodeRecord({ epoch, served, next }: SharedRecord): Uint8Array {
  const head = JSON.stringify({ format: 'static-1', epoch, nonce: randomUUID() });
  return Buffer.from([head, served ?? '', next ?? ''].join('\n'));
}

/** `undefined`: it is no record. */
export function decodeRecord(bytes: Uint8Array): SharedRecord | undefined {
  const [head = '', served, next, ...rest] = Buffer.from(bytes).toString('utf8').split('\n');
  if (served === undefined || next === undefined || rest.length > 0) return undefined;
  try {
    const { epoch } = parseAs(head, headShape);
    return { epoch, served: served || undefined, next: next || undefined };
  } catch {
    return undefined;
  }
}

const headShape = object({ format: word('static-1'), epoch: number, nonce: string });
