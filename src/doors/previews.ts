import type { Caller, SqlRequest } from '../database/outcome.ts';
import type { PreviewedWork, PreviewKey } from '../database/preview-outcome.ts';
import type { Rights } from '../database/rights.ts';
import type { HostedDatabase } from '../host/hosted-database.ts';
import type { DatabaseDescription, DatabaseHandle } from '../host/supervision/database-handle.ts';
import { limits } from '../limits.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { findFunction } from './json-call.ts';
import { Kept, sharesIn } from './kept.ts';
import { usableDefinition } from './shown-definition.ts';

/** A call or statement that was run and rolled back. */
export interface Previewed {
  readonly work: PreviewedWork;
  /** The definition that the work was prepared for. */
  readonly description: DatabaseDescription;
}

/** The data needed to apply exactly this preview. */
export interface KeptPreview extends Previewed {
  readonly key: PreviewKey;
  /** What a user is asked who must confirm it: its effects in words, and the rows that change. */
  readonly question?: { readonly words: string; readonly rows: string };
}

/** Whose preview it is, and of which database. */
export interface PreviewOwner {
  /** Equal for all requests of one caller. */
  readonly callerKey: string;
  readonly database: Pick<HostedDatabase, 'identity' | 'owner'>;
  readonly rights: Rights;
}

/**
 * Previews that callers can still apply, under unguessable ids: each at most once, in its database,
 * by the caller that requested it.
 */
export class Previews {
  readonly #kept = new Kept<KeptPreview>({
    countMax: limits.previewsMax,
    callerCountMax: limits.callerPreviewsMax,
    thingBytesMax: limits.previewBytesMax,
    bytesMax: limits.previewsBytesMax,
    millisMax: limits.previewMillisMax,
  });

  /** Returns the id of the preview; `undefined` if it is too large to keep. */
  keep(owner: PreviewOwner, preview: KeptPreview): string | undefined {
    const { callerKey, database, rights } = owner;
    const holder = { caller: keyOf(owner), shares: sharesIn(database, rights, callerKey) };
    return this.#kept.put(holder, preview, bytesOf(preview));
  }

  find(owner: PreviewOwner, id: string): KeptPreview | undefined {
    return this.#kept.get(keyOf(owner), id);
  }

  drop(id: string): void {
    this.#kept.drop(id);
  }
}

export const unknownPreviewText =
  'unknown preview: it was applied, is too old, or is of another database or caller';

/** The work of a preview that is applied, with the rights that its caller has now. */
export function onBehalfOf(caller: Caller, work: PreviewedWork): PreviewedWork {
  return work.kind === 'call'
    ? { kind: 'call', call: { ...work.call, caller } }
    : { ...work, query: { ...work.query, caller } };
}

/** Why a function cannot be previewed: a procedure commits on its own, so nothing is taken back. */
export async function procedureFault(
  handle: DatabaseHandle,
  rights: Rights,
  name: string,
): Promise<string | undefined> {
  const { definition } = await handle.describe();
  const usable = usableDefinition(flatDefinition(definition), rights);
  if (findFunction(usable, name)?.kind !== 'procedure') return undefined;
  return `'${name}' is a procedure: it cannot be previewed`;
}

function keyOf({ callerKey, database }: PreviewOwner): string {
  return `${callerKey} ${database.identity}`;
}

/** Estimates the memory of a preview, without the shared definition. */
function bytesOf({ work, question }: KeptPreview): number {
  const own = 1_024 + 2 * (question?.rows.length ?? 0);
  if (work.kind === 'query') return own + 2 * lengthOf(work.query);
  const { args } = work.call;
  return own + ('fault' in args ? 0 : args.length);
}

/** Returns the characters of a statement and its parameter values. */
function lengthOf({ sql, parameters = new Map() }: SqlRequest): number {
  const values = [...parameters.values()];
  return values.reduce((sum, value) => sum + String(value).length, sql.length);
}
