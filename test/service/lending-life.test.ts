import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { logIn } from './cli-support.ts';
import { type RunningService, root, Sandbox } from './harness.ts';
import type { Remote } from './remote.ts';

const example = path.join(root, 'examples/lending');
const database = 'lending';

let sandbox: Sandbox;
let service: RunningService;
let owner: Remote;
let project: string;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start();
  owner = await logIn(sandbox);
  project = path.join(sandbox.folder, 'shed');
  mkdirSync(path.join(project, 'src'), { recursive: true });
  writeFileSync(path.join(project, 'package.json'), '{"name":"shed","type":"module"}');
});
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

const versions = readdirSync(path.join(example, 'life')).sort();

/** Puts a version into the project, with the first so many migrations. */
function take(version: number, migrationCount: number): void {
  const file = versions[version - 1] ?? '';
  cpSync(path.join(example, 'life', file), path.join(project, 'src/index.ts'));
  const migrations = readdirSync(path.join(example, 'migrations')).sort();
  mkdirSync(path.join(project, 'migrations'), { recursive: true });
  for (const name of migrations.filter((each) => Number(each.slice(0, 4)) <= migrationCount)) {
    cpSync(path.join(example, 'migrations', name), path.join(project, 'migrations', name));
  }
}

const publish = (message: string, ...flags: string[]) =>
  sandbox.run(['publish', database, '-p', project, '--break-clients', '-m', message, ...flags]);

async function deploys(message: string): Promise<void> {
  const { code, stdout, stderr } = await publish(message);
  expect({ message, code, output: code === 0 ? '' : stdout + stderr }).toEqual({
    message,
    code: 0,
    output: '',
  });
}

interface Added {
  readonly name: string;
  readonly price: string;
}

/** Adds things one after the other, as long as the app lives; knows what was acknowledged. */
class Neighbour {
  readonly acknowledged: Added[] = [];
  /** Neither acknowledged nor refused: the connection was lost meanwhile. */
  readonly unknown: Added[] = [];
  readonly refused: string[] = [];
  readonly #client = connect({ uri: sandbox.url, database, reconnect: { firstDelayMillis: 20 } });
  /** The one reducer that every version has, with the same parameters. */
  readonly #reducers = this.#client.reducers as unknown as { add(args: object): Promise<void> };
  #isOver = false;
  readonly #work = this.#run();

  async #run(): Promise<void> {
    for (let count = 1; !this.#isOver; count += 1) {
      const added = { name: `thing ${count}`, price: `${count}.50` };
      try {
        await this.#reducers.add({ ...added, owner: count % 2 === 0 ? 'Ida' : 'Ole' });
        this.acknowledged.push(added);
      } catch (error) {
        const { code } = error as { code?: string };
        if (code === 'reducer.refused') this.refused.push(added.name);
        else this.unknown.push(added);
      }
    }
  }

  /** Once it has added so many more. */
  async goesOn(more = 3): Promise<void> {
    const { length } = this.acknowledged;
    await expect
      .poll(() => this.acknowledged.length, { timeout: 30_000 })
      .toBeGreaterThan(length + more);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#work;
    this.#client.disconnect();
  }
}

/** Watches loans, which only ever get more, and notes how many it saw each time. */
class Onlooker {
  readonly seen: number[] = [];
  readonly client = connect({ uri: sandbox.url, database, reconnect: { firstDelayMillis: 20 } });
  readonly #watched = this.client.watch('SELECT * FROM loan');

  async begin(): Promise<void> {
    this.#watched.subscribe(() => this.seen.push(this.#watched.get().rows.length));
    await this.#watched.ready();
  }

  get rows(): readonly object[] {
    return this.#watched.get().rows;
  }
}

describe('the life of an app', () => {
  it('[living 5.3, 5.6, 5.9, 5.10, 5.11] goes through twelve deploys while people use it', async () => {
    const rows = (sql: string) => owner.rows(database, sql);
    take(1, 0);
    await deploys('the first');
    const neighbour = new Neighbour();
    await neighbour.goesOn();
    take(2, 0);
    await deploys('loans');
    const onlooker = new Onlooker();
    await onlooker.begin();
    const lend = async (who: string) => {
      expect(await owner.call(database, 'lend', [1, who, 3])).toMatchObject({ status: 200 });
      await expect.poll(() => onlooker.rows.length, { timeout: 30_000 }).toBe(++lent);
    };
    let lent = 0;
    await lend('Ada Lovelace');
    take(3, 0);
    await deploys('notes');
    await lend('Grace Brewster Hopper');
    take(4, 1);
    await deploys('items');
    await neighbour.goesOn();
    take(5, 2);
    await deploys('lenders');
    take(6, 3);
    await deploys('cents');
    await neighbour.goesOn();
    await lend('Cher');
    take(7, 4);
    const plan = await sandbox.ok(['publish', database, '-p', project, '--plan', '--json']);
    const { succeeds, token, trial } = JSON.parse(plan);
    expect(succeeds).toBe(true);
    expect(trial.tables.find(({ after }: { after: string }) => after === 'loan')).toMatchObject({
      rows_before: 3,
      rows_after: 3,
      samples: [
        {
          before: { who: 'Ada Lovelace' },
          after: [{ table: 'loan', row: { first: 'Ada', last: 'Lovelace' } }],
        },
        { before: { who: 'Grace Brewster Hopper' } },
        { before: { who: 'Cher' }, after: [{ row: { first: 'Cher', last: '' } }] },
      ],
    });
    await sandbox.ok(['publish', database, '-p', project, '--token', token, '-m', 'names']);
    await neighbour.goesOn();
    take(8, 4);
    const bad = await publish('nobody lends twice');
    expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining('nique')]);
    await neighbour.goesOn();
    const { refused } = neighbour;
    take(9, 4);
    await deploys('a mistake');
    await expect.poll(() => refused.length, { timeout: 30_000 }).toBeGreaterThan(0);
    await sandbox.ok(['rollback', database, '--yes']);
    await neighbour.goesOn();
    take(10, 5);
    await deploys('prices');
    await neighbour.goesOn();
    await lend('Alan Turing');
    take(11, 6);
    await deploys('no notes');
    await neighbour.goesOn();
    take(12, 7);
    await deploys('counted');
    await lend('Ada Lovelace');
    await neighbour.goesOn();
    await neighbour.end();

    const names = new Map((await rows('SELECT name, id FROM item')) as [string, number][]);
    const unknown = new Set(neighbour.unknown.map(({ name }) => name));
    expect([...names.keys()].filter((name) => !unknown.has(name)).sort()).toEqual(
      neighbour.acknowledged.map(({ name }) => name).sort(),
    );
    const cents = new Map((await rows('SELECT item_id, cents FROM price')) as [number, number][]);
    for (const { name, price } of neighbour.acknowledged) {
      expect(cents.get(names.get(name) ?? 0)).toBe(Number(price) * 100);
    }
    expect(cents.size).toBe(names.size);
    const loans = await rows('SELECT first, last FROM loan ORDER BY id');
    expect(loans).toEqual([
      ['Ada', 'Lovelace'],
      ['Grace', 'Brewster Hopper'],
      ['Cher', ''],
      ['Alan', 'Turing'],
      ['Ada', 'Lovelace'],
    ]);
    expect(await rows('SELECT lent FROM item WHERE id = 1')).toEqual([[5]]);
    expect(onlooker.rows).toHaveLength(5);
    expect(onlooker.seen).toEqual([...onlooker.seen].sort((a, b) => a - b));
    onlooker.client.disconnect();
    const listed = await sandbox.ok(['deploys', database]);
    for (const message of ['prices', 'no notes', 'counted']) expect(listed).toContain(message);
  }, 600_000);
});
