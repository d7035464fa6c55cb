import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import { isContentName } from './compress-file.ts';
import { DiskShelf } from './disk-shelf.ts';
import { type Draft, MemoryShelf, type Shelf } from './shelf.ts';
import { Site, type SiteQuota } from './site.ts';
import type { SiteSet } from './site-set.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-site-'));
  folders.push(folder);
  return path.join(folder, 'static');
}

const hashOf = (content: string) => createHash('sha256').update(content).digest('hex');

const anything: SiteQuota = { requireSet: () => undefined, requireMore: () => undefined };

/** What a test says of the database, and a site over a shelf; `reopened` is the next start. */
class Bench {
  readonly shelf: Shelf;
  readonly complaints: string[] = [];
  program = 'aa';
  generation = 1;
  isBroken = false;
  /** By what the site reports. */
  keptBytes = 0;
  /** Later than what the test writes, by the clock of the machine. */
  nowMillis = Date.now() + 60_000;
  earlierBytesMax: number = limits.siteBytesMax;
  /** Sets of earlier deploys. */
  earlierSets: readonly string[] = [];
  site: Site;

  constructor(shelf: Shelf) {
    this.shelf = shelf;
    this.site = this.reopened();
  }

  reopened(): Site {
    this.site = new Site({
      shelf: this.shelf,
      nowMillis: () => this.nowMillis,
      generation: () => this.generation,
      running: async () => {
        if (this.isBroken) throw new Error('broken');
        return { program: this.program, commit: 7 };
      },
      earlierBytesMax: () => this.earlierBytesMax,
      earlierSets: async () => this.earlierSets,
      counted: (bytes) => {
        this.keptBytes += bytes;
      },
      complain: (problem) => this.complaints.push(problem),
    });
    return this.site;
  }

  /** Announces and uploads a set; gives its id and what had to be uploaded. */
  async upload(contents: Readonly<Record<string, string>>, headers = '') {
    const set = setOf(contents, headers);
    const { id, missing } = await this.site.announce(set, anything);
    const byHash = new Map(Object.values(contents).map((content) => [hashOf(content), content]));
    for (const hash of missing) {
      await this.site.receive(hash, pieces(byHash.get(hash) ?? ''), anything);
    }
    return { id, missing };
  }

  async publish(contents: Readonly<Record<string, string>>): Promise<string> {
    const { id } = await this.upload(contents);
    const deploy = { generation: 1, program: this.program, decider: 'nothing' } as const;
    const staged = await this.site.stage({ kind: 'set', id }, deploy, anything);
    await staged?.done(7);
    return id;
  }

  async paths(): Promise<string[]> {
    return (await this.site.served()).files.map((file) => file.path);
  }
}

function setOf(contents: Readonly<Record<string, string>>, headers = ''): SiteSet {
  const files = Object.entries(contents).map(([at, content]) => {
    return { path: at, hash: hashOf(content), bytes: Buffer.byteLength(content) };
  });
  return { files, headers };
}

async function* pieces(content: string): AsyncGenerator<Uint8Array> {
  for (const part of content.match(/.{1,1000}/gs) ?? []) yield Buffer.from(part);
}

const shelves: [string, () => Shelf][] = [
  ['a folder', () => new DiskShelf(newFolder())],
  ['memory', () => new MemoryShelf(() => Date.now())],
];

it('[living 3.4] large files of one database keep no other from uploading', async () => {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let written = 0;
  /** Compresses nothing until it is released. */
  class HeldShelf extends MemoryShelf {
    override async draft(): Promise<Draft> {
      const draft = await super.draft();
      const write = async (piece: Uint8Array) => {
        await draft.write(piece);
        written += 1;
      };
      const held = async function* (): AsyncGenerator<Uint8Array> {
        await released;
        yield* draft.pieces();
      };
      return { ...draft, write, pieces: held };
    }
  }
  const { site } = new Bench(new HeldShelf(() => Date.now()));
  const count = limits.siteCompressionsMax;
  const larges = Array.from({ length: count }, (_, at) => {
    return Buffer.alloc(limits.smallLogBytesMax + 1, String(at));
  });
  const set = setOf(Object.fromEntries(larges.map((one, at) => [`/${at}.txt`, `${one}`])));
  await site.announce(set, anything);
  const uploads = larges.map((one) => site.receive(hashOf(`${one}`), onePiece(one), anything));
  await vi.waitUntil(() => written === count, { timeout: 60_000 });
  await new Promise((resolve) => setImmediate(resolve));
  const other = new Bench(new MemoryShelf(() => Date.now()));
  await other.publish({ '/a.txt': 'small '.repeat(200) });
  expect(await other.paths()).toEqual(['/a.txt']);
  release();
  await Promise.all(uploads);
});

async function* onePiece(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}

describe.each(shelves)('static files in %s', (_, makeShelf) => {
  it('[living 3.4] are served after a publish, and uploaded once', async () => {
    const bench = new Bench(makeShelf());
    expect(await bench.paths()).toEqual([]);
    await bench.publish({ '/index.html': 'page', '/a.js': 'one' });
    expect(await bench.paths()).toEqual(['/index.html', '/a.js']);
    const { missing } = await bench.upload({ '/index.html': 'page', '/b.js': 'two', '/c': 'two' });
    expect(missing).toEqual([hashOf('two')]);
    bench.reopened();
    expect(await bench.paths()).toEqual(['/index.html', '/a.js']);
  });

  it('[living 3.4] are compressed when they are uploaded, if that makes them smaller', async () => {
    const { shelf, site } = new Bench(makeShelf());
    const text = 'reducers and tables. '.repeat(500);
    const noise = [...new Uint8Array(600)].map((__, at) => hashOf(String(at))[0]).join('');
    const contents = { '/a.txt': text, '/b.png': `${text} as a picture`, '/c.txt': 'short' };
    const set = setOf({ ...contents, '/d.js': noise });
    for (const hash of (await site.announce(set, anything)).missing) {
      const all = Object.values({ ...contents, noise });
      await site.receive(hash, pieces(all.find((one) => hashOf(one) === hash) ?? ''), anything);
    }
    const br = await shelf.read(`${hashOf(text)}.br`);
    expect(brotliDecompressSync(br ?? '').toString()).toBe(text);
    const gz = await shelf.read(`${hashOf(text)}.gz`);
    expect(gunzipSync(gz ?? '').toString()).toBe(text);
    expect(await shelf.size(`${hashOf(contents['/b.png'])}.br`)).toBeUndefined();
    expect(await shelf.size(`${hashOf('short')}.br`)).toBeUndefined();
    expect(await shelf.size(`${hashOf(noise)}.br`)).toBeLessThan(noise.length);
  });

  it('[living 3.4] are refused when they are not what was announced', async () => {
    const { site, shelf } = new Bench(makeShelf());
    const set = setOf({ '/a.js': 'one' });
    const { id } = await site.announce(set, anything);
    const hash = hashOf('one');
    for (const wrong of ['two', 'one more', 'on']) {
      await expect(site.receive(hash, pieces(wrong), anything)).rejects.toThrow('is not `/a.js`');
    }
    await expect(site.receive(hashOf('two'), pieces('two'), anything)).rejects.toThrow(
      'was announced',
    );
    const deploy = { generation: 1, program: 'aa', decider: 'nothing' } as const;
    const stage = (of: string) => site.stage({ kind: 'set', id: of }, deploy, anything);
    await expect(stage(id)).rejects.toThrow('`/a.js` was not uploaded');
    await expect(stage('../served')).rejects.toThrow('was not announced');
    expect([...(await shelf.names())]).toEqual([`${id}.set`]);
  });

  it('[living 3.4] of before are served for ten minutes, by path, then removed', async () => {
    const bench = new Bench(makeShelf());
    await bench.publish({ '/index.html': 'old page', '/old.js': 'old' });
    await bench.publish({ '/index.html': 'new page', '/new.js': 'new' });
    bench.reopened();
    const site = await bench.site.served();
    const later = bench.nowMillis + limits.siteEarlierMillis;
    expect(site.earlierFile('/old.js', later - 1)?.hash).toBe(hashOf('old'));
    expect(site.earlierFile('/old.js', later)).toBeUndefined();
    expect(site.earlierFile('/index.html', bench.nowMillis)).toBeUndefined();
    bench.nowMillis = later;
    await bench.upload({ '/x': 'x' });
    expect(await bench.shelf.size(hashOf('old'))).toBeUndefined();
    expect(await bench.shelf.size(hashOf('new'))).toBe(3);
    await bench.site.announce(setOf({}), anything);
    bench.nowMillis += limits.siteAnnouncedMillis;
    await bench.site.announce(setOf({}), anything);
    expect(await bench.shelf.size(hashOf('x'))).toBeUndefined();
  });

  it('[living 5.11] of earlier deploys stay, until others need their room', async () => {
    const bench = new Bench(makeShelf());
    const one = await bench.publish({ '/one': 'one' });
    const two = await bench.publish({ '/two': 'two' });
    bench.earlierSets = [two, one];
    await bench.publish({ '/three': 'three' });
    const here = async () => [await bench.site.has(one), await bench.site.has(two)];
    const sweep = async () => {
      bench.nowMillis += limits.siteAnnouncedMillis;
      await bench.site.announce(setOf({}), anything);
    };
    await sweep();
    // The first one went when it was replaced: no deploy had it then.
    expect(await here()).toEqual([false, true]);
    bench.earlierBytesMax = 2;
    await sweep();
    expect(await here()).toEqual([false, false]);
  });

  it('[living 5.11] of earlier deploys make room for what is uploaded', async () => {
    const bench = new Bench(makeShelf());
    const four = await bench.publish({ '/four': 'four' });
    bench.earlierSets = [four];
    await bench.publish({ '/five': 'five' });
    bench.nowMillis += limits.siteAnnouncedMillis;
    await bench.site.announce(setOf({}), anything);
    expect(await bench.site.has(four)).toBe(true);
    let bytes = 0;
    const scarce = {
      ...anything,
      requireMore: (more: number) => {
        if (bench.keptBytes + more > 9) throw refusal('quota.exceeded', 'no room');
        bytes = more;
      },
    };
    await bench.site.announce(setOf({ '/six': 'sixth' }), scarce);
    expect([bytes, await bench.site.has(four)]).toEqual([5, false]);
    const most = bench.site.announce(setOf({ '/seven': 'seventh' }), scarce);
    await expect(most).rejects.toThrow('no room');
  });

  it('[living 3.4] count as they are kept, in all their forms', async () => {
    const bench = new Bench(makeShelf());
    const kept = async () => {
      const names = (await bench.shelf.names()).filter(isContentName);
      const sizes = await Promise.all(names.map((name) => bench.shelf.size(name)));
      return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
    };
    const text = 'a page '.repeat(1_000);
    await bench.publish({ '/index.html': text, '/same.html': text, '/a.bin': 'a' });
    expect(bench.keptBytes).toBe(await kept());
    expect(await bench.shelf.size(`${hashOf(text)}.br`)).toBeGreaterThan(0);
    await bench.upload({ '/index.html': `${text}!` });
    await bench.publish({ '/index.html': `${text}?` });
    expect(bench.keptBytes).toBe(await kept());
    const wrong = bench.site.announce(setOf({ '/w': 'right' }), anything);
    const [hash = ''] = (await wrong).missing;
    await expect(bench.site.receive(hash, pieces('wrong'), anything)).rejects.toThrow('is not');
    expect(bench.keptBytes).toBe(await kept());
    bench.nowMillis += limits.siteAnnouncedMillis;
    await bench.site.announce(setOf({}), anything);
    expect(bench.keptBytes).toBe(await kept());
    expect(await bench.reopened().measure()).toBe(bench.keptBytes);
  });

  it('[living 3.4] that nobody publishes are removed after an hour', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const bench = new Bench(new MemoryShelf(() => bench.nowMillis));
      await bench.publish({ '/a': 'served' });
      await bench.upload({ '/b': 'forgotten' });
      // Another start finds them, too.
      expect(await bench.reopened().measure()).toBe(15);
      for (let minutes = 0; minutes < 90; minutes += 10) {
        bench.nowMillis += 600_000;
        await vi.advanceTimersByTimeAsync(601_000);
      }
      expect(await bench.shelf.size(hashOf('forgotten'))).toBeUndefined();
      expect(await bench.shelf.size(hashOf('served'))).toBe(6);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('[living 3.4] keeps no more of the old files than it may serve', async () => {
    const bench = new Bench(makeShelf());
    bench.earlierBytesMax = 5;
    await bench.publish({ '/a': 'aaa', '/b': 'bbb' });
    await bench.publish({ '/c': 'ccc' });
    await bench.publish({ '/d': 'ddd' });
    const site = await bench.site.served();
    expect(site.earlier.map((file) => file.path)).toEqual(['/c']);
  });

  it('[living 3.4] can be taken away', async () => {
    const bench = new Bench(makeShelf());
    await bench.publish({ '/index.html': 'page' });
    const deploy = { generation: 1, program: 'aa', decider: 'nothing' } as const;
    const stage = () => bench.site.stage({ kind: 'none' }, deploy, anything);
    await (await stage())?.done(8);
    expect(await stage()).toBeUndefined();
    bench.reopened();
    expect(await bench.paths()).toEqual([]);
    const earlier = (await bench.site.served()).earlierFile('/index.html', bench.nowMillis);
    expect(earlier?.bytes).toBe(4);
  });
});

describe('[living 3.4] a crash during a publish', () => {
  /** Stages `/new` over `/old` with another program, and ends before the outcome is known. */
  async function crashed(decider: 'program' | 'generation') {
    const bench = new Bench(new DiskShelf(newFolder()));
    await bench.publish({ '/old': 'old' });
    const { id } = await bench.upload({ '/new': 'new' });
    const deploy = { generation: decider === 'program' ? 1 : 2, program: 'bb', decider } as const;
    await bench.site.stage({ kind: 'set', id }, deploy, anything);
    expect(await bench.paths()).toEqual(['/old']);
    bench.reopened();
    return bench;
  }

  it('leaves the files of before, if the database has its old program', async () => {
    const bench = await crashed('program');
    expect(await bench.paths()).toEqual(['/old']);
    // And nothing of it is found later.
    bench.program = 'bb';
    bench.reopened();
    expect(await bench.paths()).toEqual(['/old']);
  });

  it('brings the new files, if the database has the new program', async () => {
    const bench = await crashed('program');
    bench.program = 'bb';
    expect(await bench.paths()).toEqual(['/new']);
    const { nowMillis } = bench;
    expect((await bench.site.served()).earlierFile('/old', nowMillis)).toBeDefined();
    bench.program = 'cc';
    bench.reopened();
    expect(await bench.paths()).toEqual(['/new']);
  });

  it('is settled when the database serves again', async () => {
    const bench = await crashed('program');
    bench.isBroken = true;
    expect(await bench.paths()).toEqual(['/old']);
    Object.assign(bench, { program: 'bb', isBroken: false });
    expect(await bench.paths()).toEqual(['/new']);
  });

  it('is decided by the generation, if the database was reset', async () => {
    const undone = await crashed('generation');
    expect(await undone.paths()).toEqual(['/old']);
    const done = await crashed('generation');
    done.generation = 2;
    expect(await done.paths()).toEqual(['/new']);
  });

  it('leaves nothing of an upload that it interrupted', async () => {
    const folder = newFolder();
    const bench = new Bench(new DiskShelf(folder));
    const id = await bench.publish({ '/old': 'old' });
    writeFileSync(path.join(folder, '.99999-1.tmp'), 'half');
    const { id: other } = await bench.reopened().announce(setOf({ '/new': 'new' }), anything);
    const kept = [`${id}.set`, `${other}.set`, hashOf('old'), 'served.json'];
    expect(readdirSync(folder).sort()).toEqual(kept.sort());
  });

  it('that damaged the list serves nothing, says so, and removes nothing', async () => {
    const folder = newFolder();
    const bench = new Bench(new DiskShelf(folder));
    await bench.publish({ '/old': 'old' });
    writeFileSync(path.join(folder, 'served.json'), '{}');
    bench.reopened();
    expect(await bench.paths()).toEqual([]);
    expect(bench.complaints).toHaveLength(1);
    await bench.publish({ '/old': 'old', '/new': 'new' });
    expect(await bench.shelf.size(hashOf('old'))).toBe(3);
    expect(await bench.paths()).toEqual(['/old', '/new']);
  });

  it('that damaged the next list serves the files from before, and says so', async () => {
    const folder = newFolder();
    const bench = new Bench(new DiskShelf(folder));
    await bench.publish({ '/old': 'old' });
    writeFileSync(path.join(folder, 'next.json'), '{bad');
    bench.reopened();
    expect(await bench.paths()).toEqual(['/old']);
    expect(bench.complaints).toEqual([expect.stringContaining('next.json: ')]);
    await bench.publish({ '/new': 'new' });
    expect(await bench.paths()).toEqual(['/new']);
    expect(readdirSync(folder)).not.toContain('next.json');
  });
});
