import { assert, present, unreachable } from '../../assert.ts';
import type { Catalog, TableSpec } from '../../schema/catalog.ts';
import { encodeValue } from '../../values/encode.ts';
import { identityToHex } from '../../values/identity.ts';
import type { AlgebraicType, NamedType } from '../../values/type.ts';
import { invalid, notAuthorized } from '../failure.ts';
import { concatenate } from '../run/bytes.ts';
import type { Expression, Literal } from '../syntax/ast.ts';
import type {
  DialectInsert,
  DialectSelect,
  DialectStatement,
  DialectUpdate,
  Projection,
} from '../syntax/dialect.ts';
import {
  type CheckContext,
  encodeAssigned,
  literalBytes,
  typeCondition,
  typeJoin,
} from './check-expression.ts';
import { fieldPosition, requireDistinct, resolveColumn, type Scope } from './names.ts';
import type {
  Output,
  TypedExpression,
  TypedInsert,
  TypedRelation,
  TypedSelect,
  TypedStatement,
  TypedUpdate,
} from './typed.ts';
import { type Rights, rightsOf, type StatementCaller, visibleTable } from './visibility.ts';

/**
 * Gives every name and literal of a statement its meaning, on behalf of `caller`.
 *
 * The order is part of the contract: tables are looked up first, and one that the caller may not
 * read does not exist, whatever else is wrong; then names and types; whether the caller may write
 * comes last. Throws `SqlFailure`.
 */
export function check(
  statement: DialectStatement,
  catalog: Catalog,
  caller: StatementCaller,
): TypedStatement {
  const checker = new Checker(catalog, caller);
  const typed = checker.statement(statement);
  if (typed.kind !== 'select') checker.authorizeWrite(typed.table);
  return typed;
}

const u64: AlgebraicType = { kind: 'u64' };
const stringType: AlgebraicType = { kind: 'string' };
/** The table of system variables; its columns are the name and the value. */
const variableTable = 'st_var';
const rowLimitVariable = 'row_limit';

class Checker {
  readonly #catalog: Catalog;
  readonly #caller: StatementCaller;
  readonly #rights: Rights;
  readonly #context: CheckContext;

  constructor(catalog: Catalog, caller: StatementCaller) {
    this.#catalog = catalog;
    this.#caller = caller;
    this.#rights = rightsOf(caller);
    this.#context = { typespace: { types: catalog.types }, sender: caller.identity };
  }

  statement(statement: DialectStatement): TypedStatement {
    switch (statement.kind) {
      case 'select':
        return this.#select(statement);
      case 'insert':
        return this.#insert(statement);
      case 'update':
        return this.#update(statement);
      case 'delete': {
        const table = this.#table(statement.table);
        const where = this.#where(statement.where, [{ name: statement.table, table }]);
        return { kind: 'delete', table, where };
      }
      case 'set':
        return this.#setVariable(statement.variable, statement.value);
      case 'show':
        return this.#showVariable(statement.variable);
      default:
        return unreachable(statement);
    }
  }

  authorizeWrite(table: TableSpec): void {
    if (!this.#rights.writes) throw notAuthorized(identityToHex(this.#caller.identity));
    if (table.kind === 'system' && table.name !== variableTable) {
      throw invalid(`Unsupported: SQL cannot change the system table \`${table.name}\``);
    }
  }

  #select(select: DialectSelect): TypedSelect {
    const { first, joins } = select.from;
    const named = [first, ...joins.map((join) => join.relation)];
    const relations: TypedRelation[] = named.map(({ name, alias }) => ({
      name: alias ?? name,
      table: this.#table(name),
    }));
    requireDistinct(relations.map((relation) => relation.name));
    const typedJoins = joins.map(({ on }, at) =>
      on === undefined
        ? undefined
        : typeJoin(on.left, on.right, relations.slice(0, at + 2), this.#context),
    );
    const where = this.#where(select.where, relations);
    const { output, columns } = projectionIn(select.projection, relations);
    const limit = select.limit === undefined ? undefined : this.#limit(select.limit);
    return { kind: 'select', relations, joins: typedJoins, where, output, columns, limit };
  }

  #insert({ table: name, columns, rows }: DialectInsert): TypedInsert {
    const table = this.#table(name);
    const columnCount = table.columns.length;
    if (columns.length !== columnCount) {
      throw invalid(
        `The number of fields (${columns.length}) in the INSERT does not match the number of ` +
          `columns (${columnCount}) of the table \`${name}\``,
      );
    }
    const positions = columns.map((column) => fieldPosition(name, table, column));
    requireDistinct(positions.map((at) => present(table.columns[at], 'a column').name));
    return {
      kind: 'insert',
      table,
      rows: rows.map((row) => {
        if (row.length !== columnCount) {
          throw invalid(
            `Inserting a row with ${row.length} values into \`${name}\` which has ` +
              `${columnCount} fields`,
          );
        }
        return this.#encodeRow(table, positions, row);
      }),
    };
  }

  /** `literals[at]` goes to column `positions[at]`; every column gets one. */
  #encodeRow(
    table: TableSpec,
    positions: readonly number[],
    literals: readonly Literal[],
  ): Uint8Array {
    const parts = new Array<Uint8Array>(literals.length);
    literals.forEach((literal, at) => {
      const position = present(positions[at], 'a position for every value');
      const { type } = present(table.columns[position], 'a column at every position');
      parts[position] = encodeAssigned(literal, type, this.#context);
    });
    return concatenate(parts);
  }

  #update({ table: name, assignments, where }: DialectUpdate): TypedUpdate {
    const table = this.#table(name);
    const typed = new Map<number, Uint8Array>();
    for (const { column, value } of assignments) {
      const position = fieldPosition(name, table, column);
      const { type } = present(table.columns[position], 'a column at every position');
      const bytes = encodeAssigned(value, type, this.#context);
      // The first assignment of a column wins.
      if (!typed.has(position)) typed.set(position, bytes);
    }
    return {
      kind: 'update',
      table,
      assignments: [...typed].map(([column, bytes]) => ({ column, bytes })),
      where: this.#where(where, [{ name, table }]),
    };
  }

  #where(where: Expression | undefined, relations: Scope): TypedExpression | undefined {
    return where === undefined ? undefined : typeCondition(where, relations, this.#context);
  }

  #limit(literal: Literal): bigint {
    const bytes = literalBytes(literal, u64, this.#context);
    return new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
  }

  #setVariable(variable: string, literal: Literal): TypedInsert {
    requireVariable(variable);
    const table = this.#table(variableTable);
    const value = encodeAssigned(literal, u64, this.#context);
    const valueType = present(table.columns[1], 'the value column of st_var').type;
    assert(valueType.kind === 'sum', 'a system variable is of one of several types');
    const tag = valueType.variants.findIndex((variant) => variant.type.kind === 'u64');
    const name = encodeValue(stringType, variable);
    return { kind: 'insert', table, rows: [concatenate([name, Uint8Array.of(tag), value])] };
  }

  #showVariable(variable: string): TypedSelect {
    requireVariable(variable);
    const relations: Scope = [{ name: variableTable, table: this.#table(variableTable) }];
    const column = resolveColumn({ kind: 'column', relation: undefined, name: 'value' }, relations);
    const name = { kind: 'column', relation: undefined, name: 'name' } as const;
    const text = { kind: 'string', text: variable } as const;
    const condition = { kind: 'comparison', operator: '=', left: name, right: text } as const;
    return {
      kind: 'select',
      relations,
      joins: [],
      where: typeCondition(condition, relations, this.#context),
      output: { kind: 'columns', columns: [column] },
      columns: [{ name: 'value', type: column.spec.type }],
      limit: undefined,
    };
  }

  #table(name: string): TableSpec {
    return visibleTable(this.#catalog, this.#rights, name);
  }
}

function projectionIn(
  projection: Projection,
  relations: Scope,
): { readonly output: Output; readonly columns: readonly NamedType[] } {
  switch (projection.kind) {
    case 'everything':
      if (relations.length > 1) throw invalid('SELECT * is not supported for joins');
      return wholeRow(relations, 0);
    case 'relation': {
      const at = relations.findIndex((relation) => relation.name === projection.relation);
      if (at === -1) throw invalid(`\`${projection.relation}\` is not in scope`);
      return wholeRow(relations, at);
    }
    case 'columns': {
      const columns = projection.columns.map(({ column }) => resolveColumn(column, relations));
      requireDistinct(projection.columns.map(({ name }) => name));
      return {
        output: { kind: 'columns', columns },
        columns: projection.columns.map(({ name }, at) => ({
          name,
          type: present(columns[at], 'every column is resolved').spec.type,
        })),
      };
    }
    case 'count':
      return { output: { kind: 'count' }, columns: [{ name: projection.name, type: u64 }] };
    default:
      return unreachable(projection);
  }
}

function wholeRow(relations: Scope, relation: number): ReturnType<typeof projectionIn> {
  const { table } = present(relations[relation], 'the relation that is projected');
  const columns = table.columns.map(({ name, type }) => ({ name, type }));
  return { output: { kind: 'row', relation }, columns };
}

function requireVariable(name: string): void {
  if (name !== rowLimitVariable) throw invalid(`${name} is not a valid system variable`);
}
