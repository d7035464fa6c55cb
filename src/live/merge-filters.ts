import { conjunction, conjunctsOf } from '../sql/check/conjuncts.ts';
import type {
  TypedBlock,
  TypedExpression,
  TypedJoin,
  TypedQuery,
  TypedRelation,
} from '../sql/check/typed.ts';
import { mapExpression, mapQuery } from '../sql/check/typed-expression.ts';

/**
 * A query whose tables have row filters that join, as one block with the same rows: the relations
 * of a filter stand where the table stood, and its conditions are among those of the query.
 *
 * The filter is no barrier any more, so nothing that can fail may be evaluated before all
 * conditions hold. Slots become positions. A query with outer joins, or
 * with several such filters of one table, is returned as it is.
 */
export function mergeFilters(query: TypedQuery): TypedQuery {
  const { body } = query;
  if (body.kind !== 'block' || !body.relations.some(({ source }) => source.kind === 'query')) {
    return query;
  }
  const merged = new MergedBlock();
  if (!merged.add(body, undefined)) return query;
  const { relations, joins } = merged;
  const where = conjunction(merged.conditions);
  const block = { ...body, relations, joins: joins.slice(1), where };
  return mapQuery({ ...query, body: block }, (e) => merged.renumbered(e));
}

class MergedBlock {
  readonly relations: TypedRelation[] = [];
  /** By relation: how it is joined with those before it. */
  readonly joins: TypedJoin[] = [];
  readonly conditions: TypedExpression[] = [];
  /** By old slot. */
  readonly #positions = new Map<number, number>();
  /** By the slot of a table that is a relation no more: its columns. */
  readonly #rows = new Map<number, readonly TypedExpression[]>();

  /** `around`: how the first relation is joined. Returns false if there is no such block. */
  add(block: TypedBlock, around: TypedJoin | undefined): boolean {
    this.conditions.push(...conjunctsOf(block.where));
    return block.relations.every((relation, at) => {
      const join = at === 0 ? around : block.joins[at - 1];
      return join?.kind !== 'left' && this.#addRelation(relation, join ?? crossed);
    });
  }

  #addRelation(relation: TypedRelation, join: TypedJoin): boolean {
    const { source, slot } = relation;
    if (source.kind === 'table') {
      this.#positions.set(slot, this.relations.length);
      this.relations.push({ ...relation, slot: this.relations.length });
      this.joins.push(join);
      return true;
    }
    const { body } = source.query;
    if (source.secured === undefined || body.kind !== 'block') return false;
    this.#rows.set(slot, body.items);
    return this.add(body, join);
  }

  renumbered(e: TypedExpression): TypedExpression | undefined {
    if (e.kind !== 'column') return undefined;
    const merged = this.#rows.get(e.slot)?.[e.column];
    if (merged !== undefined) return mapExpression(merged, (inner) => this.renumbered(inner));
    return { ...e, slot: this.#positions.get(e.slot) ?? e.slot };
  }
}

const crossed: TypedJoin = { kind: 'inner', condition: undefined };
