import type { Random } from '../../../src/testing/random.ts';
import { isWithin, type Kind } from './kinds.ts';
import { randomCondition, randomExpression, randomKind } from './random-expression.ts';
import { relationOf, subqueriesOver } from './random-query.ts';
import { literalValue, type RandomColumn, type RandomTable } from './random-schema.ts';
import { atomsOf, columnAtom, Names, type Scope, type ScopeRelation } from './scope.ts';
import {
  type Expression,
  expression,
  type Item,
  literal,
  type Query,
  type Source,
  type Write,
} from './tree.ts';

/** A write to a table with a key; it never makes two rows with one key, nor two equal rows. */
export function randomWrite(tables: readonly RandomTable[], random: Random): Write | undefined {
  const keyed = tables.filter((table) => table.isKeyed);
  if (keyed.length === 0) return undefined;
  const table = random.pick(keyed);
  const scope = scopeOver(table, tables, random);
  const aliased = random.chance(0.3) ? scopeOver(table, tables, random, 'w0') : scope;
  switch (random.below(5)) {
    case 0:
      return randomDelete(table, aliased);
    case 1:
      return randomInsert(table, scope);
    case 2:
      return randomInsertSelect(table, scope);
    default:
      return randomUpdate(table, aliased);
  }
}

/** What a write may name; with an alias its table goes by that alone. */
interface WriteScope extends Scope {
  readonly target: ScopeRelation;
  readonly alias: string | undefined;
}

function scopeOver(
  table: RandomTable,
  tables: readonly RandomTable[],
  random: Random,
  alias?: string,
): WriteScope {
  const known = relationOf(table);
  const relation = { ...known, alias: alias ?? known.alias };
  const sources = tables.map(relationOf);
  const names = new Names();
  return {
    random,
    atoms: atomsOf([relation], true),
    outerAtoms: [],
    sources,
    rows: Math.max(1, relation.rows),
    mayRaise: false,
    depth: 1,
    names,
    subqueries: subqueriesOver({ random, names, sources }),
    target: relation,
    alias,
  };
}

function randomDelete({ name }: RandomTable, scope: WriteScope): Write {
  const where = randomCondition(scope, 2);
  const { alias } = scope;
  return { kind: 'delete', table: name, alias, where, returning: randomReturning(scope) };
}

function randomUpdate({ name, columns }: RandomTable, scope: WriteScope): Write {
  const { random, alias } = scope;
  const others = columns.slice(1).sort(() => random.fraction() - 0.5);
  const assignments = others.slice(0, random.between(1, 2)).map((column) => ({
    column: column.name,
    value: maybeDefault(column, random) ?? storable(column, withoutSubqueries(scope)),
  }));
  const where = random.chance(0.85) ? randomCondition(scope, 2) : undefined;
  const returning = randomReturning(scope);
  return { kind: 'update', table: name, alias, assignments, where, returning };
}

function randomInsert({ name, columns: all }: RandomTable, scope: WriteScope): Write {
  const { random } = scope;
  const first = 1_000n + BigInt(random.below(20_000));
  const columns = all.filter((column) => !hasDefault(column) || random.chance(0.7));
  const rows = Array.from({ length: random.between(1, 3) }, (_, at) =>
    columns.map((column, position) =>
      position === 0
        ? literal(column.kind, first + BigInt(at))
        : (maybeDefault(column, random) ?? storedLiteral(column, random)),
    ),
  );
  return {
    kind: 'insert',
    table: name,
    columns: columns.map((column) => column.name),
    source: rows,
    returning: randomReturning(scope),
  };
}

/** Rows of the table itself under new keys, some columns changed. */
function randomInsertSelect({ name, columns }: RandomTable, scope: WriteScope): Write | undefined {
  const { random, names } = scope;
  const [key] = columns;
  if (key === undefined) return undefined;
  const relation = { ...scope.sources.find(({ alias }) => alias === name) };
  const alias = names.next('r');
  const atoms = atomsOf(
    [{ alias, columns: relation.columns ?? [], rows: relation.rows ?? 0 }],
    true,
  );
  const inner: Scope = { ...scope, atoms };
  const shift = literal(key.kind, 1_000n + BigInt(random.below(20_000)));
  const items: Item[] = columns.map((column, at) => {
    const atom = atoms[at];
    if (atom === undefined) throw new Error('every column is named');
    const value: Expression =
      at === 0
        ? { ...atom, parts: [atom, ' + ', shift], isLoose: true }
        : random.chance(0.6)
          ? atom
          : storable(column, withoutSubqueries(inner));
    return { expression: value, alias: names.next('x') };
  });
  const from: Source[] = [{ join: 'first', relation: name, alias, on: undefined }];
  const select = {
    kind: 'select' as const,
    isDistinct: false,
    star: undefined,
    items,
    from,
    where: randomCondition(inner, 2),
    groupBy: [],
    having: undefined,
  };
  const nothing = { commonTables: [], orderBy: [], limit: undefined, offset: undefined };
  const source: Query = { kind: 'query', body: select, ...nothing };
  const list = columns.map((column) => column.name);
  return { kind: 'insert', table: name, columns: list, source, returning: randomReturning(scope) };
}

function hasDefault({ isOption, fallback }: RandomColumn): boolean {
  return isOption || fallback !== undefined;
}

function maybeDefault(column: RandomColumn, random: Random): Expression | undefined {
  if (!hasDefault(column) || !random.chance(0.2)) return undefined;
  return expression(column.kind, ['DEFAULT'], { isLoose: false });
}

/** An expression that fits the column, as far as its bounds and nulls go. */
function storable(column: RandomColumn, scope: Scope): Expression {
  const { kind, range, isOption, isAscii } = column;
  for (let attempt = 0; attempt < 4; attempt++) {
    const { whole: _, ...made } = randomExpression(scope, kind, 2);
    const isInRange =
      range === undefined || (made.range !== undefined && isWithin(made.range, range));
    const isShort = kind !== 'string' || made.isColumn === true;
    const isFit = isInRange && (isOption || !made.isNullable) && (made.isAscii || !isAscii);
    if (isFit && isShort && (made.isDyadic || !isFraction(kind))) return made;
  }
  return storedLiteral(column, scope.random);
}

function isFraction(kind: Kind): boolean {
  return kind === 'f32' || kind === 'f64';
}

function storedLiteral(
  { kind, isOption, range, isAscii }: RandomColumn,
  random: Random,
): Expression {
  if (isOption && random.chance(0.3)) return literal(kind, null);
  const value = literalValue(kind, random, isAscii);
  const made = literal(kind, value);
  const isInRange = range === undefined || made.range === undefined || isWithin(made.range, range);
  return isInRange ? made : literal(kind, isFraction(kind) ? 1 : 1n);
}

function withoutSubqueries(scope: Scope): Scope {
  const none = () => undefined;
  return { ...scope, subqueries: { scalar: none, column: none, columns: none, any: none } };
}

function randomReturning(scope: WriteScope): Item[] {
  const { random, names, target } = scope;
  if (random.chance(0.4)) return [];
  const prefix = random.chance(0.3) ? `${target.alias}.` : '';
  const inner = withoutSubqueries({
    ...scope,
    atoms: target.columns.map((column) => columnAtom(column, prefix)),
  });
  return Array.from({ length: random.between(1, 3) }, () => {
    const { whole, ...item } = randomExpression(inner, randomKind(inner), 1);
    const expression = whole !== undefined && random.chance(0.5) ? { ...item, whole } : item;
    return { expression, alias: names.next('x') };
  });
}
