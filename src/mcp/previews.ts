import type { SqlRequest } from '../database/outcome.ts';
import type { PreviewedWork, PreviewKey } from '../database/preview-outcome.ts';
import type { DatabaseDescription } from '../host/supervision/database-handle.ts';
import { limits } from '../limits.ts';
import { Kept } from './kept.ts';
import type { OpenDatabase } from './open-database.ts';
import type { McpSession } from './session.ts';

/** A call or statement that was run and rolled back. */
export interface Previewed {
  readonly work: PreviewedWork;
  /** The definition that the work was prepared for. */
  readonly description: DatabaseDescription;
}

/** The data needed to apply exactly this preview. */
export interface KeptPreview extends Previewed {
  readonly key: PreviewKey;
  /** Its effects, in words and without rows, for the user who must confirm it. */
  readonly words: string;
  /** The rows that it changes, for that user. */
  readonly rows: string;
}

/**
 * Previews that agents can still apply, under unguessable ids: each at most once, in its database,
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
  keep(session: McpSession, open: OpenDatabase, preview: KeptPreview): string | undefined {
    return this.#kept.put(ownerOf(session, open), preview, bytesOf(preview));
  }

  find(session: McpSession, open: OpenDatabase, id: string): KeptPreview | undefined {
    return this.#kept.get(ownerOf(session, open), id);
  }

  drop(id: string): void {
    this.#kept.drop(id);
  }
}

function ownerOf({ callerKey }: McpSession, { database }: OpenDatabase): string {
  return `${callerKey} ${database.identity}`;
}

/** Estimates the memory of a preview, without the shared definition. */
function bytesOf({ work, rows }: KeptPreview): number {
  const own = 1_024 + 2 * rows.length;
  if (work.kind === 'query') return own + 2 * lengthOf(work.query);
  const { args } = work.call;
  return own + ('fault' in args ? 0 : args.length);
}

/** Returns the characters of a statement and its parameter values. */
function lengthOf({ sql, parameters = new Map() }: SqlRequest): number {
  const values = [...parameters.values()];
  return values.reduce((sum, value) => sum + String(value).length, sql.length);
}
