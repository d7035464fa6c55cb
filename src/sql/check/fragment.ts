import { assert, present } from '../../assert.ts';
import type { TableSpec } from '../../schema/catalog.ts';
import type { NamedRelation, Relation, Select } from '../syntax/ast.ts';
import { tableNamed } from './check-from.ts';
import { checkItems } from './check-select.ts';
import type { Choices } from './choices.ts';
import { type Environment, refuse, type StatementContext } from './context.ts';
import {
  allOf,
  exclusion,
  type Filter,
  filterEnvironment,
  filtersOf,
  isOfOneTable,
  returnedName,
} from './row-security.ts';
import { columnsOfTable, requireDistinct, type Scope, type ScopeRelation } from './scope.ts';
import { typeCondition } from './type-expression.ts';
import type { TypedBlock, TypedExpression, TypedJoin, TypedRelation } from './typed.ts';

/** One relation of FROM after its filters were applied. */
interface Occurrence {
  readonly table: TableSpec;
  readonly inScope: ScopeRelation;
  /** Position of its relation in the fragment, unless a filter brought others along. */
  readonly position: number | undefined;
}

/**
 * Builds one fragment: the relations of a query in the subscription dialect and those of the
 * filters that apply to them, side by side. For each table with several filters `choices` selects
 * the one that this fragment uses; it leaves out the rows that earlier filters let through.
 */
export class FragmentBuilder {
  readonly #statement: StatementContext;
  readonly #choices: Choices;
  readonly #relations: TypedRelation[] = [];
  readonly #conditionsOfJoins: (TypedExpression | undefined)[] = [];
  readonly #conditions: TypedExpression[] = [];
  #isOverlapping = false;
  #returned: { readonly slot: number; readonly table: TableSpec } | undefined;

  constructor(statement: StatementContext, choices: Choices) {
    this.#statement = statement;
    this.#choices = choices;
  }

  /** Adds the query itself, and returns the table whose rows it returns. */
  addQuery(select: Select, environment: Environment): TableSpec {
    const { occurrences, scope } = this.#addSelect(select, environment);
    // The names in a list are looked up before it is refused for being one.
    checkItems(select.items, { ...environment, scope, aggregates: new Map() });
    const [item] = select.items;
    if (item === undefined || item.kind === 'expression') {
      const message =
        'Column projections are not supported in subscriptions; ' +
        'Subscriptions must return a table type';
      throw refuse(message, item?.span ?? select.span, environment);
    }
    const name = item.kind === 'relation' ? item.relation : undefined;
    const returned = present(
      occurrences.find(({ inScope }) => name === undefined || inScope.name === name),
      'the relation that the list names',
    );
    this.#returned = { slot: returned.inScope.slot, table: returned.table };
    return returned.table;
  }

  /** Whether other fragments can have the same rows: a filter that joins is one of several. */
  get isOverlapping(): boolean {
    return this.#isOverlapping;
  }

  block(): TypedBlock {
    const { slot, table } = present(this.#returned, 'a query was added');
    const joins = this.#relations.slice(1).map((_, at): TypedJoin => {
      return { kind: 'inner', condition: this.#conditionsOfJoins[at + 1] };
    });
    return {
      kind: 'block',
      relations: this.#relations,
      joins,
      where: allOf(this.#conditions),
      grouping: undefined,
      having: undefined,
      items: table.columns.map(({ name, type }, column) => {
        return { kind: 'column', slot, column, name, type, isNullable: false };
      }),
      isDistinct: false,
    };
  }

  #addSelect(select: Select, environment: Environment) {
    const from = present(select.from, 'the dialect requires FROM');
    const named = [from.first, ...from.joins.map(({ relation }) => relation)].map(requireNamed);
    const tables = named.map((relation) => tableNamed(relation, environment));
    requireDistinct(
      named.map(({ name, alias }) => alias ?? name),
      (message, at) => refuse(message, (named[at] ?? from.first).span, environment),
    );
    const occurrences = named.map((relation, at) =>
      this.#addRelation(relation, present(tables[at], 'a table'), environment),
    );
    const scope: Scope = { relations: occurrences.map(({ inScope }) => inScope), outer: undefined };
    from.joins.forEach(({ on }, at) => {
      if (on === undefined) return;
      const joined = present(occurrences[at + 1], 'the relation that is joined');
      const relations = scope.relations.slice(0, at + 2);
      const condition = typeCondition(on, {
        ...environment,
        scope: { relations, outer: undefined },
      });
      requireConnection(condition, joined.inScope.slot, () =>
        refuse(
          'Could not compute positional arguments during query planning',
          on.span,
          environment,
          'Join columns that are no Options: this dialect joins no others',
        ),
      );
      if (joined.position === undefined) this.#conditions.push(condition);
      else this.#conditionsOfJoins[joined.position] = condition;
    });
    if (select.where !== undefined) {
      this.#conditions.push(typeCondition(select.where, { ...environment, scope }));
    }
    return { occurrences, scope };
  }

  #addRelation(relation: NamedRelation, table: TableSpec, environment: Environment): Occurrence {
    const name = relation.alias ?? relation.name;
    const columns = columnsOfTable(table);
    const filters = filtersOf(table, relation.span, environment);
    if (filters.length === 0) return this.#addTable(name, table);
    const chosen = this.#choices.choose(filters.length);
    const filter = present(filters[chosen], 'the filter chosen');
    const isDisjoint = filters.every(isOfOneTable);
    if (!isDisjoint && filters.length > 1) this.#isOverlapping = true;
    const inside = filterEnvironment(filter, table, environment);
    if (isOfOneTable(filter)) {
      const occurrence = this.#addTable(name, table);
      const inFilter = { ...occurrence.inScope, name: returnedName(filter) };
      const scope: Scope = { relations: [inFilter], outer: undefined };
      const { where } = filter.select;
      if (where !== undefined) this.#conditions.push(typeCondition(where, { ...inside, scope }));
      const { slot } = occurrence.inScope;
      for (const one of isDisjoint ? filters.slice(0, chosen) : []) {
        const around = filterEnvironment(one, table, environment);
        this.#conditions.push(exclusion(one, { slot, table }, around));
      }
      return occurrence;
    }
    const { slot } = this.#addFilter(filter, inside);
    return { table, inScope: { slot, name, columns, isNullable: false }, position: undefined };
  }

  /** A filter with joins brings its relations along; the one it returns takes the place. */
  #addFilter(filter: Filter, inside: Environment): ScopeRelation {
    const { scope } = this.#addSelect(filter.select, inside);
    const name = returnedName(filter);
    return present(
      scope.relations.find((relation) => relation.name === name),
      'the relation that the filter returns',
    );
  }

  #addTable(name: string, table: TableSpec): Occurrence {
    const slot = this.#statement.newSlot();
    this.#statement.tableSlots.add(slot);
    const source = { kind: 'table', table } as const;
    const position = this.#relations.length;
    this.#relations.push({ slot, name, source, security: undefined, isNullable: false });
    return {
      table,
      inScope: { slot, name, columns: columnsOfTable(table), isNullable: false },
      position,
    };
  }
}

function requireNamed(relation: Relation): NamedRelation {
  assert(relation.kind === 'named', 'the dialect has only names of relations');
  return relation;
}

/** A join condition has one column of the joined relation and one of another. */
function requireConnection(condition: TypedExpression, slot: number, refusal: () => Error): void {
  if (condition.kind !== 'comparison') throw refusal();
  const { left, right } = condition;
  const isPair = left.kind === 'column' && right.kind === 'column';
  if (!isPair || (left.slot === slot) === (right.slot === slot)) throw refusal();
}
