import { fileURLToPath } from 'node:url';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CoreUnderTest, ownerIdentity } from '../../../test/support/core-under-test.ts';
import { buildModule } from '../../bundle/build-module.ts';
import { limits } from '../../limits.ts';
import { viewId } from '../../schema/ids.ts';
import { noRow } from '../../store/row-ref.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import type { ProgramSource } from '../program-source.ts';
import { noProgress } from '../progress.ts';
import { viewProgramOf } from './served-views.ts';
import { ViewInstances } from './view-instances.ts';

const folder = fileURLToPath(new URL('../../../test/fixtures/modules/views', import.meta.url));
let program: ProgramSource;
beforeAll(async () => {
  program = { kind: 'js', bytes: (await buildModule(folder)).program };
});

let database: CoreUnderTest;
beforeEach(async () => {
  database = await CoreUnderTest.of(program);
  database.run('put', 1, 0xa1n, 1, 10);
  database.run('put', 2, 0xa2n, 2, 5);
  database.takeLines();
});

const first = [1, [0xa1n], 1, 10];
const second = [2, [0xa2n], 2, 5];

describe('the result of a view', () => {
  it('[sql 10.2, abi 11.1] is the rows of the caller, or of all', () => {
    expect(database.rows('my_heroes', 0xa1n)).toEqual([first]);
    expect(database.rows('my_heroes', 0xa2n)).toEqual([second]);
    expect(database.rows('my_heroes')).toEqual([]);
    expect(database.rows('everyone', 0xa1n)).toEqual([first, second]);
    expect(database.table('everyone', 0xa1n)).toBe(database.table('everyone', 0xa2n));
    expect(database.table('my_heroes', 0xa1n)).not.toBe(database.table('my_heroes', 0xa2n));
  });

  it('[sql 10.2] is evaluated at first use, and not again while nothing it read changes', () => {
    expect(database.rows('hero_one')).toEqual([first]);
    expect(database.rows('hero_one', 5n)).toEqual([first]);
    database.run('put', 3, 0xa3n, 1, 1);
    database.run('touch_nothing');
    expect(database.rows('hero_one')).toEqual([first]);
    expect(database.takeLines()).toEqual(['heroOne runs']);
  });

  it('[sql 10.2] is a set', () => {
    expect(database.rows('one_row_twice')).toEqual([['again']]);
  });

  it('[sql 10.2] shows private tables', () => {
    database.run('set_secret', 4, 'hush');
    expect(database.rows('secrets', 0xa1n)).toEqual([[4, 'hush']]);
    expect(database.rows('inner_secrets', 0xa1n)).toEqual([[4, 'hush']]);
  });

  it('[module-sdk 6.3] may be an optional row', () => {
    expect(database.rows('optional')).toEqual([]);
    database.run('set_control', 'optional', 4);
    expect(database.rows('optional')).toEqual([['bare', 4n]]);
  });

  it('[abi 11.2] may be given by a query', () => {
    expect(database.rows('in_zone_two')).toEqual([second]);
    database.run('put', 1, 0xa1n, 2, 10);
    expect(database.rows('in_zone_two')).toEqual([[1, [0xa1n], 2, 10], second]);
  });

  it('[abi 11.2] may be given by a join of tables, and rests on both', () => {
    expect(database.rows('secret_zones')).toEqual([]);
    database.run('set_secret', 2, 'dragons');
    expect(database.rows('secret_zones')).toEqual([second]);
    database.run('put', 1, 0xa1n, 2, 10);
    expect(database.rows('secret_zones')).toEqual([[1, [0xa1n], 2, 10], second]);
  });

  it('[abi 11.2] is empty for a blank query', () => {
    expect(database.rows('written')).toEqual([]);
  });

  it('[abi 11.2] has the type that the view declares', () => {
    expect(() => database.rows('misfit')).toThrow(
      'Error materializing view `misfit`: query returns `(id: U32, text: String)` ' +
        'but view expects ' +
        '`(id: U32, owner: (__identity__: U256), zone: U32, level: U32)`',
    );
  });

  it('[abi 11.2] rests on tables that keep their rows, not on views', () => {
    expect(() => database.rows('shouts')).toThrow('views cannot read the event table `shout`');
    database.run('set_control', 'any', 1);
    expect(() => database.rows('written')).toThrow(
      'Error materializing view `written`: view definition cannot read from other views',
    );
  });

  it('[abi 11.2] has a key when it declares one', () => {
    expect(database.table('totals').indexes.map(({ isUnique }) => isUnique)).toEqual([true]);
    expect(database.table('one_row_twice').indexes).toEqual([]);
  });

  it('tells the watcher of the thread that a view runs', () => {
    database.rows('everyone');
    database.run('remove', 1);
    expect(database.told).toEqual(['viewing', 'viewed', 'viewing', 'viewed']);
  });
});

describe('a write', () => {
  it('[abi 11.3] to a key has only the views of that key evaluated again', () => {
    database.rows('my_heroes', 0xa1n);
    database.rows('my_heroes', 0xa2n);
    database.rows('hero_one');
    database.takeLines();
    database.run('put', 3, 0xa1n, 3, 3);
    expect(database.takeLines()).toEqual(['myHeroes runs']);
    expect(database.rows('my_heroes', 0xa1n)).toEqual([first, [3, [0xa1n], 3, 3]]);
    database.run('remove', 2);
    expect(database.takeLines()).toEqual(['myHeroes runs']);
    expect(database.rows('my_heroes', 0xa2n)).toEqual([]);
  });

  it('[abi 11.3] of a row with a key that was not found has the view evaluated again', () => {
    database.run('remove', 1);
    expect(database.rows('hero_one')).toEqual([]);
    database.run('put', 1, 0xa1n, 1, 10);
    expect(database.takeLines()).toEqual(['heroOne runs', 'heroOne runs']);
    expect(database.rows('hero_one')).toEqual([first]);
  });

  it('[abi 11.3] moves a row from one key to the other: both views are evaluated', () => {
    database.rows('my_heroes', 0xa1n);
    database.rows('my_heroes', 0xa2n);
    database.run('put', 1, 0xa2n, 1, 10);
    expect(database.takeLines()).toHaveLength(4);
    expect(database.rows('my_heroes', 0xa1n)).toEqual([]);
    expect(database.rows('my_heroes', 0xa2n)).toEqual([[1, [0xa2n], 1, 10], second]);
  });

  it('[abi 11.3] to a table has the views evaluated that read it as a whole', () => {
    expect(database.rows('everyone')).toEqual([first, second]);
    expect(database.rows('totals')).toEqual([['all', 2n]]);
    expect(database.rows('strong')).toEqual([first]);
    expect(database.rows('exact')).toEqual([first]);
    database.run('put', 3, 0xa3n, 1, 30);
    expect(database.rows('totals')).toEqual([['all', 3n]]);
    expect(database.rows('strong')).toEqual([first, [3, [0xa3n], 1, 30]]);
    expect(database.rows('exact')).toEqual([first]);
    expect(database.takeLines()).toEqual(['everyone runs', 'everyone runs']);
  });

  it('[abi 11.3] by SQL counts as well', () => {
    database.rows('my_heroes', 0xa1n);
    database.rows('in_zone_two');
    expect(database.sql('DELETE FROM hero WHERE id = 1')).toMatchObject({ deleted: 1 });
    expect(database.rows('my_heroes', 0xa1n)).toEqual([]);
    expect(database.sql('UPDATE hero SET level = 6 WHERE id = 2')).toMatchObject({ updated: 1 });
    expect(database.rows('in_zone_two')).toEqual([[2, [0xa2n], 2, 6]]);
  });

  it('[abi 11.3] that is rolled back leaves the views as they were', () => {
    database.rows('hero_one');
    const outcome = database.call('refuse', [1]);
    expect(outcome).toMatchObject({ error: { code: 'reducer.refused' } });
    expect(database.rows('hero_one')).toEqual([first]);
    expect(database.takeLines()).toEqual(['heroOne runs', 'refused']);
  });
});

describe('a read that pauses', () => {
  it('goes on with the rows that the view had, whatever it gives meanwhile', () => {
    const table = database.table('everyone');
    const pin = table.pin();
    database.run('remove', 1);
    database.run('put', 3, 0xa3n, 3, 3);
    expect(database.rows('everyone')).toHaveLength(2);
    const ids: (number | undefined)[] = [];
    for (let ref = pin.nextRow(noRow); ref !== noRow; ref = pin.nextRow(ref)) {
      ids.push(table.pageOf(ref)[table.offsetOf(ref)]);
    }
    expect(ids.sort()).toEqual([1, 2]);
    expect(pin.heldBytes).toBeGreaterThan(0);
    pin.release();
    expect(database.rows('everyone')).toEqual([second, [3, [0xa3n], 3, 3]]);
  });
});

describe('a view that fails', () => {
  const generic = 'The instance encountered a fatal error.';
  const texts: readonly (readonly [number, string])[] = [
    [1, 'in its own words'],
    [2, generic],
    [5, generic],
  ];

  it('[sql 8.4] fails the statement that reads it, and is in the log of its module', () => {
    for (const [value, reason] of texts) {
      database.run('set_control', 'fragile', value);
      expect(() => database.rows('fragile')).toThrow(
        'The module instance encountered a fatal error: ' +
          `Error materializing view \`fragile\`: ${reason}`,
      );
    }
    const logged = database.lines.map(({ level, functionName }) => `${level} ${functionName}`);
    expect(logged).toEqual(['info fragile', 'panic fragile', 'panic fragile']);
    database.run('set_control', 'fragile', 0);
    expect(database.rows('fragile')).toEqual([]);
  });

  it('[abi 10.3] fails the reducer that makes it fail, which is rolled back', () => {
    database.rows('fragile');
    database.rows('everyone');
    const outcome = database.call('set_control', ['fragile', 2]);
    expect(outcome).toMatchObject({ kind: 'aborted', error: { code: 'reducer.crashed' } });
    expect(database.core.store.tableByName('control')?.rowCount).toBe(0);
    expect(database.rows('fragile')).toEqual([]);
    database.run('put', 3, 0xa3n, 3, 3);
    expect(database.rows('everyone')).toHaveLength(3);
  });

  it('[sql 8.4] fails the statement that makes it fail, which is rolled back', () => {
    database.rows('keyed');
    const before = database.core.store.offset;
    const outcome = database.sql("INSERT INTO control (name, value) VALUES ('keyed', 2)");
    expect(outcome).toMatchObject({
      kind: 'failed',
      error: {
        message:
          'The module instance encountered a fatal error: Error materializing view `keyed`: ' +
          'two different rows have the same value of the primary key `label`',
      },
    });
    expect(database.core.store.tableByName('control')?.rowCount).toBe(0);
    // A statement runs within a connection that connects and disconnects.
    expect(database.core.store.offset).toBe(before + 2);
    expect(database.rows('keyed')).toEqual([['same', 0n]]);
  });

  it('[subscriptions 11] leaves the others as they were in the same transaction', () => {
    database.rows('everyone');
    database.rows('fragile');
    database.sql("INSERT INTO control (name, value) VALUES ('fragile', 1)");
    database.run('remove', 1);
    expect(database.rows('everyone')).toEqual([second]);
  });

  it('[durability 7] cannot hold the host back: it is dropped and evaluated when asked for', () => {
    const { store, views } = database.core;
    database.rows('fragile');
    const transaction = store.begin();
    const control = store.tableByName('control');
    if (control === undefined) throw new Error('there is a table');
    const row = Uint8Array.from([7, 0, 0, 0, ...Buffer.from('fragile'), 2, 0, 0, 0]);
    expect(transaction.insert(control, row, row.length)).toBe(0);
    expect(views.refresh(transaction, database.clock.nowMicros(), true)).toBeUndefined();
    transaction.commit();
    expect(views.commit()).toEqual([]);
    expect(views.count).toBe(0);
    expect(() => database.rows('fragile')).toThrow('Error materializing view');
  });
});

describe('what a refresh changed', () => {
  it('[subscriptions 11] is the difference of rows, for each instance that has one', () => {
    const { store, views } = database.core;
    database.rows('my_heroes', 0xa1n);
    database.rows('everyone');
    database.rows('totals');
    const transaction = store.begin();
    const hero = store.tableByName('hero');
    if (hero === undefined) throw new Error('there is a table');
    transaction.clear(hero);
    views.refresh(transaction, database.clock.nowMicros(), false);
    transaction.commit();
    const counts = views.commit().map(({ viewId, sender, inserts, deletes }) => {
      return [viewId, sender, inserts.count, deletes.count];
    });
    expect(counts).toEqual([
      [database.viewId('my_heroes'), 0xa1n, 0, 1],
      [database.viewId('everyone'), undefined, 0, 2],
      [database.viewId('totals'), undefined, 1, 1],
    ]);
  });

  it('[subscriptions 11] is nothing when the rows are the same', () => {
    const { store, views } = database.core;
    database.rows('totals');
    const hero = store.tableByName('hero');
    if (hero === undefined) throw new Error('there is a table');
    const transaction = store.begin();
    const row = new Uint8Array(44);
    row[0] = 9;
    transaction.deleteRef(hero, hero.nextRow(noRow));
    expect(transaction.insert(hero, row, row.length)).toBe(0);
    views.refresh(transaction, database.clock.nowMicros(), false);
    transaction.commit();
    expect(views.commit()).toEqual([]);
  });
});

describe('how long a result is kept', () => {
  const minute = 60_000;

  it('[sql 10.2] is ten minutes after its last use', () => {
    database.rows('hero_one');
    database.clock.advance(9 * minute);
    database.rows('hero_one');
    database.clock.advance(9 * minute);
    database.run('put', 1, 0xa1n, 1, 11);
    expect(database.takeLines()).toEqual(['heroOne runs', 'heroOne runs']);
    database.clock.advance(minute);
    database.run('put', 1, 0xa1n, 1, 12);
    expect(database.takeLines()).toEqual([]);
    expect(database.core.views.count).toBe(0);
    expect(database.core.views.bytes).toBe(0);
    expect(database.rows('hero_one')).toEqual([[1, [0xa1n], 1, 12]]);
  });

  it('[limits] ends before for those that were not used for longest, when there are many', () => {
    for (let caller = 0; caller < limits.viewInstancesMax + 5; caller += 1) {
      database.table('my_heroes', 10_000n + BigInt(caller));
    }
    expect(database.core.views.count).toBe(limits.viewInstancesMax);
    database.takeLines();
    database.rows('my_heroes', 10_005n);
    expect(database.takeLines()).toEqual([]);
    database.rows('my_heroes', 10_000n);
    expect(database.takeLines()).toEqual(['myHeroes runs']);
  });
});

describe('an update of the program', () => {
  const changed = async (from: string, to: string): Promise<ProgramSource> => {
    const text = new TextDecoder().decode(program.bytes);
    const next = text.replaceAll(from, to);
    expect(next).not.toBe(text);
    return { kind: 'js', bytes: new TextEncoder().encode(next) };
  };

  it('[migrations 2.3] has live views evaluated by the new code', async () => {
    database.rows('totals');
    database.rows('hero_one');
    database.takeLines();
    await database.update(await changed('label: "all"', 'label: "every one"'));
    expect(database.takeLines()).toContain('heroOne runs');
    expect(database.rows('totals')).toEqual([['every one', 2n]]);
    expect(database.takeLines()).toEqual([]);
    database.run('remove', 1);
    expect(database.rows('totals')).toEqual([['every one', 1n]]);
    expect(database.rows('hero_one')).toEqual([]);
  });

  it('[migrations 2.3] fails when a live view traps in the new code', async () => {
    const before = database.core.store.offset;
    database.rows('totals');
    const trap = await changed('label: "all"', 'label: missing()');
    await expect(database.update(trap)).rejects.toThrow(
      'Failed to create or update the database: ' +
        'Trapped while evaluating views during database update',
    );
    expect(database.core.store.offset).toBe(before);
    expect(database.rows('totals')).toEqual([['all', 2n]]);
    database.run('remove', 1);
    expect(database.rows('totals')).toEqual([['all', 1n]]);
  });

  it('[migrations 2.3] fails when a live view is refused in the new code', async () => {
    database.rows('fragile');
    const refusing = await changed('case 1:', 'case 0:');
    await expect(database.update(refusing)).rejects.toThrow(
      'Views evaluation did not complete successfully during database update: ' +
        'Error materializing view `fragile`: in its own words',
    );
    expect(database.rows('fragile')).toEqual([]);
  });

  it('[migrations 2.3] does not mind views that nobody has asked for', async () => {
    await database.update(await changed('label: "all"', 'label: missing()'));
    expect(() => database.rows('totals')).toThrow('fatal error');
  });

  it('[migrations 2.2] drops the results of views whose signature has changed', async () => {
    database.rows('totals');
    database.rows('everyone');
    await database.update(await changed('"Total", { label:', '"Total", { title:'));
    expect(database.core.views.count).toBe(1);
    expect(() => database.rows('totals')).toThrow('fatal error');
    expect(database.rows('everyone')).toEqual([first, second]);
    expect(database.rows('my_heroes', ownerIdentity)).toEqual([]);
  });
});

describe('results that are held', () => {
  const viewIds = (...names: string[]) => names.map((name) => database.viewId(name));

  it('stay until they are released as often, beyond all limits of others', () => {
    const { views } = database.core;
    const held = viewIds('my_heroes', 'everyone');
    database.rows('my_heroes', 0xa1n);
    const table = database.table('everyone', 0xa1n);
    expect(views.hold(held, callerIdentity(0xa1n))).toBe(true);
    expect(views.hold(held, callerIdentity(0xa1n))).toBe(true);
    database.clock.advance(2 * limits.viewIdleMillisMax);
    database.run('put', 3, 0xa1n, 1, 1);
    views.release(held, callerIdentity(0xa1n), database.clock.nowMicros());
    database.clock.advance(2 * limits.viewIdleMillisMax);
    database.run('put', 4, 0xa1n, 1, 1);
    expect(views.count).toBe(2);
    expect(database.table('everyone')).toBe(table);
    expect(database.rows('everyone')).toHaveLength(4);
    views.release(held, callerIdentity(0xa1n), database.clock.nowMicros());
    database.clock.advance(2 * limits.viewIdleMillisMax);
    database.run('put', 5, 0xa1n, 1, 1);
    expect(views.count).toBe(0);
  });

  it('are bounded in number and memory', () => {
    const { core } = database;
    const { runner, definition, sql } = core.program;
    const options = {
      store: core.store,
      report: core.report,
      progress: noProgress,
      program: viewProgramOf(runner, definition, sql),
      runQuery: () => ({ kind: 'invalid', message: 'not asked' }) as const,
    };
    const [everyone = viewId(0), one = viewId(0)] = viewIds('everyone', 'hero_one');
    const few = new ViewInstances({ ...options, instancesMax: 1 });
    const small = new ViewInstances({ ...options, bytesMax: 35_000 });
    for (const views of [few, small]) {
      expect(views.prepare([everyone, one], callerIdentity(1n), 1n)).toBe(undefined);
      expect(views.hold([everyone, one], callerIdentity(1n))).toBe(false);
      expect(views.hold([everyone], callerIdentity(1n))).toBe(true);
      expect(views.hold([everyone], callerIdentity(1n))).toBe(true);
      expect(views.hold([one], callerIdentity(1n))).toBe(false);
      views.release([everyone], callerIdentity(1n), 2n);
      views.release([everyone], callerIdentity(1n), 2n);
      expect(views.prepare([one], callerIdentity(1n), 2n)).toBe(undefined);
      expect(views.hold([one], callerIdentity(1n))).toBe(true);
    }
  });
});
