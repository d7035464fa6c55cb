import type { SqlRequest } from '../database/outcome.ts';
import type { PreviewedWork, PreviewKey } from '../database/preview-outcome.ts';
import type { DatabaseDescription } from '../host/database-handle.ts';
import { limits } from '../limits.ts';
import { Kept } from './kept.ts';
import type { OpenDatabase } from './open-database.ts';
import type { McpSession } from './session.ts';

/** Something that was run and taken back. */
export interface Previewed {
  readonly work: PreviewedWork;
  /** The definition that the work was made for. */
  readonly description: DatabaseDescription;
}

/** What it takes to make exactly that happen. */
export interface KeptPreview extends Previewed {
  readonly key: PreviewKey;
  /** What it came to, in words for whoever is asked to agree. */
  readonly words: string;
}

/**
 * Previews that agents may still apply, by ids that nobody can guess: each once, in the database
 * that it is of, for the caller that asked for it.
 */
export class Previews {
  readonly #kept = new Kept<KeptPreview>({
    countMax: limits.previewsMax,
    callerCountMax: limits.callerPreviewsMax,
    thingBytesMax: limits.previewBytesMax,
    bytesMax: limits.previewsBytesMax,
    millisMax: limits.previewMillisMax,
  });

  /** The id of the preview; `undefined` when it is too large to be kept. */
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

/** About the memory that one takes beside the definition, which others share. */
function bytesOf({ work }: KeptPreview): number {
  const own = 1_024;
  if (work.kind === 'query') return own + 2 * lengthOf(work.query);
  const { args } = work.call;
  return own + ('fault' in args ? 0 : args.length);
}

/** Characters of a statement, and of the values of its parameters. */
function lengthOf({ sql, parameters = new Map() }: SqlRequest): number {
  const values = [...parameters.values()];
  return values.reduce((sum, value) => sum + String(value).length, sql.length);
}
