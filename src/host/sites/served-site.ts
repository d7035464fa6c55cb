import { limits } from '../../limits.ts';
import { list, nullable, number, object, parseAs, string, word } from '../../values/json-shape.ts';
import { type HeaderRules, parseHeaderRules } from './header-rules.ts';
import { bytesOf, type SiteFile, type SiteSet } from './site-set.ts';

/** The publish that a set came with. */
export interface Deploy {
  /** Counts the resets of the database. */
  readonly generation: number;
  /** Hash of the program, in hex. */
  readonly program: string;
  /** Offset of the commit that began to serve the program. */
  readonly commit: number;
}

/** A file that the set before had, and that pages which are open may still ask for. */
export interface EarlierFile extends SiteFile {
  /** Milliseconds since the Unix epoch. */
  readonly untilMillis: number;
}

/** The static files that a database serves. It never changes: a publish makes another one. */
export class ServedSite {
  /** `undefined`: there are no files. */
  readonly setId: string | undefined;
  readonly files: readonly SiteFile[];
  readonly rules: HeaderRules;
  readonly bytes: number;
  readonly earlier: readonly EarlierFile[];
  readonly #byPath: ReadonlyMap<string, SiteFile>;
  readonly #earlierByPath: ReadonlyMap<string, EarlierFile>;

  constructor(setId: string | undefined, set: SiteSet, earlier: readonly EarlierFile[]) {
    this.setId = setId;
    this.files = set.files;
    this.rules = parseHeaderRules(set.headers);
    this.bytes = bytesOf(set);
    this.earlier = earlier;
    this.#byPath = new Map(set.files.map((file) => [file.path, file]));
    this.#earlierByPath = new Map(earlier.map((file) => [file.path, file]));
  }

  /** The file of exactly this path. */
  file(path: string): SiteFile | undefined {
    return this.#byPath.get(path);
  }

  earlierFile(path: string, nowMillis: number): SiteFile | undefined {
    const found = this.#earlierByPath.get(path);
    return found !== undefined && found.untilMillis > nowMillis ? found : undefined;
  }

  /** The site after a publish: files that it no longer has stay for a while, up to `bytesMax`. */
  followedBy(
    setId: string | undefined,
    set: SiteSet,
    { nowMillis, bytesMax }: { readonly nowMillis: number; readonly bytesMax: number },
  ): ServedSite {
    const paths = new Set(set.files.map(({ path }) => path));
    const untilMillis = nowMillis + limits.siteEarlierMillis;
    const known = new Set<string>();
    const kept: EarlierFile[] = [];
    let bytes = 0;
    const before = this.files.map((file) => ({ ...file, untilMillis }));
    for (const file of [...before, ...this.earlier]) {
      if (paths.has(file.path) || known.has(file.path) || file.untilMillis <= nowMillis) continue;
      bytes += file.bytes;
      if (kept.length >= limits.siteFilesMax || bytes > bytesMax) break;
      known.add(file.path);
      kept.push(file);
    }
    return new ServedSite(setId, set, kept);
  }
}

export const emptySet: SiteSet = { files: [], headers: '' };

const fileShape = { path: string, hash: string, bytes: number };

const servedShape = object({
  format: word('static-1'),
  set: nullable(string),
  bytes: number,
  generation: number,
  program: string,
  commit: number,
  earlier: list(object({ ...fileShape, until: number })),
});

/** What `served.json` says: `docs/format/data-folder.md` is normative. */
export interface ServedRecord {
  readonly setId: string | undefined;
  readonly bytes: number;
  readonly earlier: readonly EarlierFile[];
}

export function encodeServed(site: ServedSite, deploy: Deploy): string {
  const earlier = site.earlier.map(({ untilMillis, ...file }) => ({ ...file, until: untilMillis }));
  const set = site.setId ?? null;
  return JSON.stringify({ format: 'static-1', set, bytes: site.bytes, ...deploy, earlier });
}

/** Throws `JsonError` for other texts. */
export function decodeServed(text: string): ServedRecord {
  const { set, bytes, earlier } = parseAs(text, servedShape);
  return {
    setId: set ?? undefined,
    bytes,
    earlier: earlier.map(({ until, ...file }) => ({ ...file, untilMillis: until })),
  };
}

/**
 * What decides whether a staged set is served: the program of the database, which the log knows, or
 * its generation, which the registry does. Else nothing but `served.json`.
 */
export type Decider = 'program' | 'generation' | 'nothing';

const nextShape = object({
  format: word('static-1'),
  set: nullable(string),
  generation: number,
  program: string,
  decider: word('program', 'generation'),
});

/** What `next.json` says: a set that takes its place with a publish that is under way. */
export interface NextRecord extends Omit<Deploy, 'commit'> {
  readonly setId: string | undefined;
  readonly decider: Exclude<Decider, 'nothing'>;
}

export function encodeNext({ setId, ...next }: NextRecord): string {
  return JSON.stringify({ format: 'static-1', set: setId ?? null, ...next });
}

/** Throws `JsonError` for other texts. */
export function decodeNext(text: string): NextRecord {
  const { set, generation, program, decider } = parseAs(text, nextShape);
  return { setId: set ?? undefined, generation, program, decider };
}
