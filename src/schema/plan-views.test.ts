import { describe, expect, it } from 'vitest';
import {
  moduleOf,
  named,
  ref,
  type TableSketch,
  text,
  u32,
  u64,
} from '../../test/schema/module-builder.ts';
import { product, sum, unitType } from '../values/special-types.ts';
import type { AlgebraicType } from '../values/type.ts';
import { catalogOf } from './build-catalog.ts';
import { logLineOf } from './migration-log.ts';
import { planMigration } from './migration-plan.ts';
import { planText } from './plan-text.ts';
import type { RawModule, RawView } from './raw-module.ts';
import { validateModule } from './validate.ts';

const rows: TableSketch = { name: 't', columns: { id: u32, theName: text }, primaryKey: 'id' };

function view(parts: Partial<RawView> = {}): RawView {
  return {
    sourceName: 'v',
    index: 0,
    isPublic: true,
    isAnonymous: true,
    params: product(),
    returnType: { kind: 'array', element: ref(1) },
    ...parts,
  };
}

/** A module with one table and, by default, one view of rows of its own. */
function module(parts: Partial<RawModule> = {}, columns: Record<string, AlgebraicType> = {}) {
  const row = product(...Object.entries({ id: u32, name: text, ...columns }));
  const typespace = { types: [row, sum(['A', u64]), sum(['A', u64], ['B', unitType])] };
  const types = [named('ViewRow', 1), named('One', 2), named('Two', 3)];
  return moduleOf([rows], { views: [view()], typespace, types, ...parts });
}

function planned(old: RawModule, next: RawModule) {
  const before = validateModule(old);
  const after = validateModule(next);
  const plan = planMigration(before, after);
  if (plan.kind === 'manual') throw new Error(plan.reason);
  const first = catalogOf(before);
  const isSame =
    JSON.stringify(first, bigints) === JSON.stringify(catalogOf(after, first), bigints);
  const hasFilterSteps = plan.steps.some(({ kind }) => kind.endsWith('RowFilter'));
  if (!hasFilterSteps) expect(plan.steps.length === 0).toBe(isSame);
  return {
    kinds: plan.steps.map(({ kind }) => kind),
    breaksClients: plan.breaksClients,
    lines: plan.steps.map(logLineOf).filter((line) => line !== undefined),
    entries: planText(plan.steps, 'plain').split('\n').slice(4, -1),
  };
}

function bigints(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

const warning = '!!! Warning: All clients will be disconnected due to breaking schema changes';

describe('views', () => {
  it('[migrations 2.2] adding a view is silent', () => {
    const { kinds, breaksClients, entries, lines } = planned(module({ views: [] }), module());
    expect(kinds).toEqual(['addView']);
    expect(breaksClients).toBe(false);
    expect(entries).toEqual([
      '▸ ▸ Created anonymous view: v',
      '    Columns:',
      '        • id: U32',
      '        • name: String',
    ]);
    expect(lines).toEqual([]);
  });

  it('[migrations 2.2] removing a view disconnects clients', () => {
    const { kinds, breaksClients, entries } = planned(module(), module({ views: [] }));
    expect(kinds).toEqual(['removeView', 'disconnectClients']);
    expect(breaksClients).toBe(true);
    expect(entries.at(0)).toBe('▸ ▸ Removed anonymous view: v');
    expect(entries.at(-1)).toBe(warning);
  });

  it('[migrations 2.2] a renamed view is removed and added', () => {
    const next = module({ views: [view({ sourceName: 'w' })] });
    expect(planned(module(), next).kinds).toEqual(['removeView', 'addView', 'disconnectClients']);
  });

  it.each([
    ['a column more', module({}, { more: u32 })],
    ['a column of another type', module({}, { name: u64 })],
    ['columns in another order', reordered()],
    ['rows per caller', module({ views: [view({ isAnonymous: false })] })],
    ['a key', module({ viewPrimaryKeys: [{ viewName: 'v', columns: ['id'] }] })],
  ])('[migrations 2.2] a view that gets %s is dropped and created', (_, next) => {
    const swap = ['removeView', 'addView', 'disconnectClients'];
    expect(planned(module(), next).kinds).toEqual(swap);
    expect(planned(next, module()).kinds).toEqual(swap);
  });

  it('[migrations 2.2] a variant more in a column of a view makes it another view', () => {
    const old = module({}, { choice: ref(2) });
    const next = module({}, { choice: ref(3) });
    expect(planned(old, next).kinds).toEqual(['removeView', 'addView', 'disconnectClients']);
  });

  it('[migrations 2.2] what only the body returns differently is not compared', () => {
    const asOption = module({ views: [view({ returnType: optionOf(ref(1)) })] });
    expect(planned(module(), asOption).kinds).toEqual([]);
    const asQuery = module({ views: [view({ returnType: product(['__query__', ref(1)]) })] });
    expect(planned(module(), asQuery).kinds).toEqual([]);
    expect(planned(module(), module({ views: [view({ index: 4 })] })).kinds).toEqual([]);
  });

  it('[migrations 2.2] access and spellings of a view change silently', () => {
    const hidden = planned(module(), module({ views: [view({ isPublic: false })] }));
    expect(hidden).toMatchObject({ kinds: ['changeAccess'], breaksClients: false });
    expect(hidden.entries).toEqual(['▸ Changed access for table v (public → private)']);
    const shown = planned(module({ views: [view({ isPublic: false })] }), module());
    expect(shown.entries).toEqual(['▸ Changed access for table v (private → public)']);

    const spelled = planned(
      module({ views: [view({ sourceName: 'myView' })] }, { theAge: u32 }),
      module({ views: [view({ sourceName: 'my_view' })] }, { the_age: u32 }),
    );
    expect(spelled.breaksClients).toBe(false);
    expect(spelled.entries).toEqual([
      '▸ Changed table accessor name for my_view',
      '▸ Changed column accessor name for my_view.the_age',
    ]);
  });

  it('[migrations 5] a sender view has no `anonymous` before it', () => {
    const next = module({ views: [view({ isAnonymous: false })] });
    expect(planned(module({ views: [] }), next).entries[0]).toBe('▸ ▸ Created view: v');
  });

  function reordered(): RawModule {
    const types = [product(['name', text], ['id', u32]), unitType, unitType];
    return module({ typespace: { types } });
  }

  function optionOf(type: AlgebraicType): AlgebraicType {
    return sum(['some', type], ['none', unitType]);
  }
});

describe('row-level security', () => {
  const one = 'SELECT * FROM t WHERE id = 1';
  const two = 'SELECT * FROM t WHERE id = 2';

  it('[migrations 2.2] the same set in another order is no change', () => {
    const { kinds } = planned(
      module({ rowLevelSecurity: [one, two] }),
      module({ rowLevelSecurity: [two, one] }),
    );
    expect(kinds).toEqual([]);
  });

  it.each([
    ['one more', [one], [one, two], ['addRowFilter']],
    ['one less', [one, two], [two], ['removeRowFilter']],
    ['another', [one], [two], ['removeRowFilter', 'addRowFilter']],
  ])('[migrations 2.2] %s disconnects clients', (_, old, next, kinds) => {
    const plan = planned(module({ rowLevelSecurity: old }), module({ rowLevelSecurity: next }));
    expect(plan.kinds).toEqual([...kinds, 'disconnectClients']);
    expect(plan.breaksClients).toBe(true);
  });

  it('[migrations 5, 7] the texts quote the filter', () => {
    const plan = planned(module({ rowLevelSecurity: [one] }), module({ rowLevelSecurity: [two] }));
    expect(plan.entries).toEqual([
      '▸ Removed row level security policy:',
      `    \`${one}\``,
      '▸ Created row level security policy:',
      `    \`${two}\``,
      warning,
    ]);
    expect(plan.lines).toEqual([
      `Removing row-level security \`${one}\``,
      `Adding row-level security \`${two}\``,
      'Disconnecting all users',
    ]);
  });
});

describe('the order of steps', () => {
  it('[migrations 2.1] has views and filters in their places', () => {
    const old = moduleOf([rows, { name: 'gone', columns: { a: u32 } }], {
      views: [view({ sourceName: 'old', returnType: { kind: 'array', element: ref(0) } })],
      rowLevelSecurity: ['SELECT * FROM gone'],
    });
    const born: TableSketch = { name: 'born', columns: { a: u32 }, autoInc: ['a'] };
    const next = moduleOf([{ ...rows, access: 'private', autoInc: ['id'] }, born], {
      views: [view({ sourceName: 'new', returnType: { kind: 'array', element: ref(0) } })],
      rowLevelSecurity: ['SELECT * FROM born'],
    });
    expect(planned(old, next).kinds).toEqual([
      'removeView',
      'removeRowFilter',
      'removeTable',
      'addTable',
      'addSequence',
      'addView',
      'addRowFilter',
      'changeAccess',
      'disconnectClients',
    ]);
  });
});

describe('ids of views', () => {
  const ids = (catalog: ReturnType<typeof catalogOf>) => {
    return catalog.views.map(({ id, name, indexes }) => [name, id, indexes[0]?.id]);
  };
  const keyed = [{ viewName: 'v', columns: ['id'] }];
  const second = view({ sourceName: 'a' });

  it('[module-def 8] come after those of tables, and stay while the signature stays', () => {
    const first = catalogOf(validateModule(module({ viewPrimaryKeys: keyed })));
    // The table has 4096; its index and constraint follow the view.
    expect(ids(first)).toEqual([['v', 4097, 4100]]);
    const more = module({ views: [view(), second], viewPrimaryKeys: keyed });
    const next = catalogOf(validateModule(more), first);
    expect(ids(next)).toEqual([
      ['a', 4102, undefined],
      ['v', 4097, 4100],
    ]);
  });

  it('are new for a view whose signature changed, and never given out again', () => {
    const first = catalogOf(validateModule(module()));
    const other = catalogOf(validateModule(module({}, { more: u32 })), first);
    expect(ids(other)).toEqual([['v', first.nextId, undefined]]);
    const back = catalogOf(validateModule(module()), other);
    expect(ids(back)).toEqual([['v', other.nextId, undefined]]);
  });

  it('lead to a unique index on the key column', () => {
    const { views } = catalogOf(validateModule(module({ viewPrimaryKeys: keyed })));
    expect(views).toMatchObject([
      {
        primaryKey: 0,
        indexes: [{ name: 'v_id_idx_btree', algorithm: 'btree', columns: [0], isUnique: true }],
        constraints: [{ name: 'v_id_key', columns: [0] }],
      },
    ]);
  });
});
