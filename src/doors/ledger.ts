import { doneResult, type LedgerAction, type LedgerEntry } from '../host/ledger/ledger-entry.ts';
import {
  cursorText,
  type LedgerAsk,
  type LedgerPage,
  readCursor,
} from '../host/ledger/ledger-page.ts';
import { outcomeOf } from '../host/supervision/answer-counts.ts';
import { limits } from '../limits.ts';
import { identityFromHex, identityToHex } from '../values/identity.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { parseDuration } from './duration.ts';

/** Entries of a page, unless the caller says how many. */
export const ledgerEntriesUnasked = 100;

/** What somebody asks of a ledger, as they wrote it. */
export interface WrittenLedgerAsk {
  readonly token: string | undefined;
  readonly identity: string | undefined;
  readonly since: string | undefined;
  readonly limit: number | undefined;
  readonly cursor: string | undefined;
}

/** Reads it; `fault`: what is wrong. */
export function readLedgerAsk(
  { token, identity, since, limit = ledgerEntriesUnasked, cursor }: WrittenLedgerAsk,
  nowMicros: bigint,
): { readonly ask: LedgerAsk } | { readonly fault: string } {
  const who = identity === undefined ? undefined : identityFromHex(identity.replace(/^0x/i, ''));
  if (identity !== undefined && who === undefined) {
    return { fault: '`identity` must be an identity: 64 hexadecimal digits' };
  }
  const sinceMicros = since === undefined ? undefined : momentOf(since, nowMicros);
  if (since !== undefined && sinceMicros === undefined) {
    return {
      fault: '`since` must be a duration such as `1h`, or a time such as `2026-01-31T12:00:00Z`',
    };
  }
  const place = cursor === undefined ? undefined : readCursor(cursor);
  if (cursor !== undefined && place === undefined) {
    return { fault: '`cursor` must be that of an earlier answer' };
  }
  if (limit < 1) return { fault: '`limit` must be a whole number above zero' };
  return {
    ask: {
      ...(token !== undefined && { token }),
      ...(who !== undefined && { identity: callerIdentity(who) }),
      ...(sinceMicros !== undefined && { sinceMicros }),
      ...(place !== undefined && { cursor: place }),
      limit: Math.min(limit, limits.ledgerPageEntriesMax),
    },
  };
}

/** A page as JSON. */
export function ledgerPageJson({ entries, cursor }: LedgerPage): {
  readonly entries: readonly Readonly<Record<string, unknown>>[];
  readonly cursor?: string;
} {
  const shown = entries.map(entryJson);
  return { entries: shown, ...(cursor !== undefined && { cursor: cursorText(cursor) }) };
}

function entryJson(entry: LedgerEntry): Readonly<Record<string, unknown>> {
  const { micros, caller, action, subject, result, rows, count, offset } = entry;
  const { durationMillis } = entry;
  return {
    time: timeOf(micros),
    ...(caller !== undefined && { identity: identityToHex(caller.identity) }),
    ...(caller?.token !== undefined && { token: caller.token }),
    ...(caller?.maker !== undefined && { for: identityToHex(caller.maker) }),
    action,
    ...(subject !== '' && { what: subject }),
    result,
    ...(ofRequests.includes(action) && { outcome: outcomeOfResult(result) }),
    ...(durationMillis !== undefined && { duration_ms: shortMillis(durationMillis) }),
    ...(rows !== undefined && { rows }),
    ...(count !== 1 && { count }),
    ...(offset !== undefined && { offset }),
  };
}

/** Actions that are requests: each has succeeded, or somebody has to change something. */
const ofRequests: readonly LedgerAction[] = ['call', 'procedure', 'handler', 'sql', 'import'];

function outcomeOfResult(result: string): string {
  return result === doneResult ? 'ok' : outcomeOf(result);
}

function shortMillis(millis: number): number {
  return Math.round(millis * 1_000) / 1_000;
}

function timeOf(micros: bigint): string {
  const date = new Date(Number(micros / 1_000n));
  return Number.isNaN(date.getTime()) ? String(micros) : date.toISOString();
}

/** Microseconds since the Unix epoch. */
function momentOf(text: string, nowMicros: bigint): bigint | undefined {
  const millis = parseDuration(text);
  if (millis !== undefined) return nowMicros - BigInt(millis) * 1_000n;
  const moment = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(moment) ? undefined : BigInt(moment) * 1_000n;
}
