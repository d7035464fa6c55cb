import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildModule } from '../../src/bundle/build-module.ts';
import { someOf } from '../support/share.ts';
import { type Bomb, type BombEnd, bombs } from './bombs.ts';
import { hostileSource } from './programs.ts';

const mebibyte = 1024 * 1024;
/** The factor for a machine that runs other tests at the same time. */
const slowness = Number(process.env.TEST_SLOWNESS ?? 1);

interface Told {
  readonly environment: string;
  readonly builtIns: string;
  readonly folder: string;
  readonly rss: number;
}

/** All bombs go off in one process; the neighbour is a database that must not notice. */
describe('[abi 15] a bomb', () => {
  let folder: string;
  let child: ChildProcess;
  let url: string;
  let before: Told;
  /** Attacks that came to nothing, and were committed. */
  let harmless = 0;

  const next = (): Promise<unknown> => new Promise((resolve) => child.once('message', resolve));
  const ask = async (): Promise<Told> => {
    const told = next();
    child.send('tell');
    return (await told) as Told;
  };
  const call = async (database: string, reducer: string, args: unknown[]) => {
    const answer = await fetch(`${url}/v1/database/${database}/call/${reducer}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(args),
    });
    // Why a call was ended stands beside the answer.
    const hint = decodeURIComponent(answer.headers.get('reducerdb-error-hint') ?? '');
    return { status: answer.status, text: `${await answer.text()} ${hint}`.trimEnd() };
  };
  const texts = async (database: string): Promise<string[]> => {
    const body = 'SELECT text FROM note';
    const answer = await fetch(`${url}/v1/database/${database}/sql`, { method: 'POST', body });
    const [{ rows }] = (await answer.json()) as [{ rows: string[][] }];
    return rows.flat();
  };

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-bombs-'));
    writeFileSync(path.join(folder, 'canary'), 'sings');
    const script = fileURLToPath(new URL('bombed-service.mjs', import.meta.url));
    const dist = fileURLToPath(new URL('../../dist', import.meta.url));
    if (!existsSync(dist)) throw new Error('dist is missing: run `npm run build` first');
    child = fork(script, [path.join(folder, 'data')], { cwd: folder, execArgv: [] });
    url = ((await next()) as { url: string }).url;
    const body = new Uint8Array((await buildModule(hostileSource('runs-code'))).program);
    for (const name of ['victim', 'neighbour']) {
      const where = `${url}/v1/database/${name}?host_type=Js`;
      expect((await fetch(where, { method: 'PUT', body })).status).toBe(200);
      expect((await call(name, 'write', ['before'])).status).toBe(200);
    }
    before = await ask();
  });
  afterAll(() => {
    child.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  const goesOff = async ({ code, end, name }: Bomb) => {
    const started = performance.now();
    const attack = call('victim', 'attack', [code]);
    const seen = { isOver: false, slowest: 0 };
    const neighbour = watch(seen, () => call('neighbour', 'write', ['meanwhile']));
    const { status, text } = await attack;
    seen.isOver = true;
    await neighbour;
    if (status === 200) harmless += 1;
    const outcome = outcomeOf(text);
    expect(ends[end], `${name}: ${status} ${text.slice(0, 200)}`).toContain(outcome);
    expect(performance.now() - started, name).toBeLessThan(8_000 * slowness);
    expect(seen.slowest, `${name}: the neighbour waits`).toBeLessThan(3_000 * slowness);
    expect((await call('victim', 'write', ['after'])).status, name).toBe(200);
    expect(child.exitCode, name).toBe(null);
  };

  for (const [group, members] of Object.entries(bombs)) {
    it(`ends its own call and nothing else: ${group}`, async () => {
      for (const bomb of someOf(members, 2)) await goesOff(bomb);
    }, 120_000);
  }

  it('cannot be built up in buffers over many calls', async () => {
    let highest = 0;
    for (let round = 0; round < 12; round += 1) {
      await call('victim', 'keep', []);
      // The worker looks at its memory every 100 ms.
      await new Promise((resolve) => setTimeout(resolve, 120));
      highest = Math.max(highest, (await ask()).rss);
    }
    expect(highest).toBeLessThan(before.rss + 1_100 * mebibyte);
    expect((await call('victim', 'write', ['after'])).status).toBe(200);
  }, 90_000);

  it('leaves the environment, the files and the rows as they were', async () => {
    expect({ ...(await ask()), rss: 0 }).toEqual({ ...before, rss: 0 });
    expect(readdirSync(folder).sort()).toEqual(['canary', 'data']);
    expect(readFileSync(path.join(folder, 'canary'), 'utf8')).toBe('sings');
    const left = await texts('victim');
    const attacked = harmless === 0 ? [] : ['attacked'];
    expect(new Set(left)).toEqual(new Set(['before', 'after', ...attacked]));
    expect(left.filter((text) => text === 'attacked')).toHaveLength(harmless);
    expect(new Set(await texts('neighbour'))).toEqual(new Set(['before', 'meanwhile']));
  });
});

/** Calls until it is over; `seen` learns of the slowest call. */
async function watch(
  seen: { isOver: boolean; slowest: number },
  run: () => Promise<{ status: number; text: string }>,
): Promise<void> {
  do {
    const started = performance.now();
    const { status, text } = await run();
    expect(status, text).toBe(200);
    seen.slowest = Math.max(seen.slowest, performance.now() - started);
    await new Promise((resolve) => setTimeout(resolve, 20));
  } while (!seen.isOver);
}

const ends: Readonly<Record<BombEnd, readonly string[]>> = {
  refused: ['refused'],
  bounded: ['refused', 'ended'],
  ended: ['ended'],
  returned: ['returned'],
  large: ['returned', 'ended'],
};

function outcomeOf(text: string): string {
  if (text.includes('was stopped')) return 'ended';
  return text.startsWith('RangeError') ? 'refused' : 'returned';
}
