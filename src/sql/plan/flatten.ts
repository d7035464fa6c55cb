import { assert, present } from '../../assert.ts';
import { canRaise } from '../check/can-raise.ts';
import { conjunctsOf, rejectsNull } from '../check/conjuncts.ts';
import { sizeOfExpression } from '../check/size.ts';
import type {
  OrderKey,
  TypedBlock,
  TypedColumn,
  TypedExpression,
  TypedGrouping,
  TypedQuery,
  TypedRelation,
} from '../check/typed.ts';
import {
  mapExpression,
  mapQuery,
  needsOf,
  outerNeedsOf,
  visitExpression,
  visitQuery,
} from '../check/typed-expression.ts';
import type { Secrecy } from './plan.ts';
import { pruneColumns, pushInto } from './pushdown.ts';

/**
 * A block prepared for choosing joins: conditions split, simple derived queries and the stand-ins
 * of filtered tables flattened, conditions moved to where they filter earliest.
 */
export interface FlatBlock {
  readonly relations: readonly FlatRelation[];
  /** WHERE and the conditions of inner joins: all must hold. */
  readonly conjuncts: readonly TypedExpression[];
  /** The conjuncts that come from row-level security. */
  readonly security: ReadonlySet<TypedExpression>;
  /**
   * True if a filter of row-level security spans several relations: expressions that can raise an
   * error are evaluated once all of them are joined.
   */
  readonly isRaisingLast: boolean;
  readonly grouping: TypedGrouping | undefined;
  readonly having: TypedExpression | undefined;
  readonly items: readonly TypedExpression[];
  readonly isDistinct: boolean;
  readonly order: readonly OrderKey[];
}

export interface FlatRelation {
  readonly slot: number;
  readonly name: string;
  readonly source: TypedRelation['source'];
  readonly security: readonly TypedExpression[];
  readonly secrecy: Secrecy;
  /** The conditions of the left join whose null side this is; `undefined`: not a null side. */
  readonly on: readonly TypedExpression[] | undefined;
}

export interface FlattenScope {
  readonly optimise: boolean;
  /** How often each common table is named in the statement. */
  readonly commonUses: ReadonlyMap<number, number>;
  readonly fold: (expression: TypedExpression) => TypedExpression;
}

export function flattenBlock(
  block: TypedBlock,
  order: readonly OrderKey[],
  scope: FlattenScope,
): FlatBlock {
  const flattening = new Flattening(block, order, scope);
  if (scope.optimise) flattening.improve();
  return flattening.finish();
}

class Flattening {
  #relations: FlatRelation[];
  #conjuncts: TypedExpression[];
  #security = new Set<TypedExpression>();
  #isRaisingLast = false;
  #grouping: TypedGrouping | undefined;
  #having: TypedExpression | undefined;
  #items: readonly TypedExpression[];
  #order: readonly OrderKey[];
  readonly #isDistinct: boolean;
  readonly #scope: FlattenScope;

  constructor(block: TypedBlock, order: readonly OrderKey[], scope: FlattenScope) {
    this.#scope = scope;
    const split = (e: TypedExpression | undefined): readonly TypedExpression[] =>
      e === undefined ? [] : conjunctsOf(scope.fold(e));
    this.#relations = block.relations.map((relation, at) => {
      const join = at === 0 ? undefined : present(block.joins[at - 1], 'join of a relation');
      return {
        slot: relation.slot,
        name: relation.name,
        source: relation.source,
        security: split(relation.security),
        secrecy: relation.security !== undefined || isBarrier(relation) ? 'rows' : 'none',
        on: join?.kind === 'left' ? split(join.condition) : undefined,
      };
    });
    const inner = block.joins.filter(({ kind }) => kind === 'inner');
    this.#conjuncts = [
      ...inner.flatMap(({ condition }) => split(condition)),
      ...split(block.where),
    ];
    this.#grouping = block.grouping;
    this.#having = block.having;
    this.#items = block.items;
    this.#order = order;
    this.#isDistinct = block.isDistinct;
  }

  improve(): void {
    this.#reduceLeftJoins();
    // Derived queries inside it are already flattened, as far as possible.
    for (let at = 0; at < this.#relations.length; ) {
      const before = this.#relations.length;
      at += this.#open(at) ? this.#relations.length - before + 1 : 1;
    }
    this.#reduceLeftJoins();
    this.#pushDown();
    this.#prune();
  }

  finish(): FlatBlock {
    return {
      relations: this.#relations,
      conjuncts: this.#conjuncts,
      security: this.#security,
      isRaisingLast: this.#isRaisingLast,
      grouping: this.#grouping,
      having: this.#having,
      items: this.#items,
      isDistinct: this.#isDistinct,
      order: this.#order,
    };
  }

  /** Makes a left join whose absent rows no condition lets through an inner join. */
  #reduceLeftJoins(): void {
    for (let isChanged = true; isChanged; ) {
      isChanged = false;
      for (const [at, relation] of this.#relations.entries()) {
        const { on, slot } = relation;
        if (on === undefined) continue;
        if (!this.#conjuncts.some((term) => rejectsNull(term, slot))) continue;
        this.#relations[at] = { ...relation, on: undefined };
        this.#conjuncts = [...on, ...this.#conjuncts];
        isChanged = true;
      }
    }
  }

  /** Replaces a derived query by its relations; returns false if that is not possible. */
  #open(at: number): boolean {
    const relation = present(this.#relations[at], 'relation');
    const { source, slot } = relation;
    if (source.kind !== 'query' || this.#isShared(source.commonTable)) return false;
    const { query, isBarrier: isSecured } = source;
    const block = openableBlock(query);
    if (block === undefined) return false;
    if (relation.on !== undefined) return this.#openNullSide(at, block);
    const inside = flattenBlock(block, query.order, this.#scope);
    if (!isSecured && this.#repeats(slot, inside.items)) return false;
    this.#takeOrder(inside);
    const { relations } = inside;
    assert(inside.grouping === undefined, 'an opened block has no groups');
    if (isSecured && relations.length > 1) this.#isRaisingLast = true;
    const [only] = relations;
    if (isSecured && only !== undefined && relations.length === 1) {
      const security = [...only.security, ...inside.conjuncts, ...relation.security];
      this.#relations.splice(at, 1, { ...only, name: relation.name, security, secrecy: 'rows' });
    } else {
      const marked = isSecured
        ? relations.map((each): FlatRelation => ({ ...each, secrecy: 'all' }))
        : relations;
      this.#relations.splice(at, 1, ...marked);
      this.#conjuncts = [...inside.conjuncts, ...relation.security, ...this.#conjuncts];
      if (isSecured || relation.security.length > 0) {
        for (const term of [...inside.conjuncts, ...relation.security]) this.#security.add(term);
      }
    }
    for (const term of inside.security) this.#security.add(term);
    if (inside.isRaisingLast) this.#isRaisingLast = true;
    this.#substitute(slot, inside.items);
    return true;
  }

  /** Whether large expressions would be written, and computed, in place of one name. */
  #repeats(slot: number, items: readonly TypedExpression[]): boolean {
    if (items.every((item) => sizeOfExpression(item) === 1)) return false;
    const places = new Map<number, number>();
    this.#eachColumn(slot, ({ column }) => places.set(column, (places.get(column) ?? 0) + 1));
    let added = 0;
    for (const [column, count] of places) {
      added += (count - 1) * sizeOfExpression(present(items[column], 'column of a derived query'));
    }
    return added > repeatedSizeMax;
  }

  /** Rows that are returned as they come keep the order of the only query they come from. */
  #takeOrder({ order, items }: FlatBlock): void {
    const isAsItComes = this.#grouping === undefined && !this.#isDistinct;
    if (!isAsItComes || this.#order.length > 0 || this.#relations.length > 1) return;
    this.#order = order.map((one) => {
      const { key } = one;
      if (key.kind === 'expression') return one;
      const expression = present(items[key.column], 'an ordered column');
      return { ...one, key: { kind: 'expression', expression } };
    });
  }

  /** The null side of a left join: one relation, whose columns are returned unchanged. */
  #openNullSide(at: number, block: TypedBlock): boolean {
    const relation = present(this.#relations[at], 'relation');
    const { source, slot, on } = relation;
    assert(source.kind === 'query' && on !== undefined, 'the null side of a left join');
    const inside = flattenBlock(block, [], this.#scope);
    const [only] = inside.relations;
    if (only === undefined || inside.relations.length > 1 || relation.security.length > 0) {
      return false;
    }
    if (!inside.items.every((item) => item.kind === 'column' && item.slot === only.slot)) {
      return false;
    }
    const { conjuncts } = inside;
    const opened: FlatRelation = source.isBarrier
      ? { ...only, security: [...only.security, ...conjuncts], secrecy: 'rows', on }
      : { ...only, on: [...conjuncts, ...on] };
    this.#relations.splice(at, 1, { ...opened, name: relation.name });
    this.#substitute(
      slot,
      inside.items.map((item) => ({ ...item, isNullable: true })),
    );
    return true;
  }

  #isShared(commonTable: number | undefined): boolean {
    if (commonTable === undefined) return false;
    return (this.#scope.commonUses.get(commonTable) ?? 1) > 1;
  }

  /** Replaces columns of `slot` by the expressions that the derived query computes them from. */
  #substitute(slot: number, items: readonly TypedExpression[]): void {
    const map = (e: TypedExpression): TypedExpression => substitute(e, slot, items);
    const mapMarked = (terms: readonly TypedExpression[]): TypedExpression[] =>
      terms.map((term) => {
        if (!needsOf(term).slots.has(slot)) return term;
        const mapped = map(term);
        if (this.#security.has(term)) this.#security.add(mapped);
        return mapped;
      });
    this.#conjuncts = mapMarked(this.#conjuncts);
    this.#relations = this.#relations.map((relation) => ({
      ...relation,
      security: mapMarked(relation.security),
      on: relation.on && mapMarked(relation.on),
      source: substituteInSource(relation.source, slot, items),
    }));
    this.#items = this.#items.map(map);
    this.#having = this.#having && map(this.#having);
    this.#grouping = this.#grouping && {
      ...this.#grouping,
      keys: this.#grouping.keys.map(map),
      aggregates: this.#grouping.aggregates.map((aggregate) => ({
        ...aggregate,
        argument: aggregate.argument && map(aggregate.argument),
      })),
    };
    this.#order = this.#order.map((order) => {
      const { key } = order;
      if (key.kind === 'output') return order;
      return { ...order, key: { ...key, expression: map(key.expression) } };
    });
  }

  /** Moves conditions on one derived query into it, if that keeps their meaning. */
  #pushDown(): void {
    for (const [at, relation] of this.#relations.entries()) {
      const { source, slot } = relation;
      if (source.kind !== 'query' || this.#isShared(source.commonTable)) continue;
      const { isBarrier: isSecured } = source;
      let { query } = source;
      const push = (term: TypedExpression): boolean => {
        const needs = needsOf(term);
        const isOwn = needs.slots.size === 1 && needs.slots.has(slot) && needs.values.size === 0;
        if (!isOwn || (isSecured && canRaise(term))) return false;
        const pushed = pushInto(query, term, slot, isSecured);
        if (pushed !== undefined) query = pushed;
        return pushed !== undefined;
      };
      let { on } = relation;
      if (on === undefined) {
        this.#conjuncts = this.#conjuncts.filter((term) => this.#security.has(term) || !push(term));
      } else {
        on = on.filter((term) => !push(term));
      }
      this.#relations[at] = { ...relation, on, source: { ...source, query } };
    }
  }

  /** Drops columns of derived queries that are never read. */
  #prune(): void {
    for (const [at, relation] of this.#relations.entries()) {
      const { source, slot } = relation;
      if (source.kind !== 'query' || this.#isShared(source.commonTable)) continue;
      const used = this.#columnsUsed(slot);
      const query = pruneColumns(source.query, used);
      this.#relations[at] = { ...relation, source: { ...source, query } };
    }
  }

  #columnsUsed(slot: number): ReadonlySet<number> {
    const used = new Set<number>();
    this.#eachColumn(slot, ({ column }) => used.add(column));
    return used;
  }

  /** Finds every place where a column of `slot` is read. */
  #eachColumn(slot: number, visit: (column: TypedColumn) => void): void {
    const look = (e: TypedExpression | undefined): void => {
      if (e === undefined || !needsOf(e).slots.has(slot)) return;
      visitExpression(e, (inner) => {
        if (inner.kind === 'column' && inner.slot === slot) visit(inner);
      });
    };
    for (const term of this.#conjuncts) look(term);
    for (const { security, on, source } of this.#relations) {
      for (const e of [...security, ...(on ?? [])]) look(e);
      if (source.kind !== 'query' || !outerNeedsOf(source.query).slots.has(slot)) continue;
      visitQuery(source.query, (inner) => {
        if (inner.kind === 'column' && inner.slot === slot) visit(inner);
      });
    }
    for (const item of this.#items) look(item);
    look(this.#having);
    for (const key of this.#grouping?.keys ?? []) look(key);
    for (const { argument } of this.#grouping?.aggregates ?? []) look(argument);
    for (const { key } of this.#order) if (key.kind === 'expression') look(key.expression);
  }
}

/**
 * The size of expressions that flattening a derived query may duplicate: nested ones would double
 * at each level.
 */
const repeatedSizeMax = 64;

function isBarrier({ source }: TypedRelation): boolean {
  return source.kind === 'query' && source.isBarrier;
}

/** The block of a query that is only a join with conditions. */
function openableBlock({ body, limit, offset }: TypedQuery): TypedBlock | undefined {
  if (body.kind !== 'block' || limit !== undefined || offset !== undefined) return undefined;
  if (body.grouping !== undefined || body.having !== undefined || body.isDistinct) return undefined;
  if (body.relations.length === 0 || body.joins.some(({ kind }) => kind === 'left')) {
    return undefined;
  }
  return body;
}

/** In a relation that needs the rows of another. */
function substituteInSource(
  source: TypedRelation['source'],
  slot: number,
  items: readonly TypedExpression[],
): TypedRelation['source'] {
  if (source.kind !== 'query' || !outerNeedsOf(source.query).slots.has(slot)) return source;
  return { ...source, query: mapQuery(source.query, columnsAs(slot, items)) };
}

function substitute(
  expression: TypedExpression,
  slot: number,
  items: readonly TypedExpression[],
): TypedExpression {
  if (!needsOf(expression).slots.has(slot)) return expression;
  return mapExpression(expression, columnsAs(slot, items));
}

/** Replaces the columns of a slot. */
function columnsAs(
  slot: number,
  items: readonly TypedExpression[],
): (e: TypedExpression) => TypedExpression | undefined {
  return (e) => {
    if (e.kind !== 'column' || e.slot !== slot) return undefined;
    const item = present(items[e.column], 'column of a derived query');
    return e.isNullable && item.kind === 'column' ? { ...item, isNullable: true } : item;
  };
}
