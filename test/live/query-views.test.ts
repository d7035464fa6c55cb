import { describe, expect, it } from 'vitest';
import { tentatively } from '../../src/database/tentative.ts';
import { Random } from '../../src/testing/random.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { buildText } from '../support/build-text.ts';
import { CoreUnderTest, rowsIn } from '../support/core-under-test.ts';
import { freshRows } from '../support/fresh-view.ts';
import { someSeeds } from '../support/share.ts';
import { type CoreClient, CoreClients, changesIn } from './core-clients.ts';

const moduleText = `
import { schema, t, table } from 'reducerdb/server';
const task = table({ public: true }, {
  id: t.u32().primaryKey(), team: t.u32().index(), owner: t.identity().index(), state: t.u32(),
});
const member = table({}, {
  id: t.u32().primaryKey(), who: t.identity().index(), team: t.u32().index(), role: t.u32(),
});
const choice = table({}, { who: t.identity().primaryKey(), team: t.u32() });
const loose = table({}, { id: t.u32().primaryKey(), team: t.u32(), whose: t.string().index() });
const db = schema({ task, member, choice, loose });
export default db;

const Op = t.row('Op', {
  kind: t.u32(), id: t.u32(), who: t.u256(), team: t.u32(), extra: t.u32(),
});
export const write = db.reducer({ ops: t.array(Op) }, (ctx, { ops }) => {
  for (const { kind, id, who: number, team, extra } of ops) {
    const who = new (ctx.sender.constructor as new (value: bigint) => typeof ctx.sender)(number);
    if (kind <= 1) ctx.db.task.id.delete(id);
    if (kind === 1) ctx.db.task.insert({ id, team, owner: who, state: extra });
    if (kind === 2 || kind === 3) ctx.db.member.id.delete(id);
    if (kind === 3) ctx.db.member.insert({ id, who, team, role: extra });
    if (kind === 4 || kind === 5) ctx.db.loose.id.delete(id);
    if (kind === 5) ctx.db.loose.insert({ id, team, whose: who.toHexString() });
    if (kind === 6 || kind === 7) ctx.db.choice.who.delete(who);
    if (kind === 7) ctx.db.choice.insert({ who, team });
    if (kind === 8) ctx.db.task.clear();
    if (kind === 9) throw new Error('no');
  }
});

const tasks = t.array(task.rowType);
const open = { public: true } as const;
const says = (name: string) => console.log(name + ' runs');
export const teamTasks = db.view(open, tasks, (ctx) => {
  says('team_tasks');
  return ctx.from.member.where((m) => m.who.eq(ctx.sender))
    .rightSemijoin(ctx.from.task, (m, each) => m.team.eq(each.team));
});
export const ledTasks = db.view(open, tasks, (ctx) => {
  says('led_tasks');
  return ctx.from.member.where((m) => m.who.eq(ctx.sender).and(m.role.gt(1)))
    .rightSemijoin(ctx.from.task.where((each) => each.state.lt(4)), (m, each) => m.team.eq(each.team));
});
export const ownOfTeam = db.view(open, tasks, (ctx) => {
  says('own_of_team');
  return ctx.from.member.where((m) => m.who.eq(ctx.sender))
    .rightSemijoin(ctx.from.task.where((each) => each.owner.eq(ctx.sender)),
      (m, each) => m.team.eq(each.team));
});
export const helpers = db.view(open, t.array(member.rowType), (ctx) => {
  says('helpers');
  return ctx.from.task.where((each) => each.owner.eq(ctx.sender))
    .rightSemijoin(ctx.from.member, (each, m) => each.team.eq(m.team));
});
export const ownTasks = db.view(open, tasks, (ctx) => {
  says('own_tasks');
  return ctx.from.task.where((each) => each.owner.eq(ctx.sender));
});
export const notOwn = db.view(open, tasks, (ctx) => {
  says('not_own');
  return ctx.from.task.where((each) => each.owner.ne(ctx.sender));
});
export const chosenTasks = db.view(open, tasks, (ctx) => {
  says('chosen_tasks');
  const chosen = ctx.db.choice.who.find(ctx.sender);
  return chosen === null ? [] : ctx.from.task.where((each) => each.team.eq(chosen.team));
});
// All callers have read the same row, so that their code is called again at once.
export const commonTasks = db.view(open, tasks, (ctx) => {
  says('common_tasks');
  const isOpen = ctx.db.loose.id.find(0)?.team !== 1;
  return ctx.from.task.where((each) => each.owner.eq(ctx.sender).and(each.state.gt(isOpen ? 0 : 2)));
});
// The caller is no identity here: no two callers have the same query.
export const namedLoose = db.view(open, t.array(loose.rowType), (ctx) => {
  says('named_loose');
  return ctx.from.loose.where((l) => l.whose.eq(ctx.sender as never));
});
export const lateTasks = db.anonymousView(open, tasks, (ctx) => {
  says('late_tasks');
  return ctx.from.task.where((each) => each.state.gte(2));
});
export const looseOfTasks = db.anonymousView(open, t.array(loose.rowType), (ctx) => {
  says('loose_of_tasks');
  return ctx.from.loose.where((l) => l.id.gt(0)).leftSemijoin(ctx.from.task, (l, each) => l.team.eq(each.team));
});
export const tasksOfLoose = db.anonymousView(open, tasks, (ctx) => {
  says('tasks_of_loose');
  return ctx.from.loose.where((l) => l.id.gt(0)).rightSemijoin(ctx.from.task, (l, each) => l.team.eq(each.team));
});
const Keyed = t.row('Keyed', {
  id: t.u32(), team: t.u32().primaryKey(), owner: t.identity(), state: t.u32(),
});
export const keyedTasks = db.anonymousView(open, t.array(Keyed), (ctx): any => {
  says('keyed_tasks');
  return ctx.from.task.where((each) => each.state.eq(4));
});
`;

const callers = [1n, 0xa1n, 0xa2n, 0xa3n];
const ofCaller = [
  ...['team_tasks', 'led_tasks', 'own_of_team', 'helpers'],
  ...['own_tasks', 'not_own', 'chosen_tasks', 'common_tasks', 'named_loose'],
];
const ofAll = ['late_tasks', 'loose_of_tasks', 'tasks_of_loose', 'keyed_tasks'];

/** Someone who watches a view and keeps its rows. */
interface Watcher {
  readonly client: CoreClient;
  readonly view: string;
  readonly caller: bigint;
  readonly number: number | undefined;
  readonly rows: string[];
}

class Run {
  readonly #random: Random;
  readonly #database: CoreUnderTest;
  readonly #clients: CoreClients;
  readonly #watchers: Watcher[] = [];
  refusals = 0;

  constructor(seed: number, database: CoreUnderTest) {
    this.#random = new Random(seed);
    this.#database = database;
    this.#clients = new CoreClients(database);
  }

  steps(count: number): void {
    const random = this.#random;
    for (let step = 0; step < count; step++) {
      if (random.chance(0.25)) this.#watch();
      if (random.chance(0.03)) this.#leave();
      this.#database.takeLines();
      const called = this.#write();
      this.#requireRuns(called);
      this.#take();
      for (const watcher of this.#watchers) if (random.chance(0.4)) this.#requireExact(watcher);
    }
    for (const watcher of this.#watchers) this.#requireExact(watcher);
  }

  #watch(): void {
    const random = this.#random;
    const view = random.pick(random.chance(0.7) ? ofCaller : ofAll);
    const caller = random.pick(callers);
    const client = this.#clients.connect(caller);
    const first = client.subscribe(1, `SELECT * FROM ${view}`);
    if (typeof first === 'string') {
      expect(view).toBe('keyed_tasks');
      expect(first).toContain('two different rows have the same value of the primary key');
      client.disconnect();
      return;
    }
    const [number] = client.numbers;
    this.#watchers.push({ client, view, caller, number, rows: [...(first[0] ?? [])] });
    this.#clients.take();
  }

  #leave(): void {
    const [watcher] = this.#watchers.splice(this.#random.below(this.#watchers.length + 1), 1);
    watcher?.client.disconnect();
  }

  /** Returns the views whose code may have read what has changed. */
  #write(): readonly string[] {
    const random = this.#random;
    const database = this.#database;
    const [team, state] = [random.below(4), random.below(5)];
    switch (random.below(12)) {
      case 0:
        database.sql(`UPDATE task SET state = ${state} WHERE team = ${team}`);
        return [];
      case 1:
        database.sql(`DELETE FROM member WHERE team = ${team}`);
        return [];
      case 2:
        database.sql(`UPDATE member SET team = ${team} WHERE id = ${random.below(8)}`);
        return [];
      default:
    }
    const weights = [0, 1, 1, 1, 1, 2, 3, 3, 3, 4, 5, 6, 7, 7];
    const ops = Array.from({ length: 1 + random.below(6) }, () => [
      random.chance(0.04) ? 8 + random.below(2) : random.pick(weights),
      ...[random.below(8), random.pick(callers), random.below(4), random.below(5)],
    ]);
    const outcome = database.call('write', [ops]);
    if (outcome.kind !== 'committed') this.refusals += 1;
    const hasAny = (kinds: readonly number[]) => ops.some(([kind]) => kinds.includes(Number(kind)));
    return [
      ...(hasAny([6, 7]) ? ['chosen_tasks'] : []),
      ...(hasAny([4, 5]) ? ['common_tasks'] : []),
    ];
  }

  /** What is followed does not run; code runs again when what it has read changes. */
  #requireRuns(called: readonly string[]): void {
    const ran = this.#database.takeLines().filter((line) => line.endsWith(' runs'));
    const followed = ran.filter(
      (line) => ![...called, 'tasks_of_loose'].some((view) => line === `${view} runs`),
    );
    expect(followed).toEqual([]);
  }

  #take(): void {
    for (const commit of this.#clients.take()) {
      expect(commit.failures).toEqual([]);
      for (const { number, rows } of this.#watchers) {
        for (const change of changesIn(this.#database, commit, number)) {
          const text = change.slice(1);
          const at = rows.indexOf(text);
          if (change.startsWith('+')) {
            expect(at, `${text} is there already`).toBe(-1);
            rows.push(text);
          } else {
            expect(at, `${text} is not there`).toBeGreaterThanOrEqual(0);
            rows.splice(at, 1);
          }
        }
      }
    }
  }

  #requireExact({ client, view, caller, rows }: Watcher): void {
    const database = this.#database;
    const table = database.table(view, caller);
    expect(rowsIn(table), `${view} of ${caller}`).toEqual(freshRows(database, view, caller));
    database.takeLines();
    expect([...rows].sort()).toEqual(client.once(`SELECT * FROM ${view}`));
  }
}

describe('[ease 3.10] views that return a query', () => {
  it.each(someSeeds(1, 12))('are followed as they are asked afresh (seed %s)', async (seed) => {
    const run = new Run(seed, await CoreUnderTest.of(await buildText(moduleText)));
    run.steps(80);
    expect(run.refusals).toBeGreaterThan(0);
  });
});

/** The lines of EXPLAIN LIVE for a caller. */
function explained(database: CoreUnderTest, sql: string, caller = 1n): readonly string[] {
  const outcome = database.sql(`EXPLAIN LIVE ${sql}`, caller);
  if (outcome.kind === 'failed') throw new Error(JSON.stringify(outcome.error));
  const reader = new BinaryReader(outcome.rows);
  return Array.from({ length: outcome.rowCount }, () => reader.string());
}

describe('[ease 3.10] a view that returns a query', () => {
  const [ann, ben] = [0xa1n, 0xa2n] as const;
  const member = (id: number, who: bigint, team: number) => [3, id, who, team, 0];
  const task = (id: number, team: number, owner = 1n) => [1, id, owner, team, 0];
  const opened = async () => CoreUnderTest.of(await buildText(moduleText));

  it('is told with the reason by EXPLAIN LIVE', async () => {
    const database = await opened();
    database.run('write', [[7, 0, ben, 1, 0]]);
    const kept = (view: string, caller: bigint) =>
      explained(database, `SELECT * FROM ${view}`, caller).slice(3);
    expect(kept('team_tasks', ann)).toEqual([
      'the view team_tasks returns a query: its result follows the changed rows',
      '  changed rows of tables that you may not read find the query, too',
      '  its code is called again only if it has read what a commit changes',
    ]);
    expect(kept('team_tasks', 1n)).toEqual([
      'the view team_tasks returns a query: its result follows the changed rows',
      '  changed rows of member find the query by the value of member.who',
      '  changed rows of task find callers by member.who, once for all of them',
      '  its code is called again only if it has read what a commit changes',
    ]);
    expect(kept('tasks_of_loose', ann)).toEqual([
      'the view tasks_of_loose is called again if its result has read what a commit changes: ' +
        'no index finds the rows that are joined with its rows',
    ]);
    expect(kept('chosen_tasks', ann)).toEqual([
      'the view chosen_tasks is called again for each caller whose result has read what a commit ' +
        'changes: its code computes the rows',
    ]);
    expect(kept('chosen_tasks', ben)[1]).toBe(
      '  changed rows of task find the query by the value of task.team',
    );
  });

  it('sends callers who have gained the same row one list', async () => {
    const database = await opened();
    const clients = new CoreClients(database);
    database.run('write', [member(1, ann, 1), member(2, ben, 1), task(1, 2)]);
    const watching = [ann, ben].map((caller) => {
      const client = clients.connect(caller);
      client.subscribe(1, 'SELECT * FROM team_tasks');
      return client;
    });
    database.run('write', [task(2, 1), task(3, 2)]);
    const [commit] = clients.take();
    for (const { numbers } of watching) {
      expect(changesIn(database, commit, numbers[0])).toEqual(['+[2,1,["1n"],0]']);
    }
    const [one, other] = commit?.updates ?? [];
    expect(one?.changes).toBe(other?.changes);
  });

  it('shares its rows with callers who have the same, until they differ', async () => {
    const database = await opened();
    database.run('write', [member(1, ann, 1), member(2, ben, 1), task(1, 1), task(2, 2)]);
    const tableOf = (caller: bigint) => database.table('team_tasks', caller);
    expect(tableOf(ann)).toBe(tableOf(ben));
    database.run('write', [task(3, 1)]);
    expect(tableOf(ann)).toBe(tableOf(ben));
    database.run('write', [member(3, ben, 2)]);
    expect(rowsIn(tableOf(ann))).toHaveLength(2);
    expect(rowsIn(tableOf(ben))).toHaveLength(3);
    database.run('write', [task(4, 1), task(5, 2)]);
    expect(rowsIn(tableOf(ann))).toEqual(freshRows(database, 'team_tasks', ann));
    expect(rowsIn(tableOf(ben))).toEqual(freshRows(database, 'team_tasks', ben));
  });

  it('is called again for callers with equal rows at once, and is then shared again', async () => {
    const database = await opened();
    const loose = (id: number, team: number) => [5, id, ann, team, 0];
    const callers = [ann, ben, 0xa3n];
    const tables = () => callers.map((caller) => database.table('common_tasks', caller));
    expect(new Set(tables()).size).toBe(1);
    database.run('write', [loose(0, 1)]);
    expect(new Set(tables()).size).toBe(1);
    // Each still rests on what its own code has read.
    database.run('write', [task(1, 1, ann), [4, 0, ann, 0, 0]]);
    for (const caller of callers) {
      const fresh = freshRows(database, 'common_tasks', caller);
      expect(database.rows('common_tasks', caller)).toEqual(fresh);
    }
  });

  it("is no one else's where its query has the caller as a text", async () => {
    const database = await opened();
    const loose = (id: number, who: bigint) => [5, id, who, 0, 0];
    database.run('write', [loose(1, ann), loose(2, ben)]);
    for (const caller of [ann, ben]) database.rows('named_loose', caller);
    database.run('write', [loose(3, ann), loose(4, ben)]);
    for (const caller of [ann, ben]) {
      const rows = database.rows('named_loose', caller);
      expect(rows).toHaveLength(2);
      expect(rows).toEqual(freshRows(database, 'named_loose', caller));
    }
  });

  it('is seen by what is only tried, asked for before or in it, and is then as before', async () => {
    const database = await opened();
    const { core } = database;
    database.run('write', [member(1, ann, 1), member(2, ben, 1), task(1, 1)]);
    const before = database.rows('team_tasks', ann);
    tentatively(core, (transaction) => {
      const table = core.store.tableByName('task');
      if (table === undefined) throw new Error('there is a table');
      transaction.clear(table);
      expect(core.views.refresh(transaction, 1n, false)).toBeUndefined();
      expect(database.rows('team_tasks', ann)).toEqual([]);
      expect(database.rows('team_tasks', ben)).toEqual([]);
    });
    expect(database.rows('team_tasks', ann)).toEqual(before);
    expect(database.rows('team_tasks', ben)).toEqual(before);
    database.run('write', [task(2, 1)]);
    expect(database.rows('team_tasks', ben)).toEqual(freshRows(database, 'team_tasks', ben));
  });

  it('is as it was after a transaction that fails', async () => {
    const database = await opened();
    database.run('write', [member(1, ann, 1), task(1, 1)]);
    const before = database.rows('team_tasks', ann);
    expect(before).toHaveLength(1);
    database.call('write', [[task(2, 1), [0, 1, 0n, 0, 0], [9, 0, 0n, 0, 0]]]);
    expect(database.rows('team_tasks', ann)).toEqual(before);
    database.run('write', [task(3, 1)]);
    expect(database.rows('team_tasks', ann)).toHaveLength(2);
  });

  it('cannot have two rows with its key: the transaction fails', async () => {
    const database = await opened();
    database.run('write', [[1, 1, 1n, 1, 4]]);
    expect(database.rows('keyed_tasks')).toHaveLength(1);
    expect(database.call('write', [[[1, 2, 1n, 1, 4]]]).kind).toBe('aborted');
    const lines = database.takeLines().join();
    expect(lines).toContain('two different rows have the same value of the primary key `team`');
    const [gone, come] = [
      [0, 1, 0n, 0, 0],
      [1, 2, 1n, 1, 4],
    ];
    database.run('write', [come, gone]);
    expect(database.rows('keyed_tasks')).toEqual([[2, 1, [1n], 4]]);
  });

  it('follows what the code of another program returns', async () => {
    const database = await opened();
    database.run('write', [member(1, ann, 1), task(1, 1), task(2, 1, ann)]);
    expect(database.rows('own_tasks', ann)).toEqual([[2, 1, [ann], 0]]);
    const changed = moduleText.replace(
      'return ctx.from.task.where((each) => each.owner.eq(ctx.sender));\n});\nexport const notOwn',
      'return ctx.from.task.where((each) => each.id.eq(1));\n});\nexport const notOwn',
    );
    await database.update(await buildText(changed));
    expect(database.rows('own_tasks', ann)).toEqual([[1, 1, [1n], 0]]);
    database.run('write', [[0, 1, 0n, 0, 0], task(3, 1, ann)]);
    expect(database.rows('own_tasks', ann)).toEqual([]);
  });
});
