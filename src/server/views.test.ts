import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { publishedMicros } from '../../test/support/module-under-test.ts';
import { RunningModule } from '../../test/support/running-module.ts';

const folder = fileURLToPath(new URL('../../test/fixtures/modules/views', import.meta.url));

describe('views of a module', () => {
  let module: RunningModule;
  beforeAll(async () => {
    module = await RunningModule.of(folder);
    module.linesOf('put', [1, 0xa1n, 1, 10]);
    module.linesOf('put', [2, 0xa2n, 2, 5]);
    module.linesOf('setSecret', [3, 'hush']);
  });

  it('[module-sdk 6.3] know their sender', () => {
    expect(module.view('myHeroes', 0xa1n).rows).toEqual([[1, [0xa1n], 1, 10]]);
    expect(module.view('myHeroes', 0xa2n).rows).toEqual([[2, [0xa2n], 2, 5]]);
    expect(module.view('myHeroes', 0xa3n)).toMatchObject({ rows: [], lines: ['myHeroes runs'] });
  });

  it('[module-sdk 6.3] return an array, one row or none', () => {
    expect(module.view('everyone').rows).toHaveLength(2);
    expect(module.view('heroOne').rows).toEqual([[1, [0xa1n], 1, 10]]);
    module.linesOf('setControl', ['optional', 1]);
    expect(module.view('optional').rows).toEqual([]);
    module.linesOf('setControl', ['optional', 0]);
    expect(module.view('optional').rows).toEqual([]);
    module.linesOf('setControl', ['optional', 4]);
    expect(module.view('optional').rows).toEqual([['bare', 4n]]);
  });

  it('[module-sdk 10] return a query, with or without build()', () => {
    const text = 'SELECT * FROM "hero" WHERE "hero"."zone" = 2';
    expect(module.view('inZoneTwo').outcome).toMatchObject({ kind: 'sql', text });
    const secrets = module.view('innerSecrets').outcome;
    expect(secrets).toMatchObject({ kind: 'sql', text: 'SELECT * FROM "secret"' });
  });

  it('[module-sdk 6.3] read private tables', () => {
    expect(module.view('secrets').rows).toEqual([[3, 'hush']]);
  });

  it('[module-sdk 6.3, abi 11.1] have sender, db, from; handles read, and no event tables', () => {
    expect(module.view('meddling').rows.map((row) => (row as string[])[0])).toEqual([
      'byZoneLevel,count,id,iter,owner,zone',
      'filter',
      'db,from',
      'TypeError: a view cannot read the event table shout: its rows exist for one ' +
        'transaction only',
    ]);
  });

  it('[abi 3.6] see no clock and no randomness of their own', () => {
    const [first] = module.view('still').rows;
    expect(module.view('still').rows).toEqual([first]);
    expect(String((first as string[])[0])).toContain(String(publishedMicros / 1000n));
  });

  it('[module-sdk 6.3] say what they should have returned', () => {
    const messages = [1, 2, 3, 4, 5, 6, 7].map((value) => {
      module.linesOf('setControl', ['fragile', value]);
      const { outcome } = module.view('fragile');
      return outcome.kind === 'refused' || outcome.kind === 'crashed' ? outcome.message : '';
    });
    const wrong = 'Uncaught TypeError: view fragile must return an array or a query, but returned';
    expect(messages).toEqual([
      'in its own words',
      'Uncaught Error: a secret detail',
      `${wrong} an iterator: spread it, as in [...rows]`,
      `${wrong} an object: put a single row into [ ], or declare t.option(row)`,
      'Uncaught TypeError: view fragile.label: expected a string, got the number 5',
      `${wrong} a promise: views are synchronous`,
      `${wrong} undefined`,
    ]);
    module.linesOf('setControl', ['fragile', 0]);
    expect(module.view('fragile').rows).toEqual([]);
  });

  it('[module-sdk 6.3] with an optional row take neither a list nor a query', () => {
    const messages = [2, 3].map((value) => {
      module.linesOf('setControl', ['optional', value]);
      const { outcome } = module.view('optional');
      return outcome.kind === 'crashed' ? outcome.message : '';
    });
    expect(messages).toEqual([
      'Uncaught TypeError: view optional must return one row, undefined or null, ' +
        'but returned an array: declare t.array(row) for several rows',
      'Uncaught TypeError: view optional returned a query, but is declared with t.option: ' +
        'declare t.array for queries',
    ]);
  });
});

describe('what a view reads', () => {
  let module: RunningModule;
  beforeAll(async () => {
    module = await RunningModule.of(folder);
  });

  function readsOf(view: string, sender?: bigint): { tables: string[]; keys: string[] } {
    const { outcome } = module.view(view, sender);
    if (outcome.kind !== 'rows' && outcome.kind !== 'sql') throw new Error(outcome.message);
    const { store } = module.module;
    const { tables, keys } = outcome.reads;
    return {
      tables: [...tables].map((id) => store.table(id)?.spec.name ?? ''),
      keys: [...keys].map(([id, texts]) => `${store.index(id)?.spec.name} ${texts.size}`),
    };
  }

  it('[abi 11.3] is the whole table for a scan, a count and a range', () => {
    expect(readsOf('everyone')).toEqual({ tables: ['hero'], keys: [] });
    expect(readsOf('totals')).toEqual({ tables: ['hero'], keys: [] });
    expect(readsOf('strong')).toEqual({ tables: ['hero'], keys: [] });
  });

  it('[abi 11.3] is a key for a point look-up, also when nothing was found', () => {
    expect(readsOf('heroOne')).toEqual({ tables: [], keys: ['hero_id_idx_btree 1'] });
    expect(readsOf('myHeroes', 5n)).toEqual({ tables: [], keys: ['hero_owner_idx_btree 1'] });
  });

  it('[abi 8.2] is a key for a range whose bounds are one whole key', () => {
    expect(readsOf('exact')).toEqual({ tables: [], keys: ['hero_zone_level_idx_btree 1'] });
  });

  it('[abi 11.3] is nothing for a view that reads nothing', () => {
    expect(readsOf('oneRowTwice')).toEqual({ tables: [], keys: [] });
  });
});
