import { limits } from '../limits.ts';

/**
 * The past of an engine, as a text `<kind>:<identifier>:<timeline>`, such as
 * `postgres:7301204456621838372:3`. The identifier is drawn when the engine is set up. The timeline
 * grows by each of its own fail-overs. A host remembers the newest that it has seen, and refuses an
 * engine of another identifier, and an older timeline: such an engine may have lost entries.
 */
export interface EngineHistory {
  readonly kind: string;
  readonly identifier: string;
  readonly timeline: number;
}

export function historyText({ kind, identifier, timeline }: EngineHistory): string {
  return `${kind}:${identifier}:${timeline}`;
}

export function parseHistory(text: string): EngineHistory | undefined {
  if (text.length > limits.engineHistoryBytesMax) return undefined;
  const [, kind = '', identifier = '', digits = ''] = form.exec(text) ?? [];
  return kind === '' ? undefined : { kind, identifier, timeline: Number(digits) };
}

export type HistoryJudgement =
  | { readonly kind: 'same' }
  | { readonly kind: 'newer' }
  | { readonly kind: 'refused'; readonly reason: string };

/** Whether an engine of the history `found` may be used by a host that remembers `known`. */
export function judgeHistory(known: string, found: string): HistoryJudgement {
  const before = parseHistory(known);
  const now = parseHistory(found);
  if (before === undefined || now === undefined) {
    return { kind: 'refused', reason: `The engine names its past in an unknown form: ${found}` };
  }
  if (before.kind !== now.kind || before.identifier !== now.identifier) {
    const reason =
      `This is another engine (${found}) than the one this host has used (${known}). ` +
      'Check the address of the engine.';
    return { kind: 'refused', reason };
  }
  if (now.timeline < before.timeline) {
    const reason =
      `The engine is on timeline ${now.timeline}; this host has already seen timeline ` +
      `${before.timeline}. It is an old primary or a restored backup: connect to the current one.`;
    return { kind: 'refused', reason };
  }
  return now.timeline === before.timeline ? { kind: 'same' } : { kind: 'newer' };
}

const form = /^([a-z][a-z0-9-]{0,31}):([A-Za-z0-9.-]{1,128}):(\d{1,15})$/;
