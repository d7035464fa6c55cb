import type { Random } from '../../../src/testing/random.ts';
import { type Kind, max, min, rangeOf } from './kinds.ts';
import {
  isSummable,
  randomCondition,
  randomExpression,
  randomKind,
  typedLiteral,
} from './random-expression.ts';
import type { RandomTable } from './random-schema.ts';
import { randomWindowCall } from './random-window.ts';
import { atomsOf, Names, type Scope, type ScopeColumn, type ScopeRelation } from './scope.ts';
import {
  type Body,
  type CommonTable,
  type Elements,
  type Expression,
  expression,
  type Item,
  type Order,
  type Query,
  type Select,
  type Source,
} from './tree.ts';

/** How many combinations of rows a statement may have to look at, about. */
const rowsMax = 30_000;

/** What a query is asked for. */
interface Wish {
  readonly random: Random;
  readonly names: Names;
  readonly sources: readonly ScopeRelation[];
  readonly outerAtoms: readonly Expression[];
  /** How often it is asked. */
  readonly times: number;
  readonly depth: number;
  readonly mayRaise: boolean;
  /** Of the columns; open where absent. */
  readonly kinds?: readonly Kind[];
  /** Whether its rows go to the caller as they are: then the last bits may differ. */
  readonly isFinal: boolean;
}

/** A query for a caller. */
export function randomQuery(
  tables: readonly RandomTable[],
  random: Random,
  mayRaise: boolean = random.chance(0.06),
): Query {
  const sources = tables.map(relationOf);
  const names = new Names();
  const wish: Wish = {
    random,
    names,
    sources,
    outerAtoms: [],
    times: 1,
    depth: random.pick([0, 1, 1, 2]),
    mayRaise,
    isFinal: true,
  };
  if (wish.mayRaise) return plainQuery(randomSelect({ ...wish, depth: 0 }).select);
  return completeQuery(wish).query;
}

export function relationOf({ name, columns, rows }: RandomTable): ScopeRelation {
  return {
    alias: name,
    rows: rows.length,
    columns: columns.map(({ name: column, kind, isOption, range, isAscii }) => ({
      name: column,
      kind,
      isOption,
      isNullable: isOption,
      range,
      isAscii,
      isStable: true,
      isDyadic: true,
    })),
  };
}

interface Made {
  readonly query: Query;
  readonly items: readonly Item[];
  readonly rows: number;
  /** What ORDER BY may name besides the columns of the answer. */
  readonly scope?: Scope | undefined;
}

/** With common tables, set operations, ORDER BY and LIMIT. */
function completeQuery(wish: Wish): Made {
  const { random, depth } = wish;
  const commonTables: CommonTable[] = [];
  let { sources } = wish;
  while (depth > 0 && random.chance(0.15) && commonTables.length < 2) {
    const inner: Wish = { ...wish, sources, outerAtoms: [], depth: depth - 1, isFinal: false };
    const made = completeQuery(withoutKinds(inner));
    const name = wish.names.next('w');
    commonTables.push({ name, query: made.query });
    sources = [...sources, outputRelation(name, made)];
  }
  const made = randomBody({ ...wish, sources });
  return ordered({ ...made, query: { ...made.query, commonTables } }, wish);
}

function withoutKinds(wish: Wish): Wish {
  const { kinds: _, ...rest } = wish;
  return rest;
}

function randomBody(wish: Wish): Made {
  const { random, depth } = wish;
  const isCombined = random.chance(0.14);
  const first = randomSelect(isCombined ? { ...wish, isFinal: false } : wish);
  let body: Body = first.select;
  let { rows } = first;
  if (!isCombined) {
    return { query: plainQuery(body), items: first.items, rows, scope: first.scope };
  }
  const kinds = first.items.map((item) => item.expression.kind);
  let { items } = first;
  for (let left = random.pick([1, 1, 2]); left > 0; left--) {
    const other = randomSelect({ ...wish, kinds, isFinal: false, depth: Math.max(0, depth - 1) });
    const operator = random.pick(['UNION', 'UNION', 'INTERSECT', 'EXCEPT'] as const);
    body = {
      kind: 'setOperation',
      operator,
      isAll: random.chance(0.5),
      left: body,
      right: other.select,
    };
    rows += other.rows;
    items = items.map((item, at) => joinedItem(item, other.items[at]));
  }
  return { query: plainQuery(body), items, rows };
}

/** What a column of a set operation can be: what either side can. */
function joinedItem(item: Item, other: Item | undefined): Item {
  const [a, b] = [item.expression, other?.expression];
  const isAscii = a.isAscii && (b?.isAscii ?? true);
  const range =
    a.range === undefined || b?.range === undefined
      ? undefined
      : {
          low: a.range.low < b.range.low ? a.range.low : b.range.low,
          high: a.range.high > b.range.high ? a.range.high : b.range.high,
        };
  return { ...item, expression: { ...a, isNullable: true, isAscii, range } };
}

function plainQuery(body: Body): Query {
  const nothing = { limit: undefined, offset: undefined };
  return { kind: 'query', commonTables: [], body, orderBy: [], ...nothing };
}

/** ORDER BY and LIMIT; with a limit, all columns are keys, so that the answer is one. */
function ordered(made: Made, { random, isFinal }: Wish): Made {
  const { items, query } = made;
  const isStable = items.every((item) => item.expression.isStable);
  const isLimited = isStable && random.chance(0.2);
  if (!isLimited && !(isFinal && random.chance(0.4))) return made;
  const positions = items
    .map((_, at) => at + 1)
    .filter((at) => items[at - 1]?.expression.isStable)
    .sort(() => random.fraction() - 0.5);
  const taken = isLimited || random.chance(0.5) ? positions : positions.slice(0, 1);
  const orderBy: Order[] = taken.map((key) => orderOf(key, random));
  if (made.scope !== undefined && random.chance(0.3)) {
    const key = randomExpression(made.scope, randomKind(made.scope), 2);
    // PostgreSQL takes no constant there.
    if (hasColumn(key, made.scope.atoms)) orderBy.unshift(orderOf(key, random));
  }
  const isOffset = isLimited && random.chance(0.4);
  const limit =
    isLimited && !(isOffset && random.chance(0.3)) ? random.pick([0, 1, 1, 2, 5, 20]) : undefined;
  const offset = isOffset ? random.pick([0, 1, 3]) : undefined;
  return { ...made, query: { ...query, orderBy, limit, offset } };
}

function orderOf(key: number | Expression, random: Random): Order {
  const nulls = random.pick([undefined, undefined, 'FIRST', 'LAST'] as const);
  return { key, isDescending: random.chance(0.4), nulls };
}

/** A query as something that others read from. */
function outputRelation(alias: string, { items, rows }: Made): ScopeRelation {
  const columns = items.map(({ alias: name, expression: item }): ScopeColumn => {
    const { kind, isNullable, range, isAscii, isStable, isDyadic } = item;
    return { name, kind, isNullable, isOption: false, range, isAscii, isStable, isDyadic };
  });
  return { alias, columns, rows };
}

interface MadeSelect {
  readonly select: Select;
  readonly items: readonly Item[];
  readonly rows: number;
  /** Absent behind DISTINCT. */
  readonly scope: Scope | undefined;
}

function randomSelect(wish: Wish): MadeSelect {
  const { random, mayRaise } = wish;
  const { from, relations, rows } = randomFrom(wish);
  const isQualified = relations.length > 1 || random.chance(0.3) || wish.outerAtoms.length > 0;
  const atoms = atomsOf(relations, isQualified);
  const made = scopeOf(wish, atoms, rows);
  // A name without its relation would mean another column inside of a subquery.
  const scope: Scope = isQualified ? made : { ...made, subqueries: noSubqueries };
  const safe: Scope = { ...scope, mayRaise: false };
  const where = random.chance(0.5) ? randomCondition(safe, random.between(1, 3)) : undefined;
  if (random.chance(0.3)) return grouped(wish, { from, where, rows }, scope);
  const star = starOf(wish, relations);
  const isDistinct = !mayRaise && random.chance(0.15);
  const items =
    star === undefined
      ? randomItems(wish, scope, !wish.isFinal || isDistinct)
      : starItems(relations, star);
  const select: Select = {
    kind: 'select',
    isDistinct,
    star,
    items,
    from,
    where,
    groupBy: [],
    having: undefined,
  };
  return { select, items, rows, scope: isDistinct ? undefined : safe };
}

function scopeOf(wish: Wish, atoms: readonly Expression[], rows: number): Scope {
  const { random, names, sources, outerAtoms, depth, mayRaise, times } = wish;
  const subqueries = depth > 0 ? subqueryMaker(wish) : noSubqueries;
  return {
    random,
    atoms,
    outerAtoms,
    sources,
    rows: times * rows,
    mayRaise,
    depth,
    names,
    subqueries,
  };
}

/** Only the caller's query takes whole Options along: inner ones hand on what is in them. */
function starOf(
  { random, kinds, isFinal }: Wish,
  relations: readonly ScopeRelation[],
): string | undefined {
  if (kinds !== undefined || !isFinal || !random.chance(0.12)) return undefined;
  const [first] = relations;
  if (relations.length === 1 && random.chance(0.6)) return '*';
  return first && `${random.pick(relations).alias}.*`;
}

function starItems(relations: readonly ScopeRelation[], star: string): Item[] {
  const chosen = relations.filter(({ alias }) => star === '*' || star === `${alias}.*`);
  return atomsOf(chosen, true).map((atom, at) => ({ expression: atom, alias: `x${at}` }));
}

function randomItems(wish: Wish, scope: Scope, isInner: boolean): Item[] {
  const { random, names, kinds } = wish;
  const wanted =
    kinds ?? Array.from({ length: random.pick([1, 2, 2, 3, 4]) }, () => randomKind(scope));
  const items = wanted.map((kind) => {
    const { whole, ...item } = randomExpression(scope, kind, random.pick([0, 1, 2, 3]));
    const isWhole = whole !== undefined && !isInner && random.chance(0.5);
    return { expression: isWhole ? { ...item, whole } : item, alias: names.next('x') };
  });
  if (kinds === undefined && scope.atoms.length > 0 && random.chance(0.2)) {
    items.push({ expression: randomWindowCall(scope), alias: names.next('x') });
  }
  return items;
}

/** One to five relations, as many as their product allows. */
function randomFrom(wish: Wish): {
  readonly from: readonly Source[];
  readonly relations: readonly ScopeRelation[];
  readonly rows: number;
} {
  const { random } = wish;
  const from: Source[] = [];
  const relations: ScopeRelation[] = [];
  const wanted = random.pick([1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5]);
  let rows = 1;
  for (let at = 0; at < wanted; at++) {
    const made = randomSource(wish, relations);
    if (at > 0 && wish.times * rows * Math.max(1, made.relation.rows) > rowsMax) break;
    rows *= Math.max(1, made.relation.rows);
    const join = at === 0 ? 'first' : random.pick(joins);
    const isLeft = join.startsWith('LEFT');
    const { relation } = made;
    const columns = isLeft
      ? relation.columns.map((column) => ({ ...column, isNullable: true }))
      : relation.columns;
    relations.push({ ...relation, columns });
    const on =
      join === 'first' || join === 'CROSS JOIN' ? undefined : joinCondition(wish, relations, rows);
    from.push({ join, relation: made.source, alias: relation.alias, on });
  }
  return { from, relations, rows };
}

const joins = [
  'JOIN',
  'JOIN',
  'INNER JOIN',
  'LEFT JOIN',
  'LEFT JOIN',
  'LEFT OUTER JOIN',
  'CROSS JOIN',
] as const;

function randomSource(
  wish: Wish,
  before: readonly ScopeRelation[],
): {
  readonly source: Source['relation'];
  readonly relation: ScopeRelation;
} {
  const { random, names, depth } = wish;
  if (depth > 0 && random.chance(0.08)) return randomElements(wish, before);
  if (depth > 0 && random.chance(0.12)) {
    const inner: Wish = {
      ...wish,
      outerAtoms: [],
      depth: depth - 1,
      isFinal: false,
      mayRaise: false,
    };
    const made = completeQuery(withoutKinds(inner));
    return { source: made.query, relation: outputRelation(names.next('d'), made) };
  }
  const table = random.pick(wish.sources);
  return { source: table.alias, relation: { ...table, alias: names.next('r') } };
}

/** `unnest` of an array of expressions over the relations before it; none of them is null. */
function randomElements(
  wish: Wish,
  before: readonly ScopeRelation[],
): { readonly source: Elements; readonly relation: ScopeRelation } {
  const { random, names } = wish;
  const scope = { ...scopeOf(wish, atomsOf(before, true), 1), mayRaise: false };
  const inner: Scope = { ...scope, outerAtoms: [], subqueries: noSubqueries };
  const kind = random.pick(['i32', 'u8', 'i64', 'f64', 'string', 'timestamp', 'bool'] as const);
  const elements = Array.from({ length: random.between(1, 3) }, () => {
    const { whole: _, ...made } = randomExpression(inner, kind, 1);
    return made.isNullable ? typedLiteral(scope, kind) : made;
  });
  const [name, alias] = [names.next('e'), names.next('u')];
  const range = elements
    .map((element) => element.range)
    .reduce((a, b) => a && b && { low: min(a.low, b.low), high: max(a.high, b.high) });
  const column: ScopeColumn = {
    name,
    kind,
    isNullable: false,
    isOption: false,
    range,
    isAscii: elements.every((element) => element.isAscii),
    isStable: elements.every((element) => element.isStable),
    isDyadic: elements.every((element) => element.isDyadic),
  };
  const source: Elements = { kind: 'elements', elements, column: name };
  return { source, relation: { alias, columns: [column], rows: elements.length } };
}

/** Mostly an equality of the new relation with an earlier one, sometimes with more. */
function joinCondition(wish: Wish, relations: readonly ScopeRelation[], rows: number): Expression {
  const { random } = wish;
  const earlier = atomsOf(relations.slice(0, -1), true);
  const added = atomsOf(relations.slice(-1), true);
  const scope: Scope = { ...scopeOf(wish, [...earlier, ...added], rows), mayRaise: false };
  const pairs = earlier.flatMap((a) =>
    added.flatMap((b) => (a.kind === b.kind && a.kind !== 'duration' ? [[a, b]] : [])),
  );
  const pair = pairs.length > 0 && random.chance(0.85) ? random.pick(pairs) : undefined;
  if (pair === undefined) return randomCondition(scope, 2);
  const [a, b] = random.chance(0.5) ? pair : pair.toReversed();
  const parts = [a, random.pick([' = ', ' = ', ' = ', ' = ', ' < ']), b] as Expression[];
  const equality = expression('bool', parts);
  if (random.chance(0.65)) return equality;
  return expression('bool', [equality, ' AND ', randomCondition(scope, 1)]);
}

/** GROUP BY with aggregates over the rows of `from`. */
function grouped(
  wish: Wish,
  given: {
    readonly from: readonly Source[];
    readonly where: Expression | undefined;
    readonly rows: number;
  },
  scope: Scope,
): MadeSelect {
  const { random, isFinal, mayRaise } = wish;
  const local: Scope = { ...scope, outerAtoms: [], subqueries: noSubqueries };
  const keys = Array.from({ length: random.pick([0, 1, 1, 1, 2]) }, () => randomKey(local)).filter(
    (key) => key.isTyped && key.isStable && hasColumn(key, scope.atoms),
  );
  const isStable = !isFinal;
  const aggregates = Array.from({ length: random.between(1, 3) }, () =>
    randomAggregate(local, given.rows),
  );
  const atoms = [...keys, ...aggregates.filter((aggregate) => aggregate.isStable)];
  const rows = keys.length === 0 ? 1 : given.rows;
  const isComputable = atoms.length > 0;
  const inner: Scope = { ...scope, atoms, rows: wish.times * rows, mayRaise: false };
  const kinds = wish.kinds;
  const having =
    isComputable && !mayRaise && random.chance(0.3) ? randomCondition(inner, 2) : undefined;
  const items: Item[] =
    kinds === undefined
      ? [...keys, ...aggregates]
          .filter((item) => !isStable || item.isStable)
          .concat(
            isComputable && random.chance(0.5)
              ? [randomExpression(inner, randomKind(inner), 2)]
              : [],
          )
          .map((item) => itemOf(item, wish.names))
      : kinds.map((kind) => itemOf(randomExpression(inner, kind, 2), wish.names));
  if (items.length === 0) items.push(itemOf(countOfRows(given.rows), wish.names));
  const groupBy = keys;
  const select: Select = {
    kind: 'select',
    isDistinct: isStable && random.chance(0.1),
    star: undefined,
    items,
    from: given.from,
    where: given.where,
    groupBy,
    having,
  };
  const orderScope = select.isDistinct || !isComputable ? undefined : inner;
  return { select: withRows(select), items, rows, scope: orderScope };
}

/** Without keys and aggregates a list of constants would have a row for each row. */
function withRows(select: Select): Select {
  const { items, groupBy } = select;
  if (groupBy.length > 0 || items.some((item) => hasAggregate(item.expression))) return select;
  if (select.having !== undefined && hasAggregate(select.having)) return select;
  return { ...select, having: expression('bool', ['COUNT(*) >= 0'], { isNullable: false }) };
}

function hasAggregate({ parts }: Expression): boolean {
  return parts.some((part) => {
    if (typeof part === 'string')
      return /^(COUNT|SUM|AVG|MIN|MAX|cardinality|\(array_agg)\(/.test(part);
    return 'parts' in part && hasAggregate(part);
  });
}

function itemOf({ whole: _, ...item }: Expression, names: Names): Item {
  return { expression: item, alias: names.next('x') };
}

function randomKey(scope: Scope): Expression {
  const { random, atoms } = scope;
  if (atoms.length > 0 && random.chance(0.75)) return withoutWhole(random.pick(atoms));
  return randomExpression(scope, randomKind(scope), 2);
}

function withoutWhole({ whole: _, ...rest }: Expression): Expression {
  return rest;
}

function hasColumn(key: Expression, atoms: readonly Expression[]): boolean {
  if (
    atoms.some((atom) => atom.parts[0] === key.parts[0] && atom.parts.length === key.parts.length)
  )
    return true;
  return key.parts.some(
    (part) => typeof part === 'object' && 'parts' in part && hasColumn(part, atoms),
  );
}

function countOfRows(rows: number): Expression {
  return expression('u64', ['COUNT(*)', { ours: '', postgres: '::numeric' }], {
    range: { low: 0n, high: BigInt(rows) + 1_000_000n },
    isLoose: false,
  });
}

function filteredCount(scope: Scope, rows: number): Expression {
  const condition = randomCondition({ ...scope, mayRaise: false }, 2);
  const cast = { ours: '', postgres: '::numeric' };
  return expression('u64', ['COUNT(*)', ' FILTER (WHERE ', condition, ')', cast], {
    range: { low: 0n, high: BigInt(rows) + 1_000_000n },
    isLoose: false,
  });
}

function randomAggregate(scope: Scope, rows: number): Expression {
  const { random } = scope;
  const kind = randomKind(scope);
  const argument = withoutWhole(randomExpression(scope, kind, random.pick([0, 0, 1, 2])));
  const distinct = argument.isStable && random.chance(0.25) ? 'DISTINCT ' : '';
  const given = { isLoose: false, isNullable: true } as const;
  if (random.chance(0.25) || !hasColumn(argument, scope.atoms)) {
    return random.chance(0.3) ? filteredCount(scope, rows) : countOfRows(rows);
  }
  if (random.chance(0.2)) {
    const parts = [`COUNT(${distinct}`, argument, ')', { ours: '', postgres: '::numeric' }];
    const range = { low: 0n, high: BigInt(rows) + 1_000_000n };
    return expression('u64', parts, { ...given, range, isNullable: false, isStable: true });
  }
  if (argument.isStable && random.chance(0.15)) return gathered(argument, distinct, random);
  if (isSummable(kind) && random.chance(0.6)) return sumOrAverage(argument, distinct, random);
  if (kind === 'bool' || kind === 'bytes' || kind === 'uuid') return countOfRows(rows);
  const { range, isAscii } = argument;
  const name = random.pick(['MIN', 'MAX']);
  return expression(kind, [`${name}(`, argument, ')'], { ...given, range, isAscii });
}

/** How long an array of the values is, or its first element in their order. */
function gathered(argument: Expression, distinct: string, random: Random): Expression {
  const { kind, range, isAscii } = argument;
  const order = random.pick(['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST']);
  const array = [`array_agg(${distinct}`, argument, ' ORDER BY ', argument, `${order})`];
  const given = { isLoose: false, isNullable: true } as const;
  if (random.chance(0.5)) {
    const cast = { ours: '', postgres: '::numeric' };
    const lengths = { low: 0n, high: 1_000_000n };
    return expression('u64', ['cardinality(', ...array, ')', cast], { ...given, range: lengths });
  }
  const at = random.pick(['1', '1', '2', '3']);
  return expression(kind, ['(', ...array, `)[${at}]`], { ...given, range, isAscii });
}

function sumOrAverage(argument: Expression, distinct: string, random: Random): Expression {
  const { kind, range, isDyadic, isStable } = argument;
  const isFraction = kind === 'f32' || kind === 'f64';
  const given = { isLoose: false, isNullable: true } as const;
  const wide = isFraction ? [{ ours: '', postgres: '::float8' }] : [];
  if (random.chance(0.35) && kind !== 'duration') {
    const parts = [`AVG(${distinct}`, argument, ...wide, ')', { ours: '', postgres: '::float8' }];
    return expression('f64', parts, { ...given, range, isStable: false, isDyadic: false });
  }
  const widened = sumKindOf(kind);
  const bounds = range && { low: range.low * 1_000_000n, high: range.high * 1_000_000n };
  const isHeld =
    widened === 'f64' ||
    (bounds !== undefined &&
      bounds.low >= rangeOf(widened === 'duration' ? 'i64' : widened).low &&
      bounds.high <= rangeOf(widened === 'duration' ? 'i64' : widened).high);
  const name = isHeld ? 'SUM' : 'MAX';
  const result = isHeld ? widened : kind;
  return expression(result, [`${name}(${distinct}`, argument, ...wide, ')'], {
    ...given,
    range: isHeld ? bounds : range,
    isStable: isFraction ? isStable && isDyadic : isStable,
    isDyadic: isFraction && isDyadic && isStable,
  });
}

function sumKindOf(
  kind: Kind,
): Exclude<Kind, 'f32' | 'bool' | 'string' | 'timestamp' | 'bytes' | 'uuid' | 'enum'> {
  switch (kind) {
    case 'i8':
    case 'i16':
    case 'i32':
      return 'i64';
    case 'u8':
    case 'u16':
    case 'u32':
      return 'u64';
    case 'i64':
      return 'i128';
    case 'u64':
      return 'u128';
    case 'f32':
    case 'f64':
      return 'f64';
    case 'duration':
    case 'i128':
    case 'u128':
    case 'i256':
    case 'u256':
      return kind;
    default:
      throw new Error(`${kind} has no sum`);
  }
}

const noSubqueries: Scope['subqueries'] = {
  scalar: () => undefined,
  column: () => undefined,
  columns: () => undefined,
  any: () => undefined,
};

/** Subqueries of a statement that is not itself a query. */
export function subqueriesOver(
  given: Pick<Wish, 'random' | 'names' | 'sources'>,
): Scope['subqueries'] {
  const inner = { outerAtoms: [], times: 1, depth: 1, mayRaise: false, isFinal: false };
  return subqueryMaker({ ...given, ...inner });
}

/** Queries inside expressions, correlated when they name columns of their surroundings. */
function subqueryMaker(wish: Wish): Scope['subqueries'] {
  const innerOf = (scope: Scope): Wish => ({
    ...withoutKinds(wish),
    sources: scope.sources,
    outerAtoms: [...scope.atoms, ...scope.outerAtoms]
      .filter((atom) => atom.isColumn)
      .map(withoutWhole),
    times: Math.max(1, scope.rows),
    depth: scope.depth - 1,
    mayRaise: false,
    isFinal: false,
  });
  const fits = (scope: Scope) => Math.max(1, scope.rows) * 12 <= rowsMax;
  return {
    scalar: (scope, kind) => {
      if (!fits(scope)) return undefined;
      const { query, items } = completeQuery({ ...innerOf(scope), kinds: [kind] });
      const [item] = items;
      if (item === undefined || query.limit === 0) return undefined;
      // A name alone is a text there.
      if (kind === 'enum' && !item.expression.isTyped) return undefined;
      const orderBy = query.orderBy.length > 0 ? query.orderBy : [orderOf(1, scope.random)];
      return { query: { ...query, orderBy, limit: 1 }, item: item.expression };
    },
    column: (scope, kind) =>
      fits(scope) ? completeQuery({ ...innerOf(scope), kinds: [kind] }).query : undefined,
    columns: (scope, kinds) =>
      fits(scope) ? completeQuery({ ...innerOf(scope), kinds }).query : undefined,
    any: (scope) => (fits(scope) ? completeQuery(innerOf(scope)).query : undefined),
  };
}
