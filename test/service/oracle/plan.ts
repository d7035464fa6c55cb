import type { Random } from '../../../src/testing/random.ts';
import { identityType } from '../../../src/values/special-types.ts';
import type { AlgebraicType, ProductType, ScalarKind } from '../../../src/values/type.ts';

/**
 * A random module. All its tables have the same columns, so that queries are easily made; their
 * types, keys and indexes differ.
 */
export interface Plan {
  readonly tables: readonly TablePlan[];
  /** `SELECT` texts of row-level security: `own` and, sometimes, what everybody sees besides. */
  readonly filtered: string;
  readonly hasTwoFilters: boolean;
}

export interface TablePlan {
  readonly name: string;
  readonly isPublic: boolean;
  readonly id: { readonly kind: ScalarKind; readonly key: IdKey };
  readonly a: 'btree' | 'hash';
  readonly hasPairIndex: boolean;
  readonly whoIsIndexed: boolean;
  readonly extra: 'bool' | 'f64' | 'i64' | 'string';
}

type IdKey = 'primary' | 'unique' | 'index' | 'none';

/** A row as JSON has it, in the order of the columns. */
export type Row = readonly [
  id: number | string,
  a: number,
  b: number,
  text: string,
  who: readonly [string],
  extra: unknown,
];

export const columnNames = ['id', 'a', 'b', 'text', 'who', 'extra'] as const;

/** What views show, by the version of the program. */
export const zoneOfView = { one: 1, two: 2 } as const;
export type ProgramVersion = keyof typeof zoneOfView;

export const viewNames = ['mine', 'zone'] as const;

export function makePlan(random: Random): Plan {
  const tables = ['alpha', 'beta', 'gamma'].map((name): TablePlan => {
    return {
      name,
      isPublic: true,
      id: {
        kind: random.pick(['u32', 'string', 'i64', 'u8'] as const),
        // What the views are made of has a primary key.
        key:
          name === 'alpha'
            ? 'primary'
            : random.pick(['primary', 'unique', 'index', 'none'] as const),
      },
      a: random.pick(['btree', 'hash'] as const),
      hasPairIndex: random.chance(0.5),
      whoIsIndexed: name === 'alpha' || random.chance(0.5),
      extra: random.pick(['bool', 'f64', 'i64', 'string'] as const),
    };
  });
  const hidden = { ...(tables[1] as TablePlan), name: 'hidden', isPublic: false };
  return {
    tables: [...tables, hidden],
    filtered: 'gamma',
    hasTwoFilters: random.chance(0.5),
  };
}

/** The tables and views that a client may hear of, by name. */
export function relationsOf({ tables }: Plan): Map<string, TablePlan> {
  const relations = new Map(tables.map((table) => [table.name, table]));
  for (const name of viewNames) relations.set(name, tables[0] as TablePlan);
  return relations;
}

export function rowTypeOf({ id, extra }: TablePlan): ProductType {
  const types: Record<(typeof columnNames)[number], AlgebraicType> = {
    id: { kind: id.kind },
    a: { kind: 'u32' },
    b: { kind: 'i32' },
    text: { kind: 'string' },
    who: identityType,
    extra: { kind: extra },
  };
  return { kind: 'product', elements: columnNames.map((name) => ({ name, type: types[name] })) };
}

export const clockType: ProductType = {
  kind: 'product',
  elements: [
    { name: 'id', type: { kind: 'u32' } },
    { name: 'n', type: { kind: 'u32' } },
  ],
};

export const bellType: ProductType = {
  kind: 'product',
  elements: [
    { name: 'n', type: { kind: 'u32' } },
    { name: 'tune', type: { kind: 'string' } },
  ],
};

/** The value of a table's id for a small number. */
export function idOf({ id }: TablePlan, number: number): number | string {
  return id.kind === 'string' ? `k${number}` : number;
}

export function extraOf({ extra }: TablePlan, number: number): unknown {
  switch (extra) {
    case 'bool':
      return number % 2 === 0;
    case 'string':
      return `x${number % 3}`;
    case 'f64':
      return (number % 3) + 0.5;
    case 'i64':
      return -(number % 3);
  }
}

/** The whole text of the module. */
export function sourceOf(plan: Plan, version: ProgramVersion): string {
  const names = plan.tables.map(({ name }) => name);
  return `
    import { SenderError, schema, t, table } from 'reducerdb/server';
    ${plan.tables.map(tableText).join('\n')}
    const clock = table({ public: true }, { id: t.u32().primaryKey(), n: t.u32() });
    const journal = table({}, {
      n: t.u32().primaryKey(), tag: t.u32(), who: t.identity(), script: t.string(),
    });
    const bell = table({ public: true, event: true }, { n: t.u32(), tune: t.string() });
    const db = schema({ ${[...names, 'clock', 'journal', 'bell'].join(', ')} });
    export default db;
    ${filtersOf(plan)
      .map(
        (sql, at) => `export const f${at} = db.clientVisibilityFilter.sql(${JSON.stringify(sql)});`,
      )
      .join('\n')}
    const rows = t.array(alpha.rowType);
    export const mine = db.view({ public: true }, rows, (ctx) => [
      ...ctx.db.alpha.who.filter(ctx.sender),
    ]);
    export const zone = db.anonymousView({ public: true }, rows, (ctx) => [
      ...ctx.db.alpha.a.filter(${zoneOfView[version]}),
    ]);
    const tables: any = (ctx: any) => ctx.db;
    const integers: any = { ${plan.tables
      .map(({ name, id, extra }) => `${name}: [${id.kind === 'i64'}, ${extra === 'i64'}]`)
      .join(', ')} };
    const unique: any = { ${plan.tables
      .map(({ name, id }) => `${name}: ${id.key === 'primary' || id.key === 'unique'}`)
      .join(', ')} };
    function put(ctx: any, name: string, row: any): void {
      const [bigId, bigExtra] = integers[name];
      const id = bigId ? BigInt(row.id) : row.id;
      const extra = bigExtra ? BigInt(row.extra) : row.extra;
      if (unique[name]) ctx.db[name].id.delete(id);
      ctx.db[name].insert({ ...row, id, extra, who: ctx.sender });
    }
    function tick(ctx: any): number {
      const { clock } = ctx.db;
      const before = clock.id.find(0);
      const row = { id: 0, n: (before?.n ?? 0) + 1 };
      if (before === null) clock.insert(row);
      else clock.id.update(row);
      return row.n;
    }
    export const run = db.reducer({ tag: t.u32(), script: t.string() }, (ctx, { tag, script }) => {
      const n = tick(ctx);
      for (const [kind, name, value] of JSON.parse(script)) {
        if (kind === 'put') put(ctx, name, value);
        else if (kind === 'cut') {
          for (const row of [...tables(ctx)[name].a.filter(value)]) tables(ctx)[name].delete(row);
        } else if (kind === 'ring') ctx.db.bell.insert({ n, tune: value });
        else if (kind === 'fail') throw new SenderError(value);
        else throw new TypeError('a detail');
      }
      ctx.db.journal.insert({ n, tag, who: ctx.sender, script });
    });
    export const onConnect = db.clientConnected((ctx) => { tick(ctx); });
    export const onDisconnect = db.clientDisconnected((ctx) => { tick(ctx); });
  `;
}

function filtersOf({ filtered, hasTwoFilters }: Plan): string[] {
  const own = `SELECT * FROM ${filtered} WHERE who = :sender`;
  return hasTwoFilters ? [own, `SELECT * FROM ${filtered} WHERE a = 0`] : [own];
}

const idKeys: Readonly<Record<IdKey, string>> = {
  primary: '.primaryKey()',
  unique: '.unique()',
  index: ".index('btree')",
  none: '',
};

function tableText({ name, isPublic, id, a, hasPairIndex, whoIsIndexed, extra }: TablePlan) {
  const pair = `[{ accessor: 'pair', algorithm: 'btree', columns: ['a', 'b'] }]`;
  return `const ${name} = table({ public: ${isPublic}${hasPairIndex ? `, indexes: ${pair}` : ''} }, {
    id: t.${id.kind}()${idKeys[id.key]},
    a: t.u32().index('${a}'),
    b: t.i32(),
    text: t.string(),
    who: t.identity()${whoIsIndexed ? '.index()' : ''},
    extra: t.${extra}(),
  });`;
}
