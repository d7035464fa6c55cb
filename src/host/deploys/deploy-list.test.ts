import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import { deployBefore, type NextDeploy } from '../deployed/deploy.ts';
import { DiskShelf } from '../sites/disk-shelf.ts';
import { MemoryShelf, type Shelf } from '../sites/shelf.ts';
import { DeployList } from './deploy-list.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-deploys-'));
  folders.push(folder);
  return path.join(folder, 'deploys');
}

const hashOf = (letter: string) => letter.repeat(64);

/** A database as a test says it is, and the list of its deploys; `restart` is the next start. */
class Bench {
  readonly shelf: Shelf;
  readonly complaints: string[] = [];
  program = hashOf('a');
  commit = 1;
  generation = 0;
  isBroken = false;
  list: DeployList;

  constructor(shelf: Shelf) {
    this.shelf = shelf;
    this.list = this.restart();
  }

  restart(): DeployList {
    this.list = new DeployList({
      shelf: this.shelf,
      generation: () => this.generation,
      running: async () => {
        if (this.isBroken) throw refusal('database.broken', 'broken');
        return { program: this.program, commit: this.commit };
      },
      program: async () => Buffer.from(`program ${this.program}`),
      complain: (problem) => this.complaints.push(problem),
    });
    return this.list;
  }

  begin(letter: string, more: Partial<NextDeploy> = {}) {
    const next: NextDeploy = {
      ...{ kind: 'updated', micros: 5, by: 'ab', program: hashOf(letter) },
      ...{ generation: this.generation, plan: 'a plan', migrations: [], message: letter },
      ...{ staticSet: undefined, of: undefined, canary: undefined },
      ...more,
    };
    return this.list.stage(next, undefined);
  }

  /** The program runs, since a later commit. */
  swap(letter: string): void {
    this.program = hashOf(letter);
    this.commit += 10;
  }

  async deploy(letter: string, more: Partial<NextDeploy> = {}): Promise<void> {
    const staged = await this.begin(letter, more);
    this.swap(letter);
    await staged.done(this.commit);
  }

  async story(): Promise<string[]> {
    const { deploys } = await this.list.list();
    return deploys.map(({ kind, program, commit }) => `${kind} ${program[0]} ${commit}`);
  }
}

const shelves: [string, () => Shelf][] = [
  ['a folder', () => new DiskShelf(newFolder())],
  ['memory', () => new MemoryShelf(() => 0)],
];

describe.each(shelves)('[living 5.11] the deploys of a database, in %s', (_, shelf) => {
  it('begin with what runs, where nothing was written down', async () => {
    const bench = new Bench(shelf());
    const { deploys, running } = await bench.list.list();
    expect(deploys).toMatchObject([{ number: 1, kind: 'found', micros: undefined, commit: 1 }]);
    expect(running).toBe(1);
  });

  it('have what was done, and the programs before', async () => {
    const bench = new Bench(shelf());
    await bench.deploy('a', { kind: 'created' });
    await bench.deploy('b');
    expect(await bench.story()).toEqual(['created a 11', 'updated b 21']);
    const { kept } = await bench.list.list();
    expect(kept).toEqual(new Set([hashOf('a')]));
    const bytes = await bench.list.kept(hashOf('a'));
    expect(Buffer.from(bytes ?? []).toString()).toBe(`program ${hashOf('a')}`);
  });

  it('have the program that runs kept ahead, whatever becomes of the next one', async () => {
    const bench = new Bench(shelf());
    await bench.deploy('a', { kind: 'created' });
    await bench.list.keepRunning();
    const names = await bench.shelf.names();
    expect(names).toContain(`${hashOf('a')}.program`);
    expect(await bench.story()).toEqual(['created a 11']);
    await bench.deploy('b');
    expect(await bench.story()).toEqual(['created a 11', 'updated b 21']);
    bench.isBroken = true;
    await bench.list.keepRunning();
    await expect(bench.begin('c')).rejects.toThrow('broken');
  });

  it('have one that was begun before a crash if, and only if, its program runs', async () => {
    const happened = new Bench(shelf());
    await happened.deploy('a', { kind: 'created' });
    await happened.begin('b');
    happened.swap('b');
    happened.restart();
    expect(await happened.story()).toEqual(['created a 11', 'updated b 21']);
    const { deploys } = await happened.list.list();
    expect(deploys[1]).toMatchObject({ number: 2, by: 'ab', message: 'b', plan: 'a plan' });
    const undone = new Bench(shelf());
    await undone.deploy('a', { kind: 'created' });
    await undone.begin('b');
    undone.restart();
    expect(await undone.story()).toEqual(['created a 11']);
    undone.swap('b');
    // It is not known any more who that was.
    expect(await undone.story()).toEqual(['created a 11', 'found b 21']);
  });

  it('have nothing of what was begun where something else runs since', async () => {
    const other = new Bench(shelf());
    await other.deploy('a', { kind: 'created' });
    await other.begin('b');
    other.swap('c');
    other.restart();
    expect(await other.story()).toEqual(['created a 11', 'found c 21']);
    const restored = new Bench(shelf());
    await restored.deploy('a', { kind: 'created' });
    await restored.begin('a', { kind: 'reset', generation: 1 });
    restored.generation = 2;
    restored.restart();
    expect(await restored.story()).toEqual(['created a 11', 'restored a 11']);
  });

  it('leave out what a crash has undone after all', async () => {
    const bench = new Bench(shelf());
    await bench.deploy('a', { kind: 'created' });
    await bench.deploy('b');
    bench.program = hashOf('a');
    bench.commit = 11;
    bench.restart();
    expect(await bench.story()).toEqual(['created a 11']);
  });

  it('tell of a reset by its generation, though the program is the same', async () => {
    const bench = new Bench(shelf());
    await bench.deploy('a', { kind: 'created' });
    await bench.begin('a', { kind: 'reset', generation: 1 });
    bench.restart();
    expect(await bench.story()).toEqual(['created a 11']);
    await bench.begin('a', { kind: 'reset', generation: 1 });
    bench.generation = 1;
    bench.commit = 1;
    bench.restart();
    expect(await bench.story()).toEqual(['created a 11', 'reset a 1']);
  });

  it('say that a history was restored, and keep what came before', async () => {
    const bench = new Bench(shelf());
    await bench.deploy('a', { kind: 'created' });
    await bench.deploy('b');
    bench.program = hashOf('a');
    bench.commit = 11;
    bench.generation = 1;
    expect(await bench.story()).toEqual(['created a 11', 'updated b 21', 'restored a 11']);
    const { deploys } = await bench.list.list();
    expect([deploys.length, deploys[2]?.of, deployBefore(deploys)]).toEqual([3, 1, undefined]);
  });

  it('show what was written down while the database does not serve', async () => {
    const bench = new Bench(shelf());
    await bench.deploy('a', { kind: 'created' });
    await bench.begin('b');
    bench.restart();
    bench.isBroken = true;
    const { deploys, running } = await bench.list.list();
    expect([deploys.length, running]).toEqual([1, undefined]);
    await expect(bench.begin('c')).rejects.toThrow('broken');
    const reset = await bench.begin('c', { kind: 'reset', generation: 1 });
    bench.isBroken = false;
    bench.swap('c');
    bench.generation = 1;
    await reset.done(bench.commit);
    expect(await bench.story()).toEqual(['created a 11', 'reset c 21']);
  });

  it('keep the last 10 programs, and list the last 100 deploys', async () => {
    const bench = new Bench(shelf());
    await bench.deploy('a', { kind: 'created' });
    const letters = [...'0123456789bcdef'];
    for (const letter of letters) await bench.deploy(letter);
    const last = letters.slice(-limits.deployProgramsKeptMax, -1);
    expect((await bench.list.list()).kept).toEqual(new Set(last.map(hashOf)));
    for (let count = 0; count < limits.deploysListedMax; count += 1) {
      await bench.deploy(letters[count % 2] ?? '');
    }
    const { deploys } = await bench.list.list();
    expect([deploys.length, deploys.at(-1)?.number]).toEqual([100, 116]);
  });

  it('end a canary with the next deploy, and know whether the service has ended it', async () => {
    const before = { calls: 0, failed: 0, p99Millis: 0 };
    const canary = { seconds: 9, state: 'watched', reason: '', before } as const;
    const states = async (bench: Bench) =>
      (await bench.list.list()).deploys.map((one) => one.canary?.state);
    const bench = new Bench(shelf());
    await bench.deploy('a', { kind: 'created' });
    await bench.deploy('b', { canary });
    expect(await bench.list.mayBeWatched()).toBe(true);
    await bench.begin('a', { kind: 'rolled-back', of: 1, by: undefined, message: 'why' });
    bench.swap('a');
    bench.restart();
    expect(await states(bench)).toEqual([undefined, 'rolled-back', undefined]);
    await bench.deploy('b', { canary });
    await bench.deploy('c', { canary });
    await bench.list.settleCanary(4, 'passed', 'too late');
    expect(await states(bench)).toEqual([undefined, 'rolled-back', undefined, 'ended', 'watched']);
    await bench.list.settleCanary(5, 'passed', 'fine');
    expect((await states(bench)).at(-1)).toBe('passed');
    expect(await bench.list.mayBeWatched()).toBe(false);
  });
});

it('[living 5.11] a damaged list is reported, and begins again with what runs', async () => {
  const folder = newFolder();
  const bench = new Bench(new DiskShelf(folder));
  await bench.deploy('a', { kind: 'created' });
  writeFileSync(path.join(folder, 'deploys.json'), '{"format":"deploys-1","deploys":7}');
  expect(await bench.story()).toEqual(['found a 11']);
  expect(bench.complaints).toEqual([
    'its deploys cannot be read, and begin again: `deploys` is not a list',
  ]);
  expect(readdirSync(folder)).toEqual(['deploys.json']);
});

it('[living 5.11] going back means the program before that which runs', async () => {
  const bench = new Bench(new MemoryShelf(() => 0));
  const before = async () => deployBefore((await bench.list.list()).deploys)?.number;
  await bench.deploy('a', { kind: 'created' });
  expect(await before()).toBeUndefined();
  await bench.deploy('b');
  await bench.deploy('c');
  expect(await before()).toBe(2);
  await bench.deploy('b', { kind: 'rolled-back', of: 2 });
  expect(await before()).toBe(1);
  await bench.deploy('a', { kind: 'rolled-back', of: 1 });
  expect(await before()).toBeUndefined();
  await bench.deploy('d');
  expect(await before()).toBe(5);
  await bench.deploy('d', { kind: 'reset' });
  expect(await before()).toBe(5);
});

it('[living 5.11] removes what a crash has left of a write', async () => {
  const folder = newFolder();
  const bench = new Bench(new DiskShelf(folder));
  await bench.deploy('b');
  writeFileSync(path.join(folder, '.deploys.json.99-1.tmp'), '');
  writeFileSync(path.join(folder, '.99-2.tmp'), 'half a program');
  bench.restart();
  await bench.deploy('c');
  const programs = ['a', 'b'].map((letter) => `${hashOf(letter)}.program`);
  expect(readdirSync(folder).sort()).toEqual([...programs, 'deploys.json']);
  expect(await bench.story()).toHaveLength(3);
});
