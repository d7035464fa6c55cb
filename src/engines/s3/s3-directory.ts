import { assert } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { Directory, HostRow, PlaceHint, SeenHost } from '../../shared-log/directory.ts';
import type { BootId, HostId } from '../../shared-log/host-ids.ts';
import { EngineError } from '../../shared-log/shared-log.ts';
import { bigintToHex } from '../../values/hex.ts';
import { hintIn, hintText, hostHex, hostIn, hostText } from '../host-texts.ts';
import type { OpenedStore } from './opened-store.ts';
import type { FoundObject } from './store-requests.ts';

interface Sighting {
  readonly etag: string;
  /** When this version of the row was seen first, by a clock that never goes back. */
  readonly since: number;
}

/**
 * The directory of hosts in an S3-compatible store: a row, a hint and a secret are an object each.
 * A store counts in whole seconds, so an age is what is certain of it: what its clock shows less
 * one second, or since when this host has seen the same row, whichever is more.
 */
export class S3Directory implements Directory {
  readonly #store: OpenedStore;
  #begun: BootId | undefined;
  /** Of this host's row, as it was put last. */
  #etag = '';
  #beats = 0;
  #keys: readonly string[] = [];
  #listedAt = Number.NEGATIVE_INFINITY;
  readonly #seen = new Map<string, Sighting>();

  constructor(store: OpenedStore) {
    this.#store = store;
  }

  async beat(me: HostRow): Promise<readonly SeenHost[]> {
    await this.#store.ready();
    const isMine = await this.#put(me);
    const own = hostKey(me.host);
    const keys = await this.#hostKeys();
    const others = keys.filter((key) => !isMine || key !== own);
    const found = await Promise.all(others.map((key) => this.#row(key)));
    const rows = found.filter((row) => row !== undefined);
    return isMine ? [...rows, { ...me, ageMillis: 0 }] : rows;
  }

  async hint(hints: readonly PlaceHint[]): Promise<void> {
    assert(hints.length <= limits.placeHintsMax, 'too many hints at once');
    await this.#store.ready();
    const put = async (hint: PlaceHint): Promise<void> => {
      const key = `hint/${bigintToHex(hint.database, 64)}`;
      const bytes = Buffer.from(hintText(hint));
      const result = await this.#store.rows.put(key, bytes, undefined, 'look');
      if (result.kind === 'failed') throw new EngineError(result.reason);
    };
    await inSlices(hints, put);
  }

  async hints(): Promise<readonly PlaceHint[]> {
    await this.#store.ready();
    const keys = (await this.#store.rows.list('hint/')).slice(0, limits.placeHintsMax);
    const found = await inSlices(keys, async ({ key }) => {
      const object = await this.#get(key, 'look');
      return object === undefined ? undefined : hintIn(key.slice('hint/'.length), textOf(object));
    });
    return found.filter((hint) => hint !== undefined);
  }

  async secretBox(name: string, put?: Uint8Array): Promise<Uint8Array | undefined> {
    assert(name.length <= limits.secretBoxNameBytesMax, 'the name of a secret is too long');
    assert((put?.length ?? 0) <= limits.secretBoxBytesMax, 'a secret is too large');
    await this.#store.ready();
    const key = `box/${Buffer.from(name).toString('hex')}`;
    const { entries } = this.#store;
    if (put !== undefined) {
      const result = await entries.put(key, put, 'absent');
      if (result.kind === 'failed') throw new EngineError(result.reason);
    }
    const bytesMax = limits.secretBoxBytesMax;
    const found = await entries.get(key, { urgency: 'write', bytesMax });
    return found === undefined ? undefined : new Uint8Array(found.bytes);
  }

  async forget(host: HostId): Promise<void> {
    await this.#store.ready();
    await this.#store.rows.delete(hostKey(host));
  }

  /** Milliseconds since 1970 by the clock of the store. */
  time(): Promise<number> {
    return this.#store.time();
  }

  /** Writes this host's row; false if it is another process's by now. */
  async #put(me: HostRow): Promise<boolean> {
    const { rows } = this.#store;
    const key = hostKey(me.host);
    // Each version differs, or a condition on the one before would hold for others, too.
    const text = JSON.stringify({ ...JSON.parse(hostText(me)), beat: ++this.#beats });
    const bytes = Buffer.from(text);
    const isFirst = this.#begun !== me.boot;
    const result = await rows.put(key, bytes, isFirst ? undefined : { etag: this.#etag });
    if (result.kind === 'failed') throw new EngineError(result.reason);
    if (result.kind === 'put') return this.#isPut(me, result.etag);
    // The answer to the last beat was lost, the host was forgotten, or another process has its row.
    const found = await this.#get(key, 'write');
    if (found !== undefined && hostIn(textOf(found))?.boot !== me.boot) return false;
    const condition = found === undefined ? 'absent' : { etag: found.etag };
    const again = await rows.put(key, bytes, condition);
    if (again.kind === 'failed') throw new EngineError(again.reason);
    return again.kind === 'put' && this.#isPut(me, again.etag);
  }

  #isPut({ boot }: HostRow, etag: string): true {
    this.#begun = boot;
    this.#etag = etag;
    return true;
  }

  /** The names of all rows: those of new hosts are looked for now and then. */
  async #hostKeys(): Promise<readonly string[]> {
    const now = performance.now();
    if (now - this.#listedAt < limits.s3HostListMillis) return this.#keys;
    const listed = await this.#store.rows.list('host/');
    this.#keys = listed.map(({ key }) => key).slice(0, limits.clusterHostsMax);
    this.#listedAt = now;
    for (const key of this.#seen.keys()) if (!this.#keys.includes(key)) this.#seen.delete(key);
    return this.#keys;
  }

  async #row(key: string): Promise<SeenHost | undefined> {
    const found = await this.#get(key, 'write');
    const host = found === undefined ? undefined : hostIn(textOf(found));
    if (found === undefined || host === undefined || hostKey(host.host) !== key) return undefined;
    const now = performance.now();
    const known = this.#seen.get(key);
    const since = known?.etag === found.etag ? known.since : now;
    this.#seen.set(key, { etag: found.etag, since });
    const shown = found.date - found.modified - 1_000;
    const { beat: _, ...row } = host as HostRow & { readonly beat?: unknown };
    return { ...row, ageMillis: Math.max(0, now - since, Number.isNaN(shown) ? 0 : shown) };
  }

  #get(key: string, urgency: 'write' | 'look'): Promise<FoundObject | undefined> {
    return this.#store.rows.get(key, { urgency, bytesMax: limits.s3RowBytesMax });
  }
}

function hostKey(host: HostId): string {
  return `host/${hostHex(host)}`;
}

function textOf({ bytes }: FoundObject): string {
  return Buffer.from(bytes).toString('utf8');
}

/** Not more at once than wait for their turn without harm. */
async function inSlices<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += limits.s3ReadsAtOnceMax) {
    const slice = items.slice(at, at + limits.s3ReadsAtOnceMax);
    results.push(...(await Promise.all(slice.map(work))));
  }
  return results;
}
