import { assert, present } from '../../assert.ts';
import type { Typespace } from '../../values/type.ts';
import { canRaise } from '../check/can-raise.ts';
import { comparedColumn, equalityOf, inSafeOrder, isNever } from '../check/conjuncts.ts';
import type { TypedExpression } from '../check/typed.ts';
import { hasCorrelation, hasSubquery, needsOf, outerNeedsOf } from '../check/typed-expression.ts';
import { type ChosenAccess, chooseAccess, type IndexesOfTable } from './access.ts';
import type { FlatBlock, FlatRelation } from './flatten.ts';
import type { PlanOptions, RowsPlan, SourcePlan, TuplesPlan } from './plan.ts';
import { operandsOf } from './search-access.ts';
import { distinctValues, selectivityOf } from './selectivity.ts';
import type { Statistics } from './statistics.ts';

export interface JoinScope {
  readonly statistics: Statistics;
  readonly types: Typespace;
  readonly options: PlanOptions;
  /** Plans the rows of a relation that is not a table. */
  readonly rowsOf: (relation: FlatRelation) => DerivedRows;
}

export interface DerivedRows {
  readonly from: Exclude<SourcePlan['from'], { readonly kind: 'table' }>;
  readonly rows: RowsPlan;
}

/** Up to this many relations, each one is tried as the first; more are joined as written. */
const triedRelationsMax = 8;

/**
 * Joins the relations of a block and evaluates all its conditions. Chooses the order greedily from
 * every possible start by the rows that have to be looked at; a left join waits for the relations
 * that its condition needs, and no condition on its null side is evaluated before it.
 */
export function joinRelations(block: FlatBlock, scope: JoinScope): TuplesPlan {
  const { relations } = block;
  if (relations.length === 0) return filtered(one, block.conjuncts, block.security);
  const search = new JoinSearch(block, scope);
  if (!scope.options.optimise) return search.asWritten();
  if (block.conjuncts.some(isNever)) return { kind: 'nothing', estimate: { rows: 0, cost: 0 } };
  return search.best();
}

const one: TuplesPlan = { kind: 'one', estimate: { rows: 1, cost: 0 } };

export function filtered(
  input: TuplesPlan,
  conditions: readonly TypedExpression[],
  security: ReadonlySet<TypedExpression> = noTerms,
): TuplesPlan {
  if (conditions.length === 0) return input;
  const secret = conditions.filter((term) => security.has(term));
  const others = conditions.filter((term) => !security.has(term));
  const { rows, cost } = input.estimate;
  const share = conditions.reduce((total, term) => total * selectivityOf(term, () => 10), 1);
  const estimate = { rows: rows * share, cost: cost + rows };
  return { kind: 'filter', input, conditions: inSafeOrder(secret, others), estimate };
}

const noTerms: ReadonlySet<TypedExpression> = new Set();

/** The relations joined so far, and the conditions still to be evaluated. */
interface Joined {
  readonly plan: TuplesPlan | undefined;
  readonly placed: ReadonlySet<number>;
  readonly pending: readonly TypedExpression[];
}

class JoinSearch {
  readonly #block: FlatBlock;
  readonly #scope: JoinScope;
  readonly #slots: ReadonlySet<number>;
  readonly #derived = new Map<number, DerivedRows>();
  readonly #relationOf = new Map<number, FlatRelation>();

  constructor(block: FlatBlock, scope: JoinScope) {
    this.#block = block;
    this.#scope = scope;
    this.#slots = new Set(block.relations.map(({ slot }) => slot));
    for (const relation of block.relations) this.#relationOf.set(relation.slot, relation);
  }

  asWritten(): TuplesPlan {
    let joined = this.#nothingJoined([]);
    for (const relation of this.#block.relations) joined = this.#add(joined, relation);
    const { plan } = joined;
    const { conjuncts, security } = this.#block;
    return filtered(present(plan, 'plan of a join'), conjuncts, security);
  }

  best(): TuplesPlan {
    const { relations } = this.#block;
    const starts = relations.filter((one) => one.on === undefined && !this.#isLateral(one));
    const isTried = relations.length <= triedRelationsMax;
    let best: TuplesPlan | undefined;
    for (const start of isTried ? starts : starts.slice(0, 1)) {
      const plan = this.#from(start, isTried);
      if (best === undefined || plan.estimate.cost < best.estimate.cost) best = plan;
    }
    return present(best, 'a plan of the join');
  }

  #nothingJoined(pending: readonly TypedExpression[]): Joined {
    return { plan: undefined, placed: new Set(), pending };
  }

  /** Adds the cheapest relation repeatedly; left joins come when nothing else is left. */
  #from(start: FlatRelation, isFree: boolean): TuplesPlan {
    const { relations, conjuncts, isRaisingLast, security } = this.#block;
    // A subquery evaluated for each row could exceed its time for a hidden one.
    const isLate = (term: TypedExpression): boolean =>
      isRaisingLast && !security.has(term) && (canRaise(term) || hasCorrelation(term));
    const late = conjuncts.filter(isLate);
    const early = conjuncts.filter((term) => !isLate(term));
    let joined = this.#add(this.#nothingJoined(early), start);
    const left = relations.filter((relation) => relation !== start);
    while (left.length > 0) {
      const next = isFree ? this.#cheapest(joined, left) : this.#nextWritten(joined, left);
      joined = this.#add(joined, next);
      left.splice(left.indexOf(next), 1);
    }
    const plan = present(joined.plan, 'plan of a join');
    assert(joined.pending.length === 0, 'every condition is asked when all relations are joined');
    return filtered(plan, late, security);
  }

  #nextWritten(joined: Joined, left: readonly FlatRelation[]): FlatRelation {
    const ready = left.filter((relation) => this.#isReady(joined, relation));
    const next = ready.find((relation) => !this.#isLateral(relation)) ?? ready[0];
    return present(next, 'a relation that can be joined next');
  }

  #cheapest(joined: Joined, left: readonly FlatRelation[]): FlatRelation {
    const inner = left.filter((one) => one.on === undefined && !this.#isLateral(one));
    const among = inner.length > 0 ? inner : left.filter((one) => this.#isReady(joined, one));
    if (among.length === 1) return present(among[0], 'the only relation');
    const connected = among.filter((relation) => this.#isConnected(joined, relation));
    let best: { readonly relation: FlatRelation; readonly cost: number } | undefined;
    for (const relation of connected.length > 0 ? connected : among) {
      const { estimate } = present(this.#add(joined, relation).plan, 'plan of a join');
      // Every following step pays for the rows that come out.
      const cost = estimate.cost + estimate.rows;
      if (best === undefined || cost < best.cost) best = { relation, cost };
    }
    return present(best, 'a relation that can be joined next').relation;
  }

  /**
   * Whether its rows depend on those of other relations of the block. It comes after all that do
   * not: then filters of row-level security have been asked before its rows are computed.
   */
  #isLateral({ source }: FlatRelation): boolean {
    if (source.kind !== 'query') return false;
    return [...outerNeedsOf(source.query).slots].some((slot) => this.#slots.has(slot));
  }

  #isReady({ placed }: Joined, { on = [], slot, source }: FlatRelation): boolean {
    if (source.kind === 'query') {
      const { slots } = outerNeedsOf(source.query);
      for (const needed of slots) {
        if (this.#slots.has(needed) && !placed.has(needed)) return false;
      }
    }
    return on.every((term) => this.#isPlaced(term, placed, slot));
  }

  #isConnected({ placed, pending }: Joined, { slot }: FlatRelation): boolean {
    return pending.some((term) => {
      const { slots } = needsOf(term);
      return slots.has(slot) && [...slots].some((other) => placed.has(other));
    });
  }

  /** Whether the term has all it needs of this block, including `slot`. */
  #isPlaced(term: TypedExpression, placed: ReadonlySet<number>, slot: number): boolean {
    for (const needed of needsOf(term).slots) {
      if (needed !== slot && this.#slots.has(needed) && !placed.has(needed)) return false;
    }
    return true;
  }

  #add(joined: Joined, relation: FlatRelation): Joined {
    const placed = new Set(joined.placed).add(relation.slot);
    const ready = joined.pending.filter((term) =>
      this.#isPlaced(term, joined.placed, relation.slot),
    );
    const pending = joined.pending.filter((term) => !ready.includes(term));
    const { on } = relation;
    if (on !== undefined) {
      const plan = this.#join(present(joined.plan, 'what is joined'), relation, on, true);
      return { plan: filtered(plan, ready, this.#block.security), placed, pending };
    }
    if (joined.plan === undefined) return { plan: this.#source(relation, ready), placed, pending };
    // Subqueries are evaluated as late as possible: other conditions filter the pairs first.
    const plan = this.#join(joined.plan, relation, ready, false);
    return { plan, placed, pending };
  }

  #join(
    outer: TuplesPlan,
    relation: FlatRelation,
    terms: readonly TypedExpression[],
    isLeft: boolean,
  ): TuplesPlan {
    const { slot } = relation;
    if (this.#isLateral(relation)) return this.#lateralLoop(outer, relation, terms, isLeft);
    const isOwn = (term: TypedExpression): boolean => this.#needsOnly(term, slot);
    if (!this.#scope.options.optimise) return this.#keptLoop(outer, relation, [], terms, isLeft);
    const own = terms.filter(isOwn);
    const shared = terms.filter((term) => !isOwn(term));
    const indexed = this.#indexLoop(outer, relation, terms, isLeft);
    const hashed = this.#hash(outer, relation, { own, shared, isLeft });
    const candidates = [indexed, hashed].filter((plan) => plan !== undefined);
    if (hashed === undefined) {
      candidates.push(this.#keptLoop(outer, relation, own, shared, isLeft));
    }
    candidates.sort((a, b) => a.estimate.cost - b.estimate.cost);
    return present(candidates[0], 'a way to join');
  }

  #needsOnly(term: TypedExpression, slot: number): boolean {
    const { slots } = needsOf(term);
    for (const needed of slots) if (needed !== slot && this.#slots.has(needed)) return false;
    return slots.has(slot);
  }

  /** For each outer tuple, looks up the key that it gives in an index. */
  #indexLoop(
    outer: TuplesPlan,
    relation: FlatRelation,
    terms: readonly TypedExpression[],
    isLeft: boolean,
  ): TuplesPlan | undefined {
    const inner = this.#source(relation, terms, true);
    if (inner.from.kind !== 'table' || inner.access.kind === 'scan') return undefined;
    if (!this.#isKeyedByOuter(inner)) return undefined;
    return openedEach(outer, inner, isLeft);
  }

  /** Computes the inner rows again for each outer tuple. */
  #lateralLoop(
    outer: TuplesPlan,
    relation: FlatRelation,
    terms: readonly TypedExpression[],
    isLeft: boolean,
  ): TuplesPlan {
    const inner = this.#source(relation, terms, true);
    return openedEach(outer, inner, isLeft);
  }

  #isKeyedByOuter({ access, slot }: SourcePlan): boolean {
    const keys: TypedExpression[] = [];
    if (access.kind === 'point') keys.push(...access.keys);
    else if (access.kind === 'points') keys.push(...access.keys.flat());
    else if (access.kind === 'search') keys.push(...operandsOf(access.search));
    else if (access.kind === 'range') {
      keys.push(...access.prefix);
      if (access.lower !== undefined) keys.push(access.lower.value);
      if (access.upper !== undefined) keys.push(access.upper.value);
    }
    return keys.some((key) =>
      [...needsOf(key).slots].some((needed) => needed !== slot && this.#slots.has(needed)),
    );
  }

  #hash(outer: TuplesPlan, relation: FlatRelation, terms: JoinTerms): TuplesPlan | undefined {
    const { slot } = relation;
    const outerKeys: TypedExpression[] = [];
    const innerKeys: TypedExpression[] = [];
    const conditions: TypedExpression[] = [];
    for (const term of terms.shared) {
      const sides = this.#sidesOf(term, slot);
      if (sides === undefined) conditions.push(term);
      else {
        outerKeys.push(sides.outer);
        innerKeys.push(sides.inner);
      }
    }
    if (outerKeys.length === 0) return undefined;
    const inner = this.#source(relation, terms.own);
    const { rows, cost } = outer.estimate;
    const share = terms.shared.reduce((total, term) => total * this.#shareOf(term), 1);
    const pairs = rows * inner.estimate.rows * share;
    const estimate = {
      rows: terms.isLeft ? Math.max(rows, pairs) : pairs,
      cost: cost + inner.estimate.cost + inner.estimate.rows * 2 + rows * 0.7,
    };
    const safe = inSafeOrder([], conditions);
    const { isLeft } = terms;
    return {
      kind: 'hash',
      isLeft,
      outer,
      inner,
      outerKeys,
      innerKeys,
      conditions: safe,
      estimate,
    };
  }

  /** The two sides of `outer = inner`. A side that can raise is not computed for unmatched rows. */
  #sidesOf(
    term: TypedExpression,
    slot: number,
  ): { readonly outer: TypedExpression; readonly inner: TypedExpression } | undefined {
    const equality = equalityOf(term);
    if (equality === undefined || canRaise(term) || hasSubquery(term)) return undefined;
    const { left, right } = equality;
    if (this.#needsOnly(right, slot) && !needsOf(left).slots.has(slot)) {
      return { outer: left, inner: right };
    }
    if (this.#needsOnly(left, slot) && !needsOf(right).slots.has(slot)) {
      return { outer: right, inner: left };
    }
    return undefined;
  }

  #keptLoop(
    outer: TuplesPlan,
    relation: FlatRelation,
    own: readonly TypedExpression[],
    shared: readonly TypedExpression[],
    isLeft: boolean,
  ): TuplesPlan {
    const inner = this.#source(relation, own);
    const { rows, cost } = outer.estimate;
    const share = shared.reduce((total, term) => total * this.#shareOf(term), 1);
    const pairs = rows * inner.estimate.rows;
    const estimate = {
      rows: isLeft ? Math.max(rows, pairs * share) : pairs * share,
      cost: cost + inner.estimate.cost + pairs,
    };
    const secret = shared.filter((term) => this.#block.security.has(term));
    const others = shared.filter((term) => !this.#block.security.has(term));
    const conditions = inSafeOrder(secret, others);
    return { kind: 'loop', isLeft, outer, inner, isInnerKept: true, conditions, estimate };
  }

  /**
   * One relation with the conditions that can be evaluated once its row is there. `isInner`: the
   * other relations that the conditions need have their rows.
   */
  #source(
    relation: FlatRelation,
    terms: readonly TypedExpression[],
    isInner: boolean = false,
  ): SourcePlan {
    const { slot, name, source, secrecy } = relation;
    const { security } = this.#block;
    const secret = [...relation.security, ...terms.filter((term) => security.has(term))];
    const others = terms.filter((term) => !security.has(term));
    const chosen = this.#access(relation, [...secret, ...others], isInner);
    const rest = new Set(chosen.rest);
    const conditions = inSafeOrder(
      secret.filter((term) => rest.has(term)),
      others.filter((term) => rest.has(term)),
    );
    const share = chosen.rest.reduce((total, term) => total * this.#shareOf(term), 1);
    const estimate = { rows: chosen.rows * share, cost: this.#costOf(relation, chosen.rows) };
    const from: SourcePlan['from'] =
      source.kind === 'table'
        ? { kind: 'table', table: source.table }
        : this.#derivedOf(relation).from;
    const { access } = chosen;
    return { kind: 'source', slot, name, from, access, conditions, secrecy, estimate };
  }

  #access(
    { source, slot }: FlatRelation,
    terms: readonly TypedExpression[],
    isInner: boolean,
  ): ChosenAccess {
    const { options, statistics, types } = this.#scope;
    if (source.kind !== 'table') {
      const rows = this.#derivedOf(present(this.#relationOf.get(slot), 'relation')).rows;
      return { access: { kind: 'scan' }, rest: terms, rows: rows.estimate.rows };
    }
    const { table } = source;
    const indexes = options.useIndexes && options.optimise ? table : noIndexes;
    const isBlocked = (needed: number): boolean =>
      needed === slot || (!isInner && this.#slots.has(needed));
    return chooseAccess(terms, indexes, { table, slot, isBlocked, statistics, types });
  }

  #costOf(relation: FlatRelation, rows: number): number {
    if (relation.source.kind === 'table') return rows;
    return this.#derivedOf(relation).rows.estimate.cost + rows;
  }

  #derivedOf(relation: FlatRelation): DerivedRows {
    const known = this.#derived.get(relation.slot);
    if (known !== undefined) return known;
    const rows = this.#scope.rowsOf(relation);
    this.#derived.set(relation.slot, rows);
    return rows;
  }

  #shareOf(term: TypedExpression): number {
    return selectivityOf(term, (e) => this.#distinctOf(e));
  }

  #distinctOf(expression: TypedExpression): number {
    const compared = comparedColumn(expression);
    if (compared === undefined) return 1;
    const relation = this.#relationOf.get(compared.slot);
    if (relation === undefined) return 1;
    const { source } = relation;
    const { statistics } = this.#scope;
    if (source.kind === 'table') {
      const rows = statistics.rowCount(source.table);
      return distinctValues(source.table, compared.column, rows, statistics);
    }
    const { rows } = this.#derivedOf(relation).rows.estimate;
    return distinctValues(undefined, compared.column, rows, statistics);
  }
}

const noIndexes: IndexesOfTable = { indexes: [], derivedIndexes: [] };

/** The inner side is opened for each outer tuple, and asks all conditions. */
function openedEach(outer: TuplesPlan, inner: SourcePlan, isLeft: boolean): TuplesPlan {
  const { rows, cost } = outer.estimate;
  const estimate = {
    rows: Math.max(isLeft ? rows : 0, rows * inner.estimate.rows),
    cost: cost + rows * (1 + inner.estimate.cost),
  };
  return { kind: 'loop', isLeft, outer, inner, isInnerKept: false, conditions: [], estimate };
}

interface JoinTerms {
  /** Conditions on the inner relation alone. */
  readonly own: readonly TypedExpression[];
  readonly shared: readonly TypedExpression[];
  readonly isLeft: boolean;
}
