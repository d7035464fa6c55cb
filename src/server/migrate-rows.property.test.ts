import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { migrated } from '../../test/schema/migration-builder.ts';
import { moduleOf } from '../../test/schema/module-builder.ts';
import { decodeRows, encodeRows } from '../../test/support/migration-program.ts';
import { someRuns } from '../../test/support/share.ts';
import type { DeclaredStep } from '../schema/declared-step.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { rowsRoute } from '../schema/migration-route.ts';
import { planDeclared } from '../schema/plan-declared.ts';
import type { RawModule } from '../schema/raw-module.ts';
import { validateModule } from '../schema/validate.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import type { AlgebraicType } from '../values/type.ts';
import { RowMigration } from './migrate-rows.ts';
import type { RunnableStep } from './migration.ts';

type Kind = 'u8' | 'u32' | 'string' | 'bool';
type Row = Record<string, unknown>;
/** Columns by table, in their order. */
type Schema = Record<string, Record<string, Kind>>;

const tableNames = ['a', 'bC', 'd'];
const columnNames = ['k', 'longName', 'x', 'y_z'];
const kinds: readonly Kind[] = ['u8', 'u32', 'string', 'bool'];

/** A value of a kind that follows from a row and a number alone. */
function valueFor(kind: Kind, row: Row, salt: number): unknown {
  let sum = salt;
  for (const character of JSON.stringify(Object.entries(row).sort())) {
    sum = (sum * 31 + character.charCodeAt(0)) % 65_521;
  }
  if (kind === 'string') return `s${sum}`;
  return kind === 'bool' ? sum % 2 === 1 : sum % (kind === 'u8' ? 256 : 65_521);
}

const zeros: Record<Kind, Uint8Array> = {
  u8: new Uint8Array(1),
  u32: new Uint8Array(4),
  string: new Uint8Array(4),
  bool: new Uint8Array(1),
};
const zeroValues: Record<Kind, unknown> = { u8: 0, u32: 0, string: '', bool: false };

function rawOf(schema: Schema, defaults: ReadonlySet<string> = new Set()): RawModule {
  return moduleOf(
    Object.entries(schema).map(([name, columns]) => ({
      name,
      columns: Object.fromEntries(
        Object.entries(columns).map(([column, kind]) => [column, { kind } as AlgebraicType]),
      ),
      defaults: Object.fromEntries(
        Object.entries(columns).flatMap(([column, kind]) => {
          return defaults.has(`${name}.${column}`) ? [[column, zeros[kind]]] : [];
        }),
      ),
    })),
  );
}

/** A migration that was drawn step by step, and what each step does to rows. */
interface Drawn {
  readonly before: Schema;
  readonly after: Schema;
  readonly defaults: ReadonlySet<string>;
  readonly steps: readonly RunnableStep[];
  readonly model: (tables: Readonly<Record<string, Row[]>>) => Record<string, Row[]>;
}

/** Rows of one table on their way, each beside the row that it was before. */
type Moving = { readonly old: Row; row: Row }[];

/** Draws numbers from a list, so that fast-check can shrink what follows from them. */
class Draw {
  readonly #numbers: readonly number[];
  #at = 0;

  constructor(numbers: readonly number[]) {
    this.#numbers = numbers;
  }

  number(count: number): number {
    this.#at += 1;
    return (this.#numbers[this.#at - 1] ?? 0) % count;
  }

  of<Item>(items: readonly Item[]): Item {
    return items[this.number(items.length)] as Item;
  }
}

/** Draws one migration from a schema. */
function drawMigration(before: Schema, draw: Draw): Drawn {
  const schema: Schema = structuredClone(before);
  const steps: RunnableStep[] = [];
  const actions: ((tables: Record<string, Moving>) => void)[] = [];
  /** Tables that are done with, and columns that a step makes. */
  const closed = new Set<string>();
  const changed = new Set<string>();
  const made = new Set<string>();
  const add = (
    step: DeclaredStep,
    rest: object,
    action: (tables: Record<string, Moving>) => void,
  ) => {
    steps.push({ step, ...rest });
    actions.push(action);
  };
  for (let count = draw.number(6); count > 0; count -= 1) {
    const open = Object.keys(schema).filter((name) => !closed.has(name));
    if (open.length === 0) break;
    const table = draw.of(open);
    const columns = schema[table] ?? {};
    const names = Object.keys(columns);
    const free = columnNames.find((name) => !(name in columns) && !made.has(`-${name}`));
    const untouched = names.filter((name) => !made.has(`${table}.${name}`));
    const column = untouched.length === 0 ? undefined : draw.of(untouched);
    const salt = draw.number(1_000);
    const kind = draw.of(kinds);
    const freeTable = tableNames.find((name) => !(name in schema) && !(name in before));
    switch (draw.number(8)) {
      case 0: {
        if (freeTable === undefined) break;
        schema[freeTable] = columns;
        delete schema[table];
        for (const name of names) {
          if (made.has(`${table}.${name}`)) made.add(`${freeTable}.${name}`);
        }
        if (changed.has(table)) changed.add(freeTable);
        add({ kind: 'renameTable', from: table, to: freeTable }, {}, (tables) => {
          tables[freeTable] = tables[table] ?? [];
          delete tables[table];
        });
        break;
      }
      case 1: {
        if (free === undefined || column === undefined) break;
        schema[table] = Object.fromEntries(
          Object.entries(columns).map(([name, type]) => [name === column ? free : name, type]),
        );
        changed.add(table);
        add({ kind: 'renameColumn', table, from: column, to: free }, {}, (tables) => {
          for (const moving of tables[table] ?? []) {
            const { [column]: value, ...rest } = moving.row;
            moving.row = { ...rest, [free]: value };
          }
        });
        break;
      }
      case 2: {
        if (free === undefined) break;
        columns[free] = kind;
        made.add(`${table}.${free}`);
        changed.add(table);
        const run = (old: Row) => valueFor(kind, old, salt);
        add({ kind: 'addColumn', table, column: free }, { run }, (tables) => {
          for (const moving of tables[table] ?? []) moving.row[free] = run(moving.old);
        });
        break;
      }
      case 3: {
        if (column === undefined) break;
        columns[column] = kind;
        made.add(`${table}.${column}`);
        changed.add(table);
        const run = (old: Row) => valueFor(kind, old, salt);
        add({ kind: 'changeColumn', table, column }, { run }, (tables) => {
          for (const moving of tables[table] ?? []) moving.row[column] = run(moving.old);
        });
        break;
      }
      case 4: {
        if (column === undefined || names.length < 2) break;
        delete columns[column];
        changed.add(table);
        add({ kind: 'dropColumn', table, column }, {}, (tables) => {
          for (const moving of tables[table] ?? []) delete moving.row[column];
        });
        break;
      }
      case 5: {
        const order = [...names].sort((a, b) => ((a.length * salt) % 7) - ((b.length * salt) % 7));
        schema[table] = Object.fromEntries(order.map((name) => [name, columns[name] as Kind]));
        changed.add(table);
        add({ kind: 'moveColumns', table, order }, {}, () => {});
        break;
      }
      case 6: {
        if (changed.has(table)) break;
        closed.add(table);
        const target = { k: kind, x: 'string' as const };
        schema[table] = target;
        const run = (old: Row) => {
          const some = { k: valueFor(kind, old, salt), x: valueFor('string', old, salt) };
          return [undefined, some, [some, { ...some, x: 'twice' }]][salt % 3];
        };
        add({ kind: 'mapRows', table, reads: false }, { run }, (tables) => {
          tables[table] = (tables[table] ?? []).flatMap(({ old }) => {
            const rows = [run(old) ?? []].flat();
            return rows.map((row) => ({ old, row: row as Row }));
          });
        });
        break;
      }
      default: {
        if (changed.has(table) || freeTable === undefined) break;
        closed.add(table);
        closed.add(freeTable);
        schema[freeTable] = { y_z: kind };
        const keeps = salt % 2 === 0;
        if (!keeps) delete schema[table];
        const part = (old: Row) => ({ y_z: valueFor(kind, old, salt) });
        const into = keeps
          ? { [table]: (old: Row) => old, [freeTable]: part }
          : { [freeTable]: part };
        const step = { kind: 'splitTable', table, into: Object.keys(into), reads: false } as const;
        add(step, { into }, (tables) => {
          const rows = tables[table] ?? [];
          if (!keeps) delete tables[table];
          tables[freeTable] = rows.map(({ old }) => ({ old, row: part(old) }));
        });
      }
    }
  }
  const defaults = appendDefaults(schema, closed, draw);
  const model = (rows: Readonly<Record<string, Row[]>>) => {
    const tables: Record<string, Moving> = Object.fromEntries(
      Object.entries(rows).map(([name, list]) => [
        name,
        list.map((old) => ({ old, row: structuredClone(old) })),
      ]),
    );
    for (const action of actions) action(tables);
    for (const place of defaults) {
      const [table = '', column = ''] = place.split('.');
      const kind = schema[table]?.[column] ?? 'u8';
      for (const moving of tables[table] ?? []) moving.row[column] = zeroValues[kind];
    }
    return Object.fromEntries(
      Object.entries(tables).map(([name, list]) => [name, list.map(({ row }) => row)]),
    );
  };
  return { before, after: schema, defaults, steps, model };
}

/** Columns that the automatic plan appends. */
function appendDefaults(schema: Schema, closed: ReadonlySet<string>, draw: Draw): Set<string> {
  const defaults = new Set<string>();
  for (const [table, columns] of Object.entries(schema)) {
    const free = columnNames.find((name) => !(name in columns));
    if (free === undefined || closed.has(table) || draw.number(3) !== 0) continue;
    columns[free] = draw.of(kinds);
    defaults.add(`${table}.${free}`);
  }
  return defaults;
}

function rowsFor(columns: Readonly<Record<string, Kind>>, count: number): Row[] {
  return Array.from({ length: count }, (_, at) => {
    const values = Object.entries(columns).map(([name, kind], place) => [
      name,
      valueFor(kind, { at }, place),
    ]);
    return Object.fromEntries(values);
  });
}

/** The rows that come out of a route, by full canonical name. */
function routed(
  definition: ModuleDefinition,
  steps: readonly (readonly RunnableStep[])[],
  table: string,
  rows: readonly Row[],
): Record<string, Row[]> {
  const { migrations } = definition;
  const stretch = { direction: 'up', first: 0, last: migrations.length - 1 } as const;
  const route = rowsRoute(definition, stretch, table);
  const from = migrations[0]?.from;
  if (route === undefined || from === undefined) throw new Error(`no route for ${table}`);
  const sent = JSON.parse(JSON.stringify(route)) as typeof route;
  const bytes = encodeRows(from, table, rows);
  const place = { row: -1, step: '' };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const answer = new RowMigration(sent, (at) => steps[at] ?? [], place).take(view, rows.length, {});
  const reader = new BinaryReader(answer);
  const result: Record<string, Row[]> = {};
  for (let count = reader.u32(); count > 0; count -= 1) {
    const name = reader.string();
    const rowCount = reader.u32();
    const decoded = decodeRows(definition, name, reader.bytes());
    expect(decoded).toHaveLength(rowCount);
    if (rowCount > 0) result[name] = decoded;
  }
  return result;
}

/** What a column is called after the steps that follow. */
function finalName(
  place: { readonly table: string; readonly column: string },
  steps: readonly RunnableStep[],
): { readonly table: string; readonly column: string } {
  return steps.reduce(({ table, column }, { step }) => {
    if (step.kind === 'renameTable' && step.from === table) return { table: step.to, column };
    const isOwn = step.kind === 'renameColumn' && step.table === table && step.from === column;
    return { table, column: isOwn ? step.to : column };
  }, place);
}

const canonical = (name: string) => (name === 'bC' ? 'b_c' : name);

const start: fc.Arbitrary<Schema> = fc
  .tuple(fc.integer({ min: 1, max: 3 }), fc.infiniteStream(fc.constantFrom(...kinds)))
  .map(([count, types]) => {
    const next = () => types.next().value ?? 'u8';
    const tables = tableNames.slice(0, count).map((name, at) => {
      const columns = columnNames.slice(0, at + 2).map((column) => [column, next()]);
      return [name, Object.fromEntries(columns)];
    });
    return Object.fromEntries(tables);
  });

const numbers = fc.array(fc.nat({ max: 5_000 }), { minLength: 20, maxLength: 80 });

describe('[living 5.2] rows that go through migrations', () => {
  it('can be those of submodules, whose tables have their namespace before them', () => {
    const inner = (columns: Record<string, AlgebraicType>) =>
      moduleOf([], {
        submodules: [{ namespace: 'lib', module: moduleOf([{ name: 'aTable', columns }]) }],
      });
    const before = inner({ oldName: { kind: 'u8' }, x: { kind: 'string' } });
    const after = inner({ newName: { kind: 'u8' }, y: { kind: 'string' } });
    const steps: RunnableStep[] = [
      { step: { kind: 'renameColumn', table: 'lib.aTable', from: 'oldName', to: 'newName' } },
      { step: { kind: 'dropColumn', table: 'lib.aTable', column: 'x' } },
      {
        step: { kind: 'addColumn', table: 'lib.aTable', column: 'y' },
        run: ({ oldName, x }: Row) => `${oldName} ${x}`,
      },
    ];
    const program = migrated(after, { before, steps: steps.map(({ step }) => step) });
    const definition = validateModule(program);
    expect(planDeclared(validateModule(before), definition, [])).toMatchObject({
      kind: 'declared',
      stages: [{ tables: [{ kind: 'rewrite', before: 'lib.a_table', after: 'lib.a_table' }] }],
    });
    const rows = [{ oldName: 7, x: 'seven' }];
    expect(routed(definition, [steps], 'lib.a_table', rows)).toEqual({
      'lib.a_table': [{ newName: 7, y: '7 seven' }],
    });
  });

  it('become what an obvious model makes of them, and keep their bytes where they stay', () => {
    fc.assert(
      fc.property(start, fc.array(numbers, { minLength: 1, maxLength: 3 }), (schema, lists) => {
        const drawn: Drawn[] = [];
        for (const list of lists) {
          drawn.push(drawMigration(drawn.at(-1)?.after ?? schema, new Draw(list)));
        }
        const [first] = drawn;
        const last = drawn.at(-1);
        if (first === undefined || last === undefined) return;
        const raws = drawn.map(({ before }, at) => rawOf(before, drawn[at - 1]?.defaults));
        const program = migrated(
          rawOf(last.after, last.defaults),
          ...drawn.map(({ steps }, at) => ({
            id: `000${at + 1}-m`,
            before: raws[at] as RawModule,
            steps: steps.map(({ step }) => step),
          })),
        );
        const definition = validateModule(program);
        const old = validateModule(rawOf(schema));
        const plan = planDeclared(old, definition, []);
        if (plan.kind !== 'declared') throw new Error(JSON.stringify(plan));
        expect(plan.stages).toHaveLength(1);
        const steps = drawn.map((one) => one.steps);
        for (const [table, columns] of Object.entries(schema)) {
          const rows = rowsFor(columns, 4);
          const model = drawn.reduce<Record<string, Row[]>>((tables, one) => one.model(tables), {
            [table]: rows,
          });
          const expected = Object.fromEntries(
            Object.entries(model).flatMap(([name, list]) => {
              return list.length === 0 ? [] : [[canonical(name), list]];
            }),
          );
          const fate = plan.stages[0]?.tables.find(({ before }) => before === canonical(table));
          const actual = routed(definition, steps, canonical(table), rows);
          expect(actual).toEqual(expected);
          if (fate?.kind !== 'keep') continue;
          expect(Object.keys(expected)).toEqual([fate.after]);
          const bytes = encodeRows(old, canonical(table), rows.slice(0, 1));
          const after = encodeRows(
            definition,
            fate.after,
            (expected[fate.after] ?? []).slice(0, 1),
          );
          expect(after.subarray(0, bytes.length)).toEqual(bytes);
        }
      }),
      { numRuns: someRuns(600) },
    );
  });

  it('lead to the schema of the program, or are refused, whatever the steps', () => {
    let declared = 0;
    fc.assert(
      fc.property(start, start, numbers, (before, after, list) => {
        // Steps for one pair of schemas, and the schema after of another.
        const drawnSteps = drawMigration(before, new Draw(list)).steps;
        const steps = drawnSteps.map((step, at): RunnableStep => {
          const { step: data } = step;
          if (data.kind !== 'addColumn' && data.kind !== 'changeColumn') return step;
          const { table, column } = finalName(data, drawnSteps.slice(at));
          return { step: data, run: () => zeroValues[after[table]?.[column] ?? 'u8'] };
        });
        const program = migrated(rawOf(after), {
          before: rawOf(before),
          steps: steps.map(({ step }) => step),
        });
        const definition = validateModule(program);
        const plan = planDeclared(validateModule(rawOf(before)), definition, []);
        if (plan.kind === 'manual') {
          expect(plan.reason).not.toBe('');
          return;
        }
        if (plan.kind !== 'declared') throw new Error(plan.kind);
        declared += 1;
        for (const fate of plan.stages[0]?.tables ?? []) {
          const name = Object.keys(before).find((one) => canonical(one) === fate.before) ?? '';
          const isWhole = steps.some(({ step }) => 'reads' in step);
          if (fate.kind === 'remove' || isWhole) continue;
          const rows = rowsFor(before[name] ?? {}, 2);
          const result = routed(definition, [steps], fate.before, rows);
          if (fate.kind === 'discard') expect(result).toEqual({});
          else expect(Object.keys(result)).toEqual([fate.after]);
        }
      }),
      { numRuns: someRuns(600) },
    );
    expect(declared).toBeGreaterThan(0);
  });
});
