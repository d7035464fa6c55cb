import type { Directory } from '../shared-log/directory.ts';
import { JsonError } from '../values/json-error.ts';
import { ClusterError } from './cluster-error.ts';
import type { ClusterSecret } from './cluster-secret.ts';
import { decodeRevision, encodeRevision, type KeyRevision } from './key-revision.ts';

/** What was found of a revision that is not the first. */
export type FoundRevision =
  | { readonly kind: 'none' }
  | { readonly kind: 'found'; readonly revision: KeyRevision }
  /** It was sealed with a secret that this host does not have. */
  | { readonly kind: 'shut'; readonly number: number };

/**
 * The revisions of the keys of a cluster, from 1 on: each in a box of its own, which is put once.
 * Of hosts that put the same one at once, one has put it. Methods reject with `EngineError`.
 */
export class KeyChain {
  readonly #directory: Pick<Directory, 'secretBox'>;
  readonly #secret: ClusterSecret;

  constructor(directory: Pick<Directory, 'secretBox'>, secret: ClusterSecret) {
    this.#directory = directory;
    this.#secret = secret;
  }

  /** The newest revision above `known`. Rejects with `ClusterError` for one that cannot be read. */
  async newest(known: number): Promise<FoundRevision> {
    const number = await this.#last(known);
    if (number === known) return { kind: 'none' };
    const name = boxOf(number);
    const box = await this.#directory.secretBox(name);
    const opened = box && this.#secret.opened(name, box);
    if (opened === undefined) return { kind: 'shut', number };
    try {
      const revision = decodeRevision(opened.plain);
      this.#secret.count(opened.by, revision.secret !== null);
      return { kind: 'found', revision };
    } catch (cause) {
      if (!(cause instanceof JsonError)) throw cause;
      const text = `The keys of the cluster (revision ${number}) are of a later version`;
      throw new ClusterError(`${text}, or damaged: ${cause.message}.`, { cause });
    }
  }

  /** True if a secret opens the newest revision from `known` on, which is not the first one. */
  async opens(secret: ClusterSecret, known: KeyRevision): Promise<boolean> {
    const name = boxOf(await this.#last(known.revision));
    const box = await this.#directory.secretBox(name);
    return box !== undefined && secret.open(name, box) !== undefined;
  }

  /** False: another host has put one with this number. */
  async put(revision: KeyRevision): Promise<boolean> {
    const name = boxOf(revision.revision);
    const sealed = this.#secret.seal(name, encodeRevision(revision), revision.secret ?? undefined);
    const stored = await this.#directory.secretBox(name, sealed);
    return stored !== undefined && Buffer.from(stored).equals(sealed);
  }

  /** The last number: they are dense, so it is looked for in steps that grow, then halve. */
  async #last(known: number): Promise<number> {
    const isThere = async (number: number) =>
      (await this.#directory.secretBox(boxOf(number))) !== undefined;
    let last = known;
    let step = 1;
    while (await isThere(last + step)) {
      last += step;
      step *= 2;
    }
    for (; step > 1; step /= 2) if (await isThere(last + step / 2)) last += step / 2;
    return last;
  }
}

const prefix = 'keys.';

/** The box of a revision. */
export function boxOf(number: number): string {
  return `${prefix}${number}`;
}

/** The newest revision among boxes by their names; 0: there is none. */
export function newestIn(names: Iterable<string>): number {
  const numbers = [...names].flatMap((name) =>
    name.startsWith(prefix) ? [Number(name.slice(prefix.length))] : [],
  );
  return Math.max(0, ...numbers);
}
